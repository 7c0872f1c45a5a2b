#include "system/numa_policy.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"

namespace muster {

namespace {

// As the kernel counts them; its header is not on every machine.
constexpr int preferred = 1;
constexpr unsigned long bits = sizeof(unsigned long) * 8;

}  // namespace

PreferDomain::PreferDomain(int domain) {
  constexpr unsigned long room = std::size(decltype(mask_){}) * bits;
  if (domain < 0 || static_cast<unsigned long>(domain) >= room) return;
  if (::syscall(SYS_get_mempolicy, &mode_, mask_, room, nullptr, 0) != 0) return;
  unsigned long wanted[std::size(decltype(mask_){})] = {};
  wanted[static_cast<unsigned long>(domain) / bits] = 1UL << static_cast<unsigned long>(domain) % bits;
  is_set_ = ::syscall(SYS_set_mempolicy, preferred, wanted, room) == 0;
}

PreferDomain::~PreferDomain() {
  if (is_set_) static_cast<void>(::syscall(SYS_set_mempolicy, mode_, mask_, std::size(mask_) * bits));
}

std::string domains_of(void* memory, std::size_t bytes) {
  constexpr std::size_t asked = 16;
  auto* begin = static_cast<std::byte*>(memory);
  std::array<void*, asked> pages{};
  std::array<int, asked> status{};
  for (std::size_t i = 0; i < asked; ++i) pages[i] = begin + bytes / asked * i / 4096 * 4096;
  status.fill(-1);
  if (::syscall(SYS_move_pages, 0, asked, pages.data(), nullptr, status.data(), 0) != 0) return {};
  std::set<int> domains;
  for (const int one : status)
    if (one >= 0) domains.insert(one);
  std::vector<std::string> names;
  for (const int one : domains) names.push_back(std::to_string(one));
  return human_list(names);
}

}  // namespace muster
