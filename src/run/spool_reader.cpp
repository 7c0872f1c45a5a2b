#include "run/spool_reader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "evaluate/like_items.hpp"
#include "model/json.hpp"
#include "muster/probe.hpp"
#include "run/messages.hpp"
#include "run/per_node.hpp"

namespace muster {

namespace {

/// Can this shape be reckoned with at all? A plan of ours always can.
bool is_sound(const JobShape& shape) {
  const auto nodes = std::max<std::size_t>(1, shape.nodes.size());
  return shape.ranks_per_node >= 1 &&
         nodes <= static_cast<std::size_t>(std::numeric_limits<int>::max() / shape.ranks_per_node);
}

bool is_sound(const Plan& plan, std::size_t most_results) {
  if (plan.repeat < 1 || plan.cases.size() > most_results / static_cast<std::size_t>(plan.repeat)) return false;
  return std::all_of(plan.cases.begin(), plan.cases.end(), [](const Case& item) { return is_sound(item.shape); });
}

/// Does the probe, as built into this muster, take these parameters? Its judge relies on it.
bool takes_params(const ProbeSpec& probe, const Params& params) {
  const auto read = params_from_json(to_json(params), probe);
  return read && *read == params;
}

bool is_sound(const World& world) {
  for (std::size_t i = 0; i < world.ranks.size(); ++i) {
    const auto& place = world.ranks[i];
    if (place.rank != static_cast<int>(i) || place.world_size != static_cast<int>(world.ranks.size())) return false;
  }
  return world.pids.size() == world.ranks.size();
}

}  // namespace

void SpoolReader::feed(std::span<const std::byte> bytes) {
  decoder_.feed(bytes);
  take_frames();
}

void SpoolReader::take_frames() {
  while (const auto frame = decoder_.next()) take(*frame);
  noise_ += decoder_.take_noise().size();
}

void SpoolReader::take(const Frame& frame) {
  switch (static_cast<MessageType>(frame.type)) {
    case MessageType::plan:
      return take_plan(frame);
    case MessageType::world:
      return take_world(frame);
    case MessageType::record:
      return take_record(frame);
    case MessageType::verdict:
      return take_verdict(frame);
    default:
      note_damage({ErrorKind::protocol, "", fmt::format("a frame of unknown type {}", frame.type)});
  }
}

void SpoolReader::note_damage(const Error& error) {
  if (bad_frames_++ == 0) first_damage_ = to_string(error);
}

void SpoolReader::take_plan(const Frame& frame) {
  auto entry = decode_plan(frame.payload);
  if (!entry) return note_damage(entry.error());
  if (has_plan_) return note_damage({ErrorKind::protocol, "", "a second plan"});
  if (!is_sound(entry->plan, most_results_)) return note_damage({ErrorKind::protocol, "", "a plan that can't be"});
  has_plan_ = true;
  plan_ = std::move(entry->plan);
  report_ = std::move(entry->run);
}

void SpoolReader::take_world(const Frame& frame) {
  auto entry = decode_spool_world(frame.payload);
  if (!entry) return note_damage(entry.error());
  if (entry->launch < 0 || !is_sound(entry->world))
    return note_damage({ErrorKind::protocol, "", "a world that can't be"});
  for (const auto& node : entry->world.nodes) {
    const auto known = std::any_of(report_.nodes.begin(), report_.nodes.end(),
                                   [&](const NodeProvenance& seen) { return seen.node == node.node; });
    if (!known) report_.nodes.push_back(node);
  }
  if (auto simulated = simulated_by(report_.nodes); !simulated.empty()) report_.simulated = std::move(simulated);
  worlds_[entry->launch] = std::move(entry->world);
}

/// Parts of one record follow each other; whatever else comes between them ends it unfinished.
void SpoolReader::take_record(const Frame& frame) {
  auto part = decode_record(frame.payload);
  if (!part) return note_damage(part.error());
  auto& seen = part->record.observations;
  const bool goes_on = partial_total_ == part->total && partial_.case_index == part->record.case_index &&
                       partial_.repetition == part->record.repetition && partial_.launch == part->record.launch;
  if (goes_on) {
    std::move(seen.begin(), seen.end(), std::back_inserter(partial_.observations));
  } else {
    partial_ = std::move(part->record);
    partial_total_ = part->total;
  }
  const auto total = static_cast<std::size_t>(std::max(0, partial_total_));
  if (partial_.observations.size() < total) return;
  auto whole = std::exchange(partial_, CaseRecord{});
  partial_total_ = -1;
  if (whole.observations.size() != total)
    return note_damage({ErrorKind::protocol, "record", "more observations than its count"});
  judge(std::move(whole));
}

void SpoolReader::take_verdict(const Frame& frame) {
  auto entry = decode_verdict(frame.payload);
  if (!entry) return note_damage(entry.error());
  verdict_of_[entry->case_id][entry->repetition.index] = verdicts_.size();
  verdicts_.push_back(std::move(*entry));
}

bool SpoolReader::is_known(const CaseRecord& record) const {
  return has_plan_ && record.case_index >= 0 && static_cast<std::size_t>(record.case_index) < plan_.cases.size() &&
         record.repetition >= 1 && record.repetition <= plan_.repeat;
}

/// As the run did when the record came, so that the observations need not be held.
void SpoolReader::judge(CaseRecord record) {
  if (!is_known(record)) return note_damage({ErrorKind::protocol, "record", "of a case that is not planned"});
  const auto& item = plan_.cases[static_cast<std::size_t>(record.case_index)];
  const auto* probe = find_probe(item.probe);
  if (probe == nullptr || !takes_params(*probe, item.params))
    return note_damage({ErrorKind::file, item.id, fmt::format("this muster has no such probe: {}", item.probe)});
  const auto world = worlds_.find(record.launch);
  if (world == worlds_.end() && record.finished)
    return note_damage({ErrorKind::protocol, item.id, "the ranks of its launch are not recorded"});
  if (record.launch >= 0) cases_of_launch_[record.launch].insert(item.id);
  if (!item.host.empty()) {
    auto& others = on_nodes_[{record.launch, common_id(item), record.repetition}];
    return others.push_back(std::move(record));
  }
  auto result = evaluate(item, *probe, record, world == worlds_.end() ? World{} : world->second);
  if (!result.repetitions.empty()) result.repetitions.front().index = record.repetition;
  judged_.emplace(Key{record.case_index, record.repetition}, std::move(result));
}

/// Cases of one node each: the peers of their readings are on the others.
void SpoolReader::judge_with_others() {
  for (const auto& [key, records] : on_nodes_) {
    const auto found = worlds_.find(std::get<0>(key));
    const World launched = found == worlds_.end() ? World{} : found->second;
    std::vector<World> worlds;
    LikeItems like;
    for (const auto& record : records) {
      const auto& item = plan_.cases[static_cast<std::size_t>(record.case_index)];
      const auto node = node_named(launched, item.host);
      worlds.push_back(node ? world_of_node(launched, *node) : World{});
      if (record.finished) like.add(item, *find_probe(item.probe), record, worlds.back());
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto& item = plan_.cases[static_cast<std::size_t>(records[i].case_index)];
      auto result =
          evaluate(item, *find_probe(item.probe), records[i], worlds[i], records[i].finished ? &like : nullptr);
      if (!result.repetitions.empty()) result.repetitions.front().index = records[i].repetition;
      judged_.emplace(Key{records[i].case_index, records[i].repetition}, std::move(result));
    }
  }
  on_nodes_.clear();
}

}  // namespace muster
