#include "base/cpu_mask.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr int most_cpus = 65536;

tl::unexpected<Error> bad(std::string_view what, std::string_view text) {
  return fail(ErrorKind::usage, "", fmt::format("{} in CPU set \"{}\"", what, printable_line(text, 60)));
}

std::optional<int> cpu_number(std::string_view text) {
  return parse_number_from(text, 0, most_cpus - 1);
}

}  // namespace

Result<CpuMask> CpuMask::parse_list(std::string_view text) {
  CpuMask mask;
  for (const auto& item : split(trim(text), ',')) {
    const auto dash = item.find('-');
    const auto low = cpu_number(item.substr(0, dash));
    const auto high = dash == std::string::npos ? low : cpu_number(item.substr(dash + 1));
    if (!low || !high) return bad(fmt::format("\"{}\" is not a CPU number or range", printable_line(item, 20)), text);
    if (*low > *high) return bad(fmt::format("the range {} runs backwards", item), text);
    mask.add(*high);
    // Word by word: a long list of wide ranges may come from anywhere.
    for (int cpu = *low; cpu < *high;) {
      const int last = std::min(*high, cpu | 63);
      const auto upto = ~std::uint64_t{0} >> (63 - last % 64);
      mask.words_[static_cast<std::size_t>(cpu) / 64] |= upto & (~std::uint64_t{0} << (cpu % 64));
      cpu = last + 1;
    }
  }
  return mask;
}

Result<CpuMask> CpuMask::parse_hex(std::string_view text) {
  CpuMask mask;
  auto digits = trim(text);
  if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") digits.remove_prefix(2);
  if (digits.empty()) return bad("no digits", text);
  if (digits.size() > most_cpus / 4 + most_cpus / 32) return bad("too many digits", text);
  // Commas stand between groups of 32 bits; every group but the first has all its 8 digits.
  const auto groups = split(digits, ',');
  int base = 0;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const bool is_first = group + 1 == groups.rend();
    if (group->empty() || (groups.size() > 1 && (group->size() > 8 || (!is_first && group->size() != 8))))
      return bad("a group that is not 8 digits long", text);
    for (std::size_t i = 0; i < group->size(); ++i) {
      const auto letter = std::string_view(*group).substr(group->size() - 1 - i, 1);
      const auto digit = parse_number<int>(letter, 16);
      if (!digit) return bad(fmt::format("'{}' is not a hexadecimal digit", printable(letter)), text);
      const int lowest = base + static_cast<int>(i) * 4;
      if (*digit != 0 && lowest >= most_cpus) return bad("a CPU above 65535", text);
      for (int bit = 0; bit < 4; ++bit)
        if ((*digit >> bit & 1) != 0) mask.add(lowest + bit);
    }
    base += groups.size() > 1 ? 32 : 0;
  }
  return mask;
}

namespace {

/// `get`: as sched_getaffinity of the calling thread; bytes that it leaves alone are 0.
template <class Get>
Result<CpuMask> mask_by(const Get& get) {
  for (int size = 1024; size <= most_cpus; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
    const auto bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    CPU_ZERO_S(bytes, set);
    const int error = get(bytes, set) ? 0 : errno;
    CpuMask mask;
    for (int cpu = 0; error == 0 && cpu < size; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) mask.add(cpu);
    CPU_FREE(set);
    if (error == 0) return mask;
    if (error != EINVAL) return fail(ErrorKind::system, "sched_getaffinity", std::strerror(error));
  }
  return fail(ErrorKind::system, "sched_getaffinity", "this machine has more CPUs than muster can count");
}

}  // namespace

Result<CpuMask> CpuMask::of_this_thread() {
  return mask_by([](std::size_t bytes, cpu_set_t* set) { return sched_getaffinity(0, bytes, set) == 0; });
}

Result<CpuMask> CpuMask::processors_of_this_thread() {
  // No library that is preloaded comes between.
  return mask_by(
      [](std::size_t bytes, cpu_set_t* set) { return ::syscall(SYS_sched_getaffinity, 0, bytes, set) >= 0; });
}

void CpuMask::add(int cpu) {
  if (cpu < 0 || cpu >= most_cpus) return;
  const auto word = static_cast<std::size_t>(cpu) / 64;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % 64);
}

void CpuMask::remove(int cpu) {
  if (!has(cpu)) return;
  words_[static_cast<std::size_t>(cpu) / 64] &= ~(std::uint64_t{1} << (cpu % 64));
  normalize();
}

bool CpuMask::has(int cpu) const {
  if (cpu < 0) return false;
  const auto word = static_cast<std::size_t>(cpu) / 64;
  return word < words_.size() && (words_[word] >> (cpu % 64) & 1) != 0;
}

int CpuMask::count() const {
  int count = 0;
  for (const auto word : words_) count += std::popcount(word);
  return count;
}

int CpuMask::lowest() const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i] != 0) return static_cast<int>(i) * 64 + std::countr_zero(words_[i]);
  return -1;
}

int CpuMask::highest() const {
  if (words_.empty()) return -1;
  return static_cast<int>(words_.size()) * 64 - 1 - std::countl_zero(words_.back());
}

std::vector<int> CpuMask::cpus() const {
  std::vector<int> all;
  for (int cpu = lowest(), last = highest(); cpu >= 0 && cpu <= last; ++cpu)
    if (has(cpu)) all.push_back(cpu);
  return all;
}

bool CpuMask::is_subset_of(const CpuMask& other) const {
  return (*this - other).words_.empty();
}
bool CpuMask::intersects(const CpuMask& other) const {
  return !(*this & other).words_.empty();
}

CpuMask operator|(const CpuMask& a, const CpuMask& b) {
  CpuMask result = a.words_.size() >= b.words_.size() ? a : b;
  const auto& shorter = a.words_.size() >= b.words_.size() ? b : a;
  for (std::size_t i = 0; i < shorter.words_.size(); ++i) result.words_[i] |= shorter.words_[i];
  return result;
}

CpuMask operator&(const CpuMask& a, const CpuMask& b) {
  CpuMask result = a;
  for (std::size_t i = 0; i < result.words_.size(); ++i) result.words_[i] &= i < b.words_.size() ? b.words_[i] : 0;
  result.normalize();
  return result;
}

CpuMask operator-(const CpuMask& a, const CpuMask& b) {
  CpuMask result = a;
  for (std::size_t i = 0; i < std::min(a.words_.size(), b.words_.size()); ++i) result.words_[i] &= ~b.words_[i];
  result.normalize();
  return result;
}

void CpuMask::normalize() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

std::string CpuMask::list() const {
  std::string text;
  for (int cpu = lowest(), last = highest(); cpu >= 0 && cpu <= last; ++cpu) {
    if (!has(cpu)) continue;
    const int first = cpu;
    while (has(cpu + 1)) ++cpu;
    if (!text.empty()) text += ',';
    text += first == cpu ? fmt::format("{}", first) : fmt::format("{}-{}", first, cpu);
  }
  return text;
}

std::string CpuMask::hex() const {
  if (words_.empty()) return "0x0";
  auto text = fmt::format("0x{:x}", words_.back());
  for (std::size_t i = words_.size() - 1; i-- > 0;) text += fmt::format("{:016x}", words_[i]);
  return text;
}

}  // namespace muster
