/// Facts that ranks report of their readings.
#pragma once

#include <cstdint>
#include <string>

namespace muster::p2p {

/// `precise`, `rounds`, and `steps` of a training: `12 of 16`.
struct CountOf {
  int count = 0;
  int all = 0;
};
template <class Io>
void fields(Io& io, CountOf& fact) {
  io(fact.count);
  io.text(" of ");
  io(fact.all);
}

/// `verified`: of messages or sums of a size, how many were compared.
struct VerifiedCount {
  std::string size;
  std::uint64_t compared = 0;
  std::uint64_t all = 0;
};
template <class Io>
void fields(Io& io, VerifiedCount& fact) {
  io(fact.size);
  io(fact.compared);
  io.text(" of ");
  io(fact.all);
}

/// `transport`: what carried the bytes of a link class.
struct CarriedBytes {
  std::string link;
  std::string carrier;
  double gigabytes = 0;
};
template <class Io>
void fields(Io& io, CarriedBytes& fact) {
  io(fact.link);
  io(fact.carrier);
  io(fact.gigabytes, "{:.3g}");
  io.text(" GB");
}

/// `checked` of p2p: data that this rank compared, of what it received.
struct CheckedData {
  int readings = 0;
  double compared = 0;  ///< GB
  double received = 0;  ///< GB
};
template <class Io>
void fields(Io& io, CheckedData& fact) {
  io(fact.readings);
  io.text(" readings, ");
  io(fact.compared, "{:.3g}");
  io.text(" GB of ");
  io(fact.received, "{:.3g}");
  io.text(" GB");
}

/// `corrupt`: the first wrong data of a reading.
struct WrongMessage {
  int peer = -1;
  std::string size;
  std::string kind;
  std::string words;
};
template <class Io>
void fields(Io& io, WrongMessage& fact) {
  io(fact.peer);
  io(fact.size);
  io(fact.kind);
  io.rest(fact.words);
}

}  // namespace muster::p2p
