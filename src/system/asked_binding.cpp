#include "system/asked_binding.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <sched.h>
#include <system_error>
#include <unistd.h>

#include "base/names.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

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

/// The kernel leaves out those that the control group does not allow, and those that are not there.
CpuMask all_cpus() {
  CpuMask mask;
  const long configured = std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF));
  for (long cpu = 0; cpu < configured; ++cpu) mask.add(static_cast<int>(cpu));
  return mask;
}

}  // namespace

constexpr std::string_view binder_names[] = {"launcher", "options", "agent", "line"};

std::string_view to_string(Binder binder) {
  return enum_name(binder_names, binder);
}

bool concerns_ranks(const JobBinding& binding, Binder binder) {
  if (binding.kind == BindKind::masks) return true;
  if (binding.kind == BindKind::node) return binder == Binder::agent;
  return !binding.source.empty() || binder == Binder::options;
}

namespace {

constexpr BindKind without_masks[] = {BindKind::node, BindKind::cores, BindKind::none};

/// One value for each rank, without the signs that the text is taken apart by.
template <class Value>
std::string by_rank(const JobBinding& binding, Value value) {
  std::vector<std::string> values;
  for (const RankBinding& rank : binding.ranks) {
    std::string text = printable_line(value(rank), 100);
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return letter == '|' || letter == ','; }, ' ');
    values.push_back(std::move(text));
  }
  return join(values, ",");
}

std::optional<Binder> parse_binder(std::string_view text) {
  return enum_named<Binder>(binder_names, text);
}

std::optional<std::vector<CpuMask>> parse_masks(const std::string& text) {
  std::vector<CpuMask> masks;
  for (const std::string& word : split(text, ',')) {
    auto mask = CpuMask::parse_hex(word);
    if (!mask || mask->empty()) return std::nullopt;
    masks.push_back(std::move(*mask));
  }
  return masks;
}

std::optional<std::vector<int>> parse_gpus(const std::string& text) {
  std::vector<int> gpus;
  for (const std::string& word : split(text, ',')) {
    const auto gpu = parse_number_from(word, -1);
    if (!gpu) return std::nullopt;
    gpus.push_back(*gpu);
  }
  return gpus;
}

}  // namespace

std::string to_text(const JobBinding& binding, Binder binder) {
  const bool is_left_to_launcher = binding.kind == BindKind::cores || binding.kind == BindKind::none;
  if (is_left_to_launcher && binder == Binder::agent) binder = Binder::launcher;
  std::string source = printable_line(binding.source, 100);
  std::replace(source.begin(), source.end(), '|', ' ');
  if (binding.kind != BindKind::masks)
    return fmt::format("{}|{}|{}|||", to_string(binder), source, to_string(binding.kind));
  return fmt::format("{}|{}|{}|{}|{}|{}", to_string(binder), source,
                     by_rank(binding, [](const RankBinding& rank) { return rank.mask; }),
                     by_rank(binding, [](const RankBinding& rank) { return std::to_string(rank.gpu); }),
                     by_rank(binding, [](const RankBinding& rank) { return rank.nic; }), binding.gpu_variable);
}

Result<AskedBinding> parse_asked_binding(std::string_view text) {
  const std::vector<std::string> parts = split(text, '|');
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, env_bind, fmt::format("\"{}\" {}", printable_line(text, 80), why));
  };
  if (parts.size() != 6 || parts[2].empty())
    return refuse("does not have six parts: binder, source, masks, GPUs, NICs, GPU variable");
  const auto binder = parse_binder(parts[0]);
  if (!binder) return refuse("begins with none of launcher, options, agent, line");
  AskedBinding asked;
  asked.binder = *binder;
  asked.source = printable_line(parts[1], 100);
  for (const BindKind kind : without_masks)
    if (parts[2] == to_string(kind)) {
      asked.kind = kind;
      return asked;
    }
  auto masks = parse_masks(parts[2]);
  if (!masks) return refuse("has an empty or damaged mask");
  auto gpus = parse_gpus(parts[3]);
  asked.nics = masks->size() == 1 ? std::vector<std::string>{parts[4]} : split(parts[4], ',');
  if (!gpus || gpus->size() != masks->size() || asked.nics.size() != masks->size())
    return refuse("does not have a GPU and a NIC for each mask");
  asked.masks = std::move(*masks);
  asked.gpus = std::move(*gpus);
  asked.gpu_variable = parts[5];
  return asked;
}

std::optional<AskedBinding> asked_binding() {
  const char* text = std::getenv(env_bind);
  if (text == nullptr || *text == '\0') return std::nullopt;
  auto asked = parse_asked_binding(text);
  if (!asked) return std::nullopt;
  return std::move(*asked);
}

std::string described(const AskedBinding& asked) {
  const std::string source = asked.source.empty() ? std::string() : fmt::format(" ({})", asked.source);
  if (asked.kind == BindKind::node) return fmt::format("the whole node, by the {}", to_string(asked.binder));
  if (asked.kind != BindKind::masks && asked.binder == Binder::options) return "options given to the launcher";
  if (asked.kind == BindKind::none) return "none" + source;
  if (asked.kind == BindKind::cores) return fmt::format("cores, by the launcher{}", source);
  if (asked.binder == Binder::line) return "the user's launch line";
  if (asked.binder == Binder::options) return fmt::format("options given to the launcher, not {}", asked.source);
  return fmt::format("{}, by the {}", asked.source, to_string(asked.binder));
}

std::string rank_list(const AskedBinding& asked) {
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < asked.masks.size(); ++i) {
    std::string text = fmt::format("{}: CPUs {}", i, asked.masks[i].list());
    if (asked.gpus[i] >= 0) text += fmt::format(", GPU {}", asked.gpus[i]);
    if (!asked.nics[i].empty()) text += fmt::format(", NIC {}", asked.nics[i]);
    ranks.push_back(std::move(text));
  }
  return join(ranks, "; ");
}

Result<void> bind_as_asked(int local_rank) {
  const char* text = std::getenv(env_bind);
  if (text == nullptr || *text == '\0') return {};
  const auto asked = parse_asked_binding(text);
  if (!asked) return tl::unexpected(asked.error());
  if (asked->binder != Binder::agent) return {};
  if (asked->kind == BindKind::node) return set_mask(all_cpus());
  if (asked->kind != BindKind::masks) return {};
  if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= asked->masks.size())
    return fail(ErrorKind::system, env_bind,
                fmt::format("has {} masks, and none for local rank {}", asked->masks.size(), local_rank));
  return set_mask(asked->masks[static_cast<std::size_t>(local_rank)]);
}

}  // namespace muster
