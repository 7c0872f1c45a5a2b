/// Sets of logical CPUs with the algebra that affinity checks need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muster/result.hpp"

namespace muster {

class CpuMask {
 public:
  CpuMask() = default;
  /// `0-3,8,10-11` as /proc prints it; empty text is the empty set. CPUs up to 65,535.
  [[nodiscard]] static Result<CpuMask> parse_list(std::string_view text);
  /// `0xff`, `ff`, `00000000,000000ff` (32-bit groups as in /proc/self/status).
  [[nodiscard]] static Result<CpuMask> parse_hex(std::string_view text);
  /// The CPUs that the calling thread may run on; on a simulated machine those that its launcher gave it there.
  [[nodiscard]] static Result<CpuMask> of_this_thread();
  /// The processors that the calling thread may really run on, also on a simulated machine.
  [[nodiscard]] static Result<CpuMask> processors_of_this_thread();

  void add(int cpu);
  void remove(int cpu);
  [[nodiscard]] bool has(int cpu) const;
  [[nodiscard]] int count() const;
  [[nodiscard]] bool empty() const { return count() == 0; }
  [[nodiscard]] int lowest() const;   ///< -1 when empty
  [[nodiscard]] int highest() const;  ///< -1 when empty
  [[nodiscard]] std::vector<int> cpus() const;
  [[nodiscard]] bool is_subset_of(const CpuMask& other) const;
  [[nodiscard]] bool intersects(const CpuMask& other) const;

  friend CpuMask operator|(const CpuMask& a, const CpuMask& b);
  friend CpuMask operator&(const CpuMask& a, const CpuMask& b);
  friend CpuMask operator-(const CpuMask& a, const CpuMask& b);
  friend bool operator==(const CpuMask& a, const CpuMask& b) = default;

  [[nodiscard]] std::string list() const;  ///< `0-3,8`
  [[nodiscard]] std::string hex() const;   ///< `0x10f`, as srun's mask_cpu wants it

 private:
  void normalize();                   ///< drops zero words at the end, so that == is set equality
  std::vector<std::uint64_t> words_;  ///< bit c%64 of word c/64 is CPU c
};

}  // namespace muster
