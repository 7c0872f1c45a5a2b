#include "system/asked_binding.hpp"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <sched.h>
#include <system_error>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr Binder binders[] = {Binder::launcher, Binder::options, Binder::agent, Binder::line};

Result<void> set_mask(const CpuMask& mask) {
  const int cpus = mask.highest() + 1;
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<std::size_t>(cpus)),
                                                             [](cpu_set_t* one) { CPU_FREE(one); });
  if (!set) return fail(ErrorKind::system, "sched_setaffinity", "no memory for the mask");
  CPU_ZERO_S(size, set.get());
  for (const int cpu : mask.cpus()) CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
  if (::sched_setaffinity(0, size, set.get()) == 0) return {};
  return fail(ErrorKind::system, "sched_setaffinity",
              fmt::format("CPUs {}: {}", mask.list(), std::generic_category().message(errno)));
}

}  // namespace

std::string_view to_string(Binder binder) {
  switch (binder) {
    case Binder::launcher:
      return "launcher";
    case Binder::options:
      return "options";
    case Binder::agent:
      return "agent";
    case Binder::line:
      return "line";
  }
  return "?";
}

std::string to_text(const JobBinding& binding, Binder binder) {
  std::vector<std::string> masks;
  for (const RankBinding& rank : binding.ranks) masks.push_back(rank.mask);
  std::string source = printable_line(binding.source, 100);
  for (char& letter : source)
    if (letter == '|') letter = ' ';
  return fmt::format("{}|{}|{}", to_string(binder), source, join(masks, ","));
}

Result<AskedBinding> parse_asked_binding(std::string_view text) {
  const std::vector<std::string> parts = split(text, '|');
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, env_bind, fmt::format("\"{}\" {}", printable_line(text, 80), why));
  };
  if (parts.size() != 3 || parts[2].empty()) return refuse("has not three parts: who binds, who asked, masks");
  AskedBinding asked;
  bool is_known = false;
  for (const Binder binder : binders)
    if (to_string(binder) == parts[0]) {
      asked.binder = binder;
      is_known = true;
    }
  if (!is_known) return refuse("begins with none of launcher, options, agent, line");
  asked.source = printable_line(parts[1], 100);
  for (const std::string& word : split(parts[2], ',')) {
    auto mask = CpuMask::parse_hex(word);
    if (!mask || mask->empty()) return refuse("has an empty or damaged mask");
    asked.masks.push_back(std::move(*mask));
  }
  return asked;
}

std::optional<AskedBinding> asked_binding() {
  const char* text = std::getenv(env_bind);
  if (text == nullptr || *text == '\0') return std::nullopt;
  auto asked = parse_asked_binding(text);
  if (!asked) return std::nullopt;
  return std::move(*asked);
}

Result<void> bind_as_asked(int local_rank) {
  const char* text = std::getenv(env_bind);
  if (text == nullptr || *text == '\0') return {};
  const auto asked = parse_asked_binding(text);
  if (!asked) return tl::unexpected(asked.error());
  if (asked->binder != Binder::agent) return {};
  if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= asked->masks.size())
    return fail(ErrorKind::system, env_bind,
                fmt::format("has {} masks, and none for local rank {}", asked->masks.size(), local_rank));
  return set_mask(asked->masks[static_cast<std::size_t>(local_rank)]);
}

}  // namespace muster
