/// Facts that ranks report of their copies. `to`: `-` where the GPU is alone.
#pragma once

#include <string>

namespace muster::gpu_copy {

/// `failed`
struct FailedCopy {
  std::string gpu;  ///< address
  std::string to;
  std::string words;
};
template <class Io>
void fields(Io& io, FailedCopy& fact) {
  io(fact.gpu);
  io(fact.to);
  io.rest(fact.words);
}

/// `wrong`: data that is not what was copied.
struct WrongCopy {
  std::string gpu;
  std::string to;
  std::string metric;
  std::string by;
  std::string words;
};
template <class Io>
void fields(Io& io, WrongCopy& fact) {
  io(fact.gpu);
  io(fact.to);
  io(fact.metric);
  io(fact.by);
  io.rest(fact.words);
}

/// `varied`: looks at one kind of copy that differ. The highest rate is the reading.
struct VariedCopies {
  std::string gpu;
  std::string to;
  std::string metric;
  std::string by;
  double lowest = 0;   ///< GB/s
  double highest = 0;  ///< GB/s
};
template <class Io>
void fields(Io& io, VariedCopies& fact) {
  io(fact.gpu);
  io(fact.to);
  io(fact.metric);
  io(fact.by);
  io(fact.lowest, "{:.1f}");
  io(fact.highest, "{:.1f}");
}

}  // namespace muster::gpu_copy
