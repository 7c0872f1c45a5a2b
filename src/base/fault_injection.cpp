#include "base/fault_injection.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

constexpr std::array<std::string_view, 4> flips{"gathered", "sum", "received", "memory"};
/// Far from real clocks, so that the two cannot be confused.
constexpr std::int64_t made_up_start = 1'000'000'000'000;

struct Own {
  bool is_given = false;
  bool judges_speed = false;
  InjectedCorruption flipped;
  std::int64_t step = 0;  ///< nanoseconds
  std::int64_t ahead = 0;
};

// Written once before there are threads; the clock asks it billions of times.
Own own;
std::atomic<bool> in_force{false};
std::atomic<std::int64_t> made_up{made_up_start};
std::atomic<std::uint64_t> corruptible{0};

std::optional<double> number_of(const std::string& word) {
  const auto number = parse_number<double>(word);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<int> rank_of(const std::string& word) {
  const auto number = number_of(word);
  if (!number || *number < 0 || *number > 1e6 || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<double> seconds_of(const std::string& word) {
  const auto time = parse_duration(word);
  return time ? std::optional(time->value) : std::nullopt;
}

/// `flip 1 sum`, `flip 1 sum warp`, `flip 1 sum every 100`, `flip 1 sum warp every 100`
bool take_flip(int rank, std::span<const std::string> words, InjectedFaults& orders) {
  InjectedCorruption flipped{.what = words.front()};
  if (!is_in(flipped.what, flips)) return false;
  words = words.subspan(1);
  if (words.size() % 2 == 1) {
    const auto kind = corruption_kind(words.front());
    if (!kind) return false;
    flipped.kind = *kind;
    words = words.subspan(1);
  }
  if (!words.empty()) {
    const auto every = words.size() == 2 && words.front() == "every" ? rank_of(words.back()) : std::nullopt;
    if (!every || *every == 0) return false;
    flipped.every = static_cast<std::uint64_t>(*every);
  }
  orders.flipped[rank] = std::move(flipped);
  return true;
}

bool take(const std::vector<std::string>& words, InjectedFaults& orders) {
  if (words.size() == 2 && words[0] == "hosts") {
    const auto hosts = expand_hostlist(words[1]);
    if (hosts) orders.hosts = *hosts;
    return hosts.has_value();
  }
  if (words.size() == 2 && words[0] == "clock") {
    const auto tick = seconds_of(words[1]);
    if (tick) orders.tick_s = *tick;
    return tick && *tick >= 1e-9;
  }
  if (words.size() == 1 && words[0] == "speed") return orders.judges_speed = true;
  const auto rank = words.size() >= 3 ? rank_of(words[1]) : std::nullopt;
  if (!rank) return false;
  if (words[0] == "flip") return take_flip(*rank, std::span(words).subspan(2), orders);
  if (words.size() != 3) return false;
  const auto value = words[0] == "slow" ? number_of(words[2]) : seconds_of(words[2]);
  if (!value || *value <= 0) return false;
  if (words[0] == "slow") return orders.slow[*rank] = *value, true;
  if (words[0] == "ahead") return orders.ahead_s[*rank] = *value, true;
  return false;
}

}  // namespace

std::span<const std::string_view> flippable() {
  return flips;
}

Result<InjectedFaults> parse_faults(std::string_view text) {
  InjectedFaults orders;
  for (const std::string& order : split(text, ';')) {
    std::vector<std::string> words;
    for (const std::string& word : split(trim(order), ' '))
      if (!word.empty()) words.push_back(word);
    if (!words.empty() && !take(words, orders))
      return fail(
          ErrorKind::usage, "",
          fmt::format("\"{}\" is not an order; write for example \"flip 1 sum\" (gathered, sum, received, memory), "
                      "\"flip 1 sum warp every 100\" ({}), "
                      "\"clock 1ms\", \"slow 3 2\", \"ahead 2 5s\", \"speed\"",
                      printable_line(trim(order), 60), fmt::join(corruption_kinds, ", ")));
  }
  return orders;
}

void inject_faults(const InjectedFaults& orders, int rank) {
  own.is_given = true;
  own.judges_speed = orders.judges_speed || orders.tick_s > 0;
  if (const auto flipped = orders.flipped.find(rank); flipped != orders.flipped.end()) own.flipped = flipped->second;
  const auto slow = orders.slow.find(rank);
  own.step = static_cast<std::int64_t>(orders.tick_s * 1e9 * (slow == orders.slow.end() ? 1 : slow->second));
  const auto ahead = orders.ahead_s.find(rank);
  own.ahead = ahead == orders.ahead_s.end() ? 0 : static_cast<std::int64_t>(ahead->second * 1e9);
}

bool injects_faults() {
  return own.is_given;
}

bool must_judge_speed() {
  return own.judges_speed;
}

FaultInjection::FaultInjection() {
  in_force = own.is_given;
}

FaultInjection::~FaultInjection() {
  in_force = false;
}

void corrupt(std::string_view what, std::span<std::byte> bytes) {
  if (!in_force || own.flipped.what != what || bytes.empty()) return;
  if ((corruptible.fetch_add(1) + 1) % own.flipped.every == 0) corrupt_bytes(own.flipped.kind, bytes);
}

double orders::made_up_seconds() {
  if (!in_force.load(std::memory_order_relaxed) || own.step == 0) return -1;
  return static_cast<double>(made_up.fetch_add(own.step) + own.step) * 1e-9;
}

std::int64_t orders::ahead_nanoseconds() {
  return in_force.load(std::memory_order_relaxed) ? own.ahead : 0;
}

}  // namespace muster
