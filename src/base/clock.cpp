#include "base/clock.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <random>
#include <sys/random.h>
#include <vector>

#include "base/fault_injection.hpp"

namespace muster {

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Rounded down, also before 1970.
std::int64_t whole_seconds(std::int64_t nanoseconds) {
  return nanoseconds / second - (nanoseconds % second < 0 ? 1 : 0);
}

std::tm utc(std::int64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(whole_seconds(nanoseconds));
  std::tm broken{};
  gmtime_r(&seconds, &broken);
  return broken;
}

}  // namespace

double monotonic_seconds() {
  if (const double made_up = orders::made_up_seconds(); made_up >= 0) return made_up;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t realtime_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec + orders::ahead_nanoseconds();
}

std::string rfc3339(std::int64_t nanoseconds) {
  const auto t = utc(nanoseconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, (nanoseconds - whole_seconds(nanoseconds) * second) / 1'000'000);
}

std::string compact_timestamp(std::int64_t nanoseconds) {
  const auto t = utc(nanoseconds);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
                     t.tm_sec);
}

std::string random_hex(int bytes) {
  std::vector<unsigned char> raw(static_cast<std::size_t>(std::max(bytes, 0)));
  for (std::size_t at = 0; at < raw.size();) {
    const auto part = std::min<std::size_t>(raw.size() - at, 256);  // what getentropy gives at once
    // A kernel without it: the C++ library's source, which throws rather than to give something guessable.
    if (getentropy(raw.data() + at, part) != 0) {
      std::random_device other;
      std::generate_n(raw.begin() + static_cast<std::ptrdiff_t>(at), part,
                      [&] { return static_cast<unsigned char>(other()); });
    }
    at += part;
  }
  std::string text;
  for (const auto byte : raw) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace muster
