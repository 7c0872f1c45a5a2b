/// Facts that ranks report of their sums.
#pragma once

#include <cstdint>
#include <string>

namespace muster::allreduce {

/// `wrong`: the first wrong element of a sum.
struct WrongSum {
  std::string type;
  std::string size;
  std::uint64_t index = 0;
  std::string expected;
  std::string got;
  std::uint64_t differing = 0;   ///< bits
  std::uint64_t elements = 0;    ///< wrong ones in that sum
  std::uint64_t wrong_sums = 0;  ///< of those compared
  std::uint64_t compared = 0;    ///< 0: unknown
};
template <class Io>
void fields(Io& io, WrongSum& fact) {
  io(fact.type);
  io(fact.size);
  io(fact.index);
  io(fact.expected);
  io(fact.got);
  io.hex(fact.differing);
  io(fact.elements);
  if (!io.has_more()) return;
  io(fact.wrong_sums);
  io(fact.compared);
}

}  // namespace muster::allreduce
