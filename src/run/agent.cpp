#include "run/agent.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/fault_injection.hpp"
#include "base/text.hpp"
#include "model/json.hpp"
#include "run/agent_world.hpp"
#include "run/autopsy.hpp"
#include "run/faulty_comm.hpp"
#include "run/per_node.hpp"
#include "run/plugins.hpp"
#include "run/wire_client.hpp"
#include "system/asked_binding.hpp"

namespace muster {

namespace {

/// A part of a case is sent when it has grown to this size, so that the driver need not hold back one huge frame.
constexpr std::size_t part_bytes = 4u << 20;
constexpr int most_calls = 3;
constexpr double most_silence_s = 3;  // where it calls again, something else may have taken the driver's port
/// No launch lasts that long; younger files may be about to be looked at by a driver.
constexpr double old_launch_s = 86400;

/// A rank's own half of a case: everything until all ranks agree to run.
struct Prepared {
  const ProbeSpec* probe = nullptr;
  Params params;
  ExpectedNode node;
  std::unique_ptr<ProbeState> state;
};

/// The text of a probe's exception; probes return errors, libraries below them may throw.
template <class Act>
auto contained(const char* where, Act act) -> decltype(act()) {
  try {
    return act();
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::internal, where, fmt::format("exception: {}", thrown.what()));
  } catch (...) {
    return fail(ErrorKind::internal, where, "exception of an unknown type");
  }
}

Result<Prepared> find_work(const JobItem& item) {
  Prepared prepared;
  prepared.probe = find_probe(item.probe);
  if (prepared.probe == nullptr)
    return fail(ErrorKind::protocol, "agent", fmt::format("has no probe \"{}\"{}", item.probe, why_not_plugged()));
  const nlohmann::json json = nlohmann::json::parse(item.params, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::protocol, item.probe, "parameters are not JSON");
  auto params = params_from_json(json, *prepared.probe);
  if (!params) return tl::unexpected(params.error());
  prepared.params = std::move(*params);
  if (item.node.empty()) return prepared;
  const nlohmann::json message = nlohmann::json::parse(item.node, nullptr, false);
  if (message.is_discarded()) return fail(ErrorKind::protocol, item.probe, "the profile's part is not JSON");
  auto node = expected_node_from_json(message);
  if (!node) return tl::unexpected(node.error());
  prepared.node = std::move(*node);
  return prepared;
}

/// Parameters that no node could satisfy (kind `usage`) are not a failure of this rank: the fact names the
/// parameter.
void note(const Error& error, ObservationState state, Observation& observation) {
  const bool is_refused = error.kind == ErrorKind::usage && !error.where.empty();
  observation.state = is_refused ? ObservationState::unable : state;
  observation.error = to_string(error);
  if (is_refused) observation.facts.push_back({"refused", error.where});
  // What came from another rank was wrong, or nothing came: that one may know why.
  if (error.kind == ErrorKind::protocol) observation.facts.push_back({"peer_failed", ""});
}

/// Whom a probe works with: all ranks of the launch, or those of one node.
struct Side {
  Comm* comm = nullptr;
  Recorder* recorder = nullptr;
  RankPlace place = {};
  std::string timing_doubt = {};
};

class Agent {
 public:
  Agent(Comm& comm, FlightRecorder& recorder, const AgentHooks& hooks)
      : comm_(comm), recorder_(recorder), hooks_(hooks), launch_{&comm, &recorder} {}

  Result<void> run();
  /// False while the others may wait for this rank in a case.
  [[nodiscard]] bool is_in_step() const { return is_in_step_; }

 private:
  void reach(std::string_view point) const {
    if (hooks_.at != nullptr) hooks_.at(point, comm_.rank());
  }
  void call_driver();
  Result<void> say_hello();
  Result<void> refuse(const std::string& why);
  Result<void> give_up(const Error& error, std::string_view remedy);
  Result<void> hold_simulation(bool is_simulated);
  Result<ByteVector> exchange(const World& world);
  Result<ByteVector> ask_for_job(const World& world);
  Result<JobMessage> take_job(const World& world);
  Result<void> introduce_all(World& world);
  Result<void> make_node_side();
  Result<void> run_item(const JobItem& item);
  Result<ByteVector> own_part(const JobItem& item);
  Result<Observation> observe(const JobItem& item, const Side& side);
  Result<Prepared> prepare(const JobItem& item, const Side& side, Observation& observation);
  [[nodiscard]] Result<bool> run_by_node(Result<Prepared>& prepared, const JobItem& item, const Side& side,
                                         Observation& observation);
  void run_probe(Prepared& prepared, const JobItem& item, const Side& side, Observation& observation);
  Result<void> send_observations(int index, const std::vector<ByteVector>& encoded);

  Comm& comm_;
  FlightRecorder& recorder_;
  const AgentHooks& hooks_;
  Side launch_;
  std::vector<int> on_node_;  ///< ranks of our node
  std::string node_doubt_;
  std::string simulated_on_;  ///< a node that is simulated; empty: none
  std::string real_on_;       ///< one that is not
  std::unique_ptr<Comm> node_comm_;
  std::optional<NodeRecorder> node_recorder_;
  std::optional<Side> node_;        ///< where an item is done by each node for itself
  std::optional<WireClient> wire_;  ///< on rank 0
  bool is_in_step_ = true;
  /// Monotonic. By then the driver has ended the launch, or seen the end of what this rank has begun: ranks that wait
  /// for each other only within their node may be several items ahead of rank 0.
  double driver_deadline_ = 0;
  double gap_s_ = 0;
};

void Agent::call_driver() {
  recorder_.phase(Phase::connecting);
  if (comm_.rank() == 0) wire_.emplace(WireClient::open(environment_text(env_wire), hooks_.key));
}

Result<void> Agent::say_hello() {
  return wire_->send(MessageType::hello, muster::encode(HelloMessage{MUSTER_VERSION, comm_.size()}));
}

/// Every process that is rank 0 of its world connects: with the wrong launcher there are many.
Result<void> Agent::refuse(const std::string& why) {
  call_driver();
  if (wire_) {
    if (auto sent = say_hello(); !sent) return sent;
    const auto* text = reinterpret_cast<const std::byte*>(why.data());
    if (auto sent = wire_->send(MessageType::refused, std::span(text, why.size())); !sent) return sent;
  }
  return fail(ErrorKind::launch, "", why);
}

/// Errors of a simulated machine are sent to the driver, which shows them instead of the launcher's output.
Result<void> Agent::give_up(const Error& error, std::string_view remedy) {
  if (error.kind != ErrorKind::usage) return tl::unexpected(error);
  const std::string why = fmt::format("{}\n{}", to_string(error), remedy);
  const auto* text = reinterpret_cast<const std::byte*>(why.data());
  if (wire_) (void)wire_->send(MessageType::refused, std::span(text, why.size()));
  return tl::unexpected(error);
}

Result<ByteVector> Agent::exchange(const World& world) {
  if (auto sent = wire_->send(MessageType::world, muster::encode(world)); !sent) return tl::unexpected(sent.error());
  auto frame = wire_->receive();
  if (!frame) return tl::unexpected(frame.error());
  if (frame->type != static_cast<std::uint8_t>(MessageType::job))
    return fail(ErrorKind::protocol, "wire", fmt::format("the driver sent message {} instead of work", frame->type));
  return std::move(frame->payload);
}

/// Rank 0 alone. A driver with many callers closes connections that it has not read yet: rank 0 calls again.
Result<ByteVector> Agent::ask_for_job(const World& world) {
  auto payload = exchange(world);
  for (int call = 1; !payload && !wire_->is_stdio() && call < most_calls; ++call) {
    wire_.reset();
    call_driver();
    // The driver that was there is gone.
    if (wire_->is_stdio()) break;
    if (auto sent = say_hello(); !sent) continue;
    wire_->limit_silence(most_silence_s);
    payload = exchange(world);
    wire_->limit_silence(0);
  }
  return payload;
}

Result<JobMessage> Agent::take_job(const World& world) {
  Result<ByteVector> payload;
  if (wire_) payload = ask_for_job(world);
  // An empty job means that rank 0 got none; a real one is never empty.
  auto job = comm_.broadcast(payload ? *payload : ByteVector{}, 0);
  if (!payload) return tl::unexpected(payload.error());
  if (!job) return tl::unexpected(job.error());
  if (job->empty()) return fail(ErrorKind::protocol, "rank 0", "got no work from the driver");
  return decode_job(*job);
}

Result<Prepared> Agent::prepare(const JobItem& item, const Side& side, Observation& observation) {
  auto prepared = find_work(item);
  if (!prepared) {
    observation.state = ObservationState::unable;
    observation.error = to_string(prepared.error());
    return prepared;
  }
  if (prepared->probe->prepare == nullptr) return prepared;
  auto state = contained("prepare", [&] {
    return prepared->probe->prepare(
        PrepareContext{prepared->params, side.place, *side.recorder, side.timing_doubt, item.folder});
  });
  if (!state) {
    note(state.error(), ObservationState::not_prepared, observation);
    return tl::unexpected(state.error());
  }
  prepared->state = std::move(*state);
  return prepared;
}

void Agent::run_probe(Prepared& prepared, const JobItem& item, const Side& side, Observation& observation) {
  const FaultInjection orders;
  FaultyComm spoilt(*side.comm);
  Comm& comm = injects_faults() ? spoilt : *side.comm;
  RunContext context{prepared.params,      side.place,        *side.recorder, comm,
                     prepared.state.get(), side.timing_doubt, item.folder,    prepared.node};
  // Named as a call: a step that only the first rank of a node begins would make it differ from the others.
  const auto read_links = [&](auto read) {
    recorder_.call("counters of links");
    auto found = read();
    recorder_.call({});
    return found;
  };
  std::function<std::vector<Fact>()> facts_of_node;
  if (hooks_.watch_node && side.place.local_rank == 0) facts_of_node = read_links(hooks_.watch_node);
  auto seen = contained("run", [&] { return prepared.probe->run(context); });
  if (seen) {
    observation = std::move(*seen);
  } else {
    note(seen.error(), ObservationState::failed, observation);
    // The others may wait for this rank where it will never come: then this is all that is known of it. Who lost a peer
    // waits like them.
    if (seen.error().kind != ErrorKind::protocol) recorder_.error(observation.error);
  }
  if (!facts_of_node) return;
  for (Fact& fact : read_links(facts_of_node)) observation.facts.push_back(std::move(fact));
}

/// Not every rank could prepare: a probe about single nodes runs on those where all ranks could. All ranks of the
/// launch take part. Whether it ran here.
Result<bool> Agent::run_by_node(Result<Prepared>& prepared, const JobItem& item, const Side& side,
                                Observation& observation) {
  const ProbeSpec* probe = find_probe(item.probe);
  const auto is_known = side.comm->all_true(!item.is_per_node && probe != nullptr && probe->is_about_nodes);
  if (!is_known || !*is_known) return is_known ? Result<bool>(false) : tl::unexpected(is_known.error());
  if (!node_)
    if (auto made = make_node_side(); !made) return tl::unexpected(made.error());
  const auto here = node_->comm->all_true(prepared.has_value());
  if (!here || !*here) return here ? Result<bool>(false) : tl::unexpected(here.error());
  run_probe(*prepared, item, *node_, observation);
  return true;
}

/// Everything of a case that this rank sees. Fails only when the ranks can no longer talk to each other.
Result<Observation> Agent::observe(const JobItem& item, const Side& side) {
  Observation observation;
  const double begun = monotonic_seconds();
  recorder_.phase(Phase::prepare);
  Result<Prepared> prepared = [&] {
    const FaultInjection orders;
    return prepare(item, side, observation);
  }();

  recorder_.phase(Phase::agreeing);
  const auto agreed = side.comm->all_true(prepared.has_value());
  if (!agreed) return tl::unexpected(agreed.error());
  recorder_.phase(Phase::running);
  if (!item.is_per_node) driver_deadline_ = monotonic_seconds() + item.timeout_s;
  recorder_.deadline(driver_deadline_);
  if (*agreed) {
    run_probe(*prepared, item, side, observation);
  } else {
    const auto has_run = run_by_node(prepared, item, side, observation);
    if (!has_run) return tl::unexpected(has_run.error());
    if (prepared && !*has_run) observation.state = ObservationState::not_run;
  }
  recorder_.child_group(0);
  observation.rank = comm_.rank();
  observation.seconds = monotonic_seconds() - begun;
  return observation;
}

/// Encoded; empty on a node that is left out of this item.
Result<ByteVector> Agent::own_part(const JobItem& item) {
  const auto is_here = [&](const std::string& name) { return is_same_node(name, launch_.place.host); };
  if (item.is_per_node && std::any_of(item.not_on.begin(), item.not_on.end(), is_here)) return ByteVector{};
  auto observation = observe(item, item.is_per_node ? *node_ : launch_);
  if (!observation) return tl::unexpected(observation.error());
  return muster::encode(*observation);
}

Result<void> Agent::send_observations(int index, const std::vector<ByteVector>& encoded) {
  std::size_t from = 0;
  while (from < encoded.size()) {
    std::size_t to = from;
    std::size_t bytes = 0;
    while (to < encoded.size() && (to == from || bytes + encoded[to].size() <= part_bytes))
      bytes += encoded[to++].size();
    const std::span part(encoded.data() + from, to - from);
    if (auto sent = wire_->send(MessageType::case_part, encode_case_part(index, part)); !sent) return sent;
    from = to;
  }
  return {};
}

Result<void> Agent::run_item(const JobItem& item) {
  recorder_.phase(Phase::gap);
  recorder_.item(item.index);
  driver_deadline_ += gap_s_ + item.timeout_s;
  recorder_.deadline(driver_deadline_);
  reach("gap");
  const double begun = monotonic_seconds();
  if (wire_) {
    if (auto sent = wire_->send(MessageType::case_begin, encode_case_begin(item.index)); !sent) return sent;
  }
  const auto part = own_part(item);
  if (!part) return tl::unexpected(part.error());
  recorder_.phase(Phase::gathering);
  auto gathered = comm_.gather(*part, 0);
  if (!gathered) return tl::unexpected(gathered.error());
  if (wire_) {
    hold_to_sender(*gathered);
    std::erase_if(*gathered, [](const ByteVector& one) { return one.empty(); });
    if (auto sent = send_observations(item.index, *gathered); !sent) return sent;
    const auto end = encode_case_end(item.index, monotonic_seconds() - begun);
    if (auto sent = wire_->send(MessageType::case_end, end); !sent) return sent;
  }
  recorder_.phase(Phase::gap);
  return {};
}

Result<void> Agent::introduce_all(World& world) {
  Introduction mine = introduce_myself();
  if (hooks_.host != nullptr) mine.host = hooks_.host(comm_.rank());
  auto introduced = introduce(comm_, recorder_, mine);
  if (!introduced)
    return give_up(
        introduced.error(),
        "give MUSTER_MACHINE a folder that muster machine wrote, with masks for as many ranks as there are on "
        "a node, and at the same path on every node, and MUSTER_DRIVERS one that is there; or unset them");
  simulated_on_ = std::move(introduced->simulated_on);
  real_on_ = std::move(introduced->real_on);
  if (must_judge_speed()) {
    introduced->world.timing_doubt.clear();
    introduced->world.node_doubts.clear();
  }
  launch_.place = introduced->place;
  launch_.timing_doubt = introduced->world.timing_doubt;
  on_node_ = std::move(introduced->on_node);
  const auto& doubts = introduced->world.node_doubts;
  if (const auto node = static_cast<std::size_t>(launch_.place.node_index); node < doubts.size())
    node_doubt_ = doubts[node];
  world = std::move(introduced->world);
  if (const auto asked = asked_binding())
    for (NodeProvenance& node : world.nodes) {
      node.facts.push_back({"binding", described(*asked)});
      const bool is_ours = asked->binder == Binder::launcher || asked->binder == Binder::agent;
      if (const std::string ranks = rank_list(*asked); is_ours && !ranks.empty())
        node.facts.push_back({"bound_ranks", ranks});
    }
  if (!hooks_.start_note.empty())
    for (NodeProvenance& node : world.nodes) node.facts.push_back({"mpi_start", hooks_.start_note});
  return {};
}

/// The driver alone decides whether machines are simulated, not the environment of a node. All ranks agree.
Result<void> Agent::hold_simulation(bool is_simulated) {
  if (!is_simulated && !simulated_on_.empty())
    return give_up({ErrorKind::usage, simulated_on_, "MUSTER_MACHINE is set there, and this run is not --simulated"},
                   "unset MUSTER_MACHINE in what starts ranks on that node: its shell, the launcher or a wrapper");
  if (is_simulated && !real_on_.empty())
    return give_up({ErrorKind::usage, real_on_, "MUSTER_MACHINE is not set there, and this run is --simulated"},
                   "let the launcher or the wrapper pass on MUSTER_MACHINE");
  return {};
}

Result<void> Agent::make_node_side() {
  auto comm = comm_.split(launch_.place.node_index);
  if (!comm) return tl::unexpected(comm.error());
  node_comm_ = std::move(*comm);
  node_recorder_.emplace(recorder_, on_node_);
  node_.emplace(Side{node_comm_.get(), &*node_recorder_, place_on_node(launch_.place), node_doubt_});
  return {};
}

Result<void> Agent::run() {
  recorder_.place(comm_.rank(), comm_.size());
  reach("startup");
  std::string asked = environment_text(env_world);
  // What a line of the user's starts is not known before: only that its ranks are one world.
  if (const LaunchedBy by = launched_by(); asked.empty() && !environment_text(env_wire).empty() && by.world_size > 0)
    asked = std::to_string(by.world_size);
  if (!asked.empty() && asked != std::to_string(comm_.size()))
    return refuse(wrong_world(comm_.library(), launched_by().who, comm_.size(), std::atoi(asked.c_str())));

  if (!hooks_.refusal.empty()) return refuse(hooks_.refusal);
  call_driver();
  if (wire_) {
    // Sent before anything collective, so that the driver knows us even when a peer never comes. A failure shows
    // again, for all ranks, when the world is sent.
    (void)say_hello();
  }
  World world;
  if (auto introduced = introduce_all(world); !introduced) return introduced;
  if (launch_.place.local_rank == 0) forget_old_launches(old_launch_s);
  auto job = take_job(world);
  if (!job) return tl::unexpected(job.error());
  if (auto meant = hold_simulation(job->is_simulated); !meant) return meant;
  if (wire_ && hooks_.ends_with_driver) wire_->end_with_peer();
  reach("connected");

  gap_s_ = job->gap_s;
  driver_deadline_ = monotonic_seconds();
  is_in_step_ = false;
  if (std::any_of(job->items.begin(), job->items.end(), [](const JobItem& item) { return item.is_per_node; }))
    if (auto made = make_node_side(); !made) return made;
  for (const JobItem& item : job->items) {
    if (auto done = run_item(item); !done) return done;
  }
  is_in_step_ = true;
  recorder_.phase(Phase::finishing);
  recorder_.deadline(driver_deadline_ + job->finish_s);
  if (wire_) {
    wire_->live_without_peer();
    if (auto sent = wire_->send(MessageType::finish, {}); !sent) return sent;
  }
  reach("finish");
  return {};
}

/// `Open MPI` of `Open MPI v4.1.4, package: ...`, `MPICH` of `MPICH Version: 4.0.2`.
std::string library_name(const std::string& library) {
  for (const std::string_view known : {"Open MPI", "CRAY MPICH", "MPICH", "MVAPICH", "Intel(R) MPI"}) {
    if (library.rfind(known, 0) == 0) return std::string(known);
  }
  return library.substr(0, library.find_first_of(",:"));
}

}  // namespace

std::string wrong_world(const std::string& library, const std::string& launcher, int size, int asked) {
  const std::string name = library_name(library);
  const std::string world = fmt::format("the world has {} {}, {} {} requested", size, size == 1 ? "rank" : "ranks",
                                        asked, asked == 1 ? "was" : "were");
  // The right launcher with the wrong number: its arguments are to blame, not the match.
  if (launcher == name) return fmt::format("{}: {}", name, world);
  return fmt::format("{}{}, launched by {}: {}", agent_built_for, name,
                     launcher.empty() ? "an unknown launcher" : launcher, world);
}

void hold_to_sender(std::vector<ByteVector>& gathered) {
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    if (gathered[rank].empty()) continue;
    const auto seen = decode_observation(gathered[rank]);
    if (seen && seen->rank == static_cast<int>(rank)) continue;
    Observation failed;
    failed.rank = static_cast<int>(rank);
    failed.state = ObservationState::failed;
    failed.error = seen ? fmt::format("sent an observation in the name of rank {}", seen->rank)
                        : fmt::format("sent an observation that can't be read: {}", to_string(seen.error()));
    gathered[rank] = muster::encode(failed);
  }
}

int run_agent(Comm& comm, FlightRecorder& recorder, const AgentHooks& hooks) {
  Agent agent(comm, recorder, hooks);
  const auto done = agent.run();
  if (done) return 0;
  // One write, so that the lines of several ranks do not mix.
  const std::string line = fmt::format("muster-rank: rank {}: {}\n", comm.rank(), to_string(done.error()));
  std::fputs(line.c_str(), stderr);
  return agent.is_in_step() ? 1 : 2;
}

}  // namespace muster
