#include "probes/p2p/rounds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "measure/network_limit.hpp"
#include "measure/pair_measure.hpp"
#include "measure/pair_settings.hpp"
#include "measure/peak_bandwidth.hpp"
#include "measure/rails.hpp"
#include "measure/reading_facts.hpp"
#include "measure/transport.hpp"
#include "measure/variables.hpp"
#include "measure/verified_share.hpp"
#include "model/fact_fields.hpp"
#include "probes/p2p/links.hpp"
#include "system/this_machine.hpp"

namespace muster::p2p {

namespace {

constexpr int times_alone = 3;
constexpr int least_alone = 64 * times_alone;  ///< readings of the first look that are made whatever time they take
constexpr Seconds least_alone_time{0.06};      ///< of such a reading
constexpr int most_reported = 64;              // wrong readings of one rank

/// One rank's part of a case.
class Part {
 public:
  Part(RunContext& context, const GpuData& gpu, const PairBuffers& buffers, std::vector<Spot> spots)
      : context_(context),
        gpu_(gpu),
        spots_(std::move(spots)),
        self_(static_cast<std::size_t>(context.comm.rank())),
        network_(own_network_rate(spots_, self_)),
        schedule_(schedule_of(context.params, nodes_of(spots_), !context.timing_doubt.empty())),
        own_(spots_, self_),
        watch_(spots_[self_].mask, own_.seconds().value_or(0)),
        with_{context.comm, context.recorder, buffers.out, buffers.in,
              static_cast<std::uint64_t>(context.params.integer("seed")),
              // Where ranks share cores, each would be the other's contamination.
              own_.seconds() && context.timing_doubt.empty() ? &watch_ : nullptr, [this] { return own_.seconds(); },
              gpu.carrier()},
        tasks_(tasks_of(context.params, !context.timing_doubt.empty())) {
    with_.verify = context.params.real("verify");
    goal_.interval = context.params.real("interval");
    goal_.cap = {budget_of(context.params, nodes_of(spots_), false).reading_s};
    if (!context.timing_doubt.empty()) goal_ = one_look();
  }

  [[nodiscard]] Result<Observation> all_rounds() {
    const double begun = monotonic_seconds();
    for (round_ = 0; round_ < schedule_.rounds(); ++round_) {
      auto goes_on = round_ == 0 ? Result<bool>(true) : has_time(begun, budget_s(), "next round");
      if (!goes_on) return tl::unexpected(goes_on.error());
      if (!*goes_on) break;
      const int peer = schedule_.partner(context_.comm.rank(), round_);
      for (const Task& task : tasks_) {
        if (auto done = together(peer, task, true); !done) return tl::unexpected(done.error());
        if (task.kind != Kind::bandwidth) continue;
        if (auto done = together(peer, task, false); !done) return tl::unexpected(done.error());
      }
    }
    if (context_.timing_doubt.empty())
      if (auto done = again(); !done) return tl::unexpected(done.error());
    context_.recorder.peer(-1);
    finish();
    return std::move(seen_);
  }

 private:
  [[nodiscard]] double budget_s() const { return context_.params.duration("budget").value; }

  /// Collective. Rank 0's clock decides, so that all end with the same round.
  [[nodiscard]] Result<bool> has_time(double begun, double limit_s, std::string_view step) {
    const bool is_up = monotonic_seconds() - begun > limit_s;
    const std::byte mine{static_cast<std::uint8_t>(is_up)};
    context_.recorder.step(step);
    auto reported = context_.comm.broadcast(std::span(&mine, 1), 0);
    if (!reported) return tl::unexpected(reported.error());
    return !reported->empty() && reported->front() == std::byte{0};
  }

  /// One reading of every pair at a time, or what some send back would be in the way of what others still send.
  [[nodiscard]] Result<void> together(int peer, const Task& task, bool is_forward) {
    context_.recorder.step("round");
    context_.recorder.iteration(static_cast<std::uint64_t>(round_));
    context_.recorder.peer(-1);
    if (auto met = context_.comm.barrier(); !met) return met;
    if (peer < 0) return all_timed();
    const bool is_first = schedule_.leads(context_.comm.rank(), peer) == is_forward;
    with_.timed = [this] { return all_timed(); };
    return one(peer, is_first ? PairRole::first : PairRole::second, task, false);
  }

  /// Collective. What comes after is in no pair's way.
  [[nodiscard]] Result<void> all_timed() {
    context_.recorder.step("round timed");
    context_.recorder.peer(-1);
    return context_.comm.barrier();
  }

  [[nodiscard]] Result<void> one(int peer, PairRole role, const Task& task, bool is_alone) {
    const LinkClass link = class_of(spots_[self_], spots_[static_cast<std::size_t>(peer)]);
    const auto before = task.kind == Kind::latency ? Traffic() : read_traffic();
    auto measured = measure(with_, peer, role, task, is_alone ? goal_alone() : goal_);
    if (!measured) return tl::unexpected(measured.error());
    const double moved = static_cast<double>(measured->received + measured->sent) * static_cast<double>(task.size);
    if (link == LinkClass::network) over_network_ += moved;
    // Traffic between GPUs is not counted by interfaces, but reported by their library.
    if (task.kind != Kind::latency && !gpu_.is_on_device())
      carriers_.add(link, carrier_of(link, before, read_traffic(), moved), moved);
    ++checked_;
    bytes_ += static_cast<double>(measured->compared) * static_cast<double>(task.size);
    arrived_ += static_cast<double>(measured->received) * static_cast<double>(task.size);
    const std::string size = to_string(ParamScalar(Bytes{task.size}));
    verified_.add(size, measured->compared, measured->received);
    if (measured->wrong && ++corrupt_ <= most_reported)
      seen_.facts.push_back(
          to_fact("corrupt", WrongMessage{peer, size, std::string(to_string(task.kind)), describe(*measured->wrong)}));
    if (role == PairRole::first)
      keep(peer, task, measured->sampled, {{link_label(link), std::string(to_string(link))}, {"size", size}}, is_alone);
    return {};
  }

  /// Long enough to notice others who use the CPUs: what is slow alone is named.
  [[nodiscard]] SamplingGoal goal_alone() const {
    SamplingGoal goal = goal_;
    goal.least_time = least_alone_time;
    goal.cap.value = std::max(goal.cap.value, 2 * least_alone_time.value);
    return goal;
  }

  /// Hardware shared by CPUs does not describe the path between GPUs.
  [[nodiscard]] std::string link_label(LinkClass link) const {
    return gpu_.is_on_device() && link != LinkClass::network ? "cpu_link" : "link";
  }

  void keep(int peer, const Task& task, const Sampled& sampled, Labels where, bool is_alone) {
    if (is_alone) where.insert(where.begin(), {"alone", "yes"});
    gpu_.add_labels(where);
    if (task.kind == Kind::bandwidth && task.size == largest_size(context_.params) && sampled.summary.n > 0)
      mine_.push_back({context_.comm.rank(), peer, is_alone ? repetition_ : round_, sampled.summary.median,
                       class_of(spots_[self_], spots_[static_cast<std::size_t>(peer)]), is_alone,
                       spread_of(sampled.summary)});
    if (sampled.end == SamplingEnd::precise) ++precise_;
    ++measured_;
    disturbed_ += sampled.is_disturbed;
    add_capable(peer, task, where);
    seen_.readings.push_back({std::string(to_string(task.kind)), std::move(where), sampled.summary, peer});
  }

  void add_capable(int peer, const Task& task, const Labels& where) {
    if (task.kind == Kind::latency) return;
    const int directions = task.kind == Kind::bandwidth ? 1 : 2;
    if (const auto link = gpu_.links().to(peer))
      gpu_copy::add_capable(seen_, to_string(task.kind), where, directions * link->rate, peer);
    gpu_copy::add_possible(seen_, to_string(task.kind), where, directions * possible_to(peer), peer);
  }

  /// GB/s in one direction; 0: not known.
  [[nodiscard]] double possible_to(int peer) const {
    const double links = gpu_.possible_to(peer);
    if (!are_apart(spots_[self_], spots_[static_cast<std::size_t>(peer)])) return links;
    return across_machines(links, network_, !gpu_.is_on_device() || gpu_.links().end_in_node());
  }

  /// Links that look bad, one at a time: is it the link, or the company? Where much was the company, what looks bad
  /// without that is measured once more.
  [[nodiscard]] Result<void> again() {
    with_.timed = nullptr;
    with_.verify = 0;  // their share was compared in the rounds
    int first = 0;
    for (const Look look : {Look::first, Look::without_contention}) {
      context_.recorder.step("choose links");
      auto links = choose_links(context_.comm, spots_, mine_, decode_settings(context_.params), look);
      if (!links) return tl::unexpected(links.error());
      if (links->empty()) return {};
      if (auto done = alone(*links, look, first); !done) return done;
      first += times_alone;
    }
    return {};
  }

  /// `first`: number of the first repetition. The case's timeout has to hold rounds and both looks.
  [[nodiscard]] Result<void> alone(const std::vector<RankPair>& links, Look look, int first) {
    const int least = look == Look::first ? least_alone : 0;
    const double limit_s = look == Look::first ? budget_s() : budget_s() / 2;
    const double begun = monotonic_seconds();
    std::vector<Task> last;
    for (const Task& task : tasks_)
      if (task.kind == Kind::bandwidth && task.size == largest_size(context_.params)) last.push_back(task);
    const int groups = links.back().group + 1;
    for (int i = 0; i < groups * times_alone; ++i) {
      if (i >= least && i % times_alone == 0) {
        auto goes_on = has_time(begun, limit_s, "next link");
        if (!goes_on) return tl::unexpected(goes_on.error());
        if (!*goes_on) break;
      }
      context_.recorder.step("alone");
      context_.recorder.peer(-1);
      if (auto met = context_.comm.barrier(); !met) return met;
      repetition_ = first + i % times_alone;
      for (const RankPair& pair : links)
        if (pair.group == i / times_alone)
          if (auto done = once_more(pair, last); !done) return done;
    }
    return {};
  }

  [[nodiscard]] Result<void> once_more(const RankPair& pair, const std::vector<Task>& tasks) {
    const int rank = context_.comm.rank();
    if (rank != pair.from && rank != pair.to) return {};
    const bool is_first = rank == pair.from;
    for (const Task& task : tasks)
      if (auto done = one(is_first ? pair.to : pair.from, is_first ? PairRole::first : PairRole::second, task, true);
          !done)
        return done;
    return {};
  }

  /// The NIC of this rank's messages to other nodes.
  void report_rail() {
    if (over_network_ == 0) return;
    const NicBytes now = read_nic_bytes();
    auto rail = counted_rail(nics_before_.by_address, now.by_address, over_network_);
    if (!rail && !environment::choose_nics(environment::parse_environment(environ))) rail = nearest_rail();
    if (!rail) return;
    seen_.facts.push_back({"rail", to_text(*rail)});
    if (!rail->is_counted || rail->nics.size() > 1) return;
    if (const auto bytes = rail_bytes(rail->nics.front(), nics_before_, now))
      seen_.facts.push_back({"rail_bytes", to_text(*bytes)});
  }

  [[nodiscard]] std::optional<Rail> nearest_rail() const {
    if (gpu_.is_on_device()) return gpu_.near_rail();
    const auto node = read_inventory(root_of("/"));
    return node ? near_rail(*node, spots_[self_].mask, root_of("/")) : std::nullopt;
  }

  void finish() {
    report_rail();
    std::string fast;
    for (const std::string& port : fast_ports()) fast += (fast.empty() ? "" : " ") + port;
    if (!fast.empty()) seen_.facts.push_back({"fast_ports", fast});
    const int asked = std::max(schedule_.rounds(), context_.timing_doubt.empty() ? asked_rounds(context_.params) : 0);
    if (round_ < asked) seen_.facts.push_back(to_fact("rounds", CountOf{round_, asked}));
    seen_.facts.push_back(to_fact("checked", CheckedData{checked_, bytes_ * 1e-9, arrived_ * 1e-9}));
    verified_.announce(seen_);
    if (measured_ > 0) seen_.facts.push_back(to_fact("precise", CountOf{precise_, measured_}));
    if (disturbed_ > 0)
      seen_.facts.push_back({"disturbed", fmt::format("{} of {} readings: {}", disturbed_, measured_,
                                                      muster::to_string(watch_.whole()))});
    for (Fact& fact : carriers_.facts()) seen_.facts.push_back(std::move(fact));
    gpu_.announce(seen_);
  }

  RunContext& context_;
  const GpuData& gpu_;
  std::vector<Spot> spots_;
  std::size_t self_;
  double network_;  ///< GB/s of its node to others, at most; 0: not known
  Schedule schedule_;
  OwnCpuTime own_;
  ContaminationWatch watch_;
  Equipment with_;
  std::vector<Task> tasks_;
  SamplingGoal goal_;
  Carriers carriers_;
  std::vector<RankLink> mine_;
  int round_ = 0;
  int repetition_ = 0;  ///< of a pair that is measured alone
  Observation seen_;
  int checked_ = 0;
  int measured_ = 0;
  int precise_ = 0;
  int disturbed_ = 0;
  int corrupt_ = 0;
  VerifiedTotals verified_;
  NicBytes nics_before_ = read_nic_bytes();
  double over_network_ = 0;  ///< bytes to and from other nodes
  double bytes_ = 0;         ///< compared
  double arrived_ = 0;       ///< bytes
};

}  // namespace

Result<Observation> all_rounds(RunContext& context, const GpuData& gpu, const PairBuffers& buffers,
                               std::vector<Spot> spots) {
  return Part(context, gpu, buffers, std::move(spots)).all_rounds();
}

}  // namespace muster::p2p
