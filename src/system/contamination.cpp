#include "system/contamination.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/fault_injection.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr const char* stat_path = "proc/stat";

/// Columns of a line `cpuN` of /proc/stat, man 5 proc. Guest time is part of user time already.
struct CpuLine {
  int cpu = -1;
  std::array<double, 8> ticks{};  ///< user nice system idle iowait irq softirq steal
};

bool take_column(std::string_view& text, double& number) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto value = take_number<std::uint64_t>(text);
  number = static_cast<double>(value.value_or(0));
  return value.has_value();
}

/// cpu = -1: another kind of line (`intr`, or the sum `cpu`); nullopt: a line of a CPU that is not as it should be.
std::optional<CpuLine> parse_line(std::string_view line) {
  CpuLine found;
  if (line.substr(0, 3) != "cpu" || line.size() < 4 || line[3] == ' ') return found;
  line.remove_prefix(3);
  double cpu = 0;
  if (!take_column(line, cpu) || cpu > 65'535) return std::nullopt;
  for (double& ticks : found.ticks)
    if (!take_column(line, ticks)) return std::nullopt;
  found.cpu = static_cast<int>(cpu);
  return found;
}

}  // namespace

Result<CpuUse> parse_cpu_use(std::string_view text, const CpuMask& mask, double ticks_per_second, double at) {
  CpuUse use;
  use.at = at;
  CpuMask missing = mask;
  for (const std::string_view line : lines(text)) {
    const auto found = parse_line(line);
    if (!found)
      return fail(ErrorKind::system, "/proc/stat", fmt::format("not the times of a CPU: {}", printable_line(line, 80)));
    if (found->cpu < 0 || !missing.has(found->cpu)) continue;
    missing.remove(found->cpu);
    use.busy += (found->ticks[0] + found->ticks[1] + found->ticks[2]) / ticks_per_second;
    use.steal += found->ticks[7] / ticks_per_second;
    ++use.cpus;
  }
  if (!missing.empty()) return fail(ErrorKind::system, "/proc/stat", fmt::format("has no CPU {}", missing.list()));
  return use;
}

Result<CpuUse> read_cpu_use(const CpuMask& mask, const fs::path& root) {
  const auto text = read_file(root / stat_path, 16u << 20);
  if (!text) return tl::unexpected(text.error());
  return parse_cpu_use(*text, mask, static_cast<double>(::sysconf(_SC_CLK_TCK)), monotonic_seconds());
}

double own_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Disturbance disturbance(const CpuUse& before, const CpuUse& after, double own_seconds,
                        const ContaminationLimit& limit) {
  Disturbance found;
  found.seconds = after.at - before.at;
  const double offered = found.seconds * after.cpus;
  if (offered <= 0) return found;
  const double foreign = std::max(0.0, after.busy - before.busy - own_seconds);
  // Steal is known to run backwards on some hosts.
  const double steal = std::max(0.0, after.steal - before.steal);
  found.foreign_share = foreign / offered;
  found.steal_share = steal / offered;
  if (found.seconds < limit.window) return found;
  const double allowed = std::min(limit.share * offered, limit.cpus * found.seconds) + limit.tick * after.cpus;
  found.is_contaminated = foreign > allowed || steal > allowed;
  return found;
}

std::string to_string(const Disturbance& disturbance) {
  return fmt::format("others used {:.0f} % of the CPU time, {:.0f} % was stolen", 100 * disturbance.foreign_share,
                     100 * disturbance.steal_share);
}

ContaminationWatch::ContaminationWatch(CpuMask mask, double own, fs::path root, const ContaminationLimit& limit)
    : mask_(std::move(mask)), root_(std::move(root)), limit_(limit) {
  if (must_judge_speed()) return;
  const auto use = read_cpu_use(mask_, root_);
  if (!use || mask_.empty()) return;
  last_ = {*use, own};
  begun_ = last_;
}

std::optional<bool> ContaminationWatch::ask(double own) {
  return ask(own, limit_);
}

std::optional<bool> ContaminationWatch::ask_last(double own) {
  ContaminationLimit shorter = limit_;
  shorter.window = std::min(shorter.window, 2 * shorter.tick);
  return ask(own, shorter);
}

std::optional<bool> ContaminationWatch::ask(double own, const ContaminationLimit& limit) {
  const auto use = begun_ ? read_cpu_use(mask_, root_) : fail(ErrorKind::system, "", "nothing is watched");
  if (!use) return std::nullopt;
  whole_ = disturbance(begun_->use, *use, own - begun_->own, limit_);
  const Disturbance found = disturbance(last_.use, *use, own - last_.own, limit);
  if (found.is_contaminated) last_ = {*use, own};
  return found.is_contaminated;
}

}  // namespace muster
