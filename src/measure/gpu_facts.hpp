/// Facts that ranks report of GPUs under load. `address`: PCI address, of a partition with `/PART`.
#pragma once

#include <cstdint>
#include <string>

namespace muster::gpu_copy {

/// What is known of one GPU, in words: `failed`, `link_down`, `throttled` and others.
struct AboutGpu {
  std::string address;
  std::string words;
};
template <class Io>
void fields(Io& io, AboutGpu& fact) {
  io(fact.address);
  io.rest(fact.words);
}

/// `tested`
struct TestedGpu {
  std::string address;
  std::string uuid;  ///< `-`: unknown
  std::string model;
};
template <class Io>
void fields(Io& io, TestedGpu& fact) {
  io(fact.address);
  io(fact.uuid);
  io.rest(fact.model);
}

/// `watched`: for how long counters of the GPU were watched.
struct WatchedTime {
  std::string address;
  double seconds = 0;
};
template <class Io>
void fields(Io& io, WatchedTime& fact) {
  io(fact.address);
  io(fact.seconds, "{:.3f}");
}

/// `grew`: a counter before and after the load.
struct CounterGrowth {
  std::string address;
  std::string counter;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};
template <class Io>
void fields(Io& io, CounterGrowth& fact) {
  io(fact.address);
  io(fact.counter);
  io(fact.before);
  io(fact.after);
}
[[nodiscard]] inline double grown(const CounterGrowth& fact) {
  return static_cast<double>(fact.after) - static_cast<double>(fact.before);
}

/// `link_able`: what the PCIe link can do.
struct LinkAble {
  std::string address;
  double speed = 0;  ///< GT/s of a lane
  double lanes = 0;
};
template <class Io>
void fields(Io& io, LinkAble& fact) {
  io(fact.address);
  io(fact.speed);
  io(fact.lanes);
}

/// `link_in_use`: the PCIe link with the GPU busy.
struct LinkInUse {
  std::string address;
  int generation = 0;
  int generation_able = 0;
  int width = 0;
  int width_able = 0;
};
template <class Io>
void fields(Io& io, LinkInUse& fact) {
  io(fact.address);
  io(fact.generation);
  io(fact.generation_able);
  io(fact.width);
  io(fact.width_able);
}

/// `symbol_ber`: the bit error rate of an NVLink, as its driver gives it.
struct SymbolErrorRate {
  std::string address;
  std::string link;
  std::string rate;
};
template <class Io>
void fields(Io& io, SymbolErrorRate& fact) {
  io(fact.address);
  io(fact.link);
  io.rest(fact.rate);
}

/// `xid`
struct XidReported {
  std::string address;
  int number = 0;
};
template <class Io>
void fields(Io& io, XidReported& fact) {
  io(fact.address);
  io(fact.number);
}

/// `covered` of gpu_memory: bytes tested, of those of the GPU.
struct CoveredMemory {
  std::string address;
  std::uint64_t tested = 0;
  std::uint64_t all = 0;
};
template <class Io>
void fields(Io& io, CoveredMemory& fact) {
  io(fact.address);
  io(fact.tested);
  io(fact.all);
}

/// `part_unknown`: a GPU of which a rank sees some partitions, and not which.
struct UnknownParts {
  std::string address;
  int seen = 0;
  int all = 0;
};
template <class Io>
void fields(Io& io, UnknownParts& fact) {
  io(fact.address);
  io(fact.seen);
  io(fact.all);
}

}  // namespace muster::gpu_copy
