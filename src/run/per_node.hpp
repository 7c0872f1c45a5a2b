/// Cases that are about one node of a launch (--per-node): what place, world and observations are to its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/call_recorder.hpp"
#include "model/record.hpp"
#include "muster/probe.hpp"

namespace muster {

/// Whether a node that the driver calls `name` may be the one that calls itself `host`: the same, or the same up to a
/// domain that only one of them has.
[[nodiscard]] bool is_same_node(const std::string& name, const std::string& host);

/// Index into World::nodes of the node that the driver calls `name`; none: no rank reports it.
[[nodiscard]] std::optional<int> node_named(const World& world, const std::string& name);

/// As the ranks of its node count: from 0, in a world of their own.
[[nodiscard]] RankPlace place_on_node(const RankPlace& in_launch);
/// The ranks of one node alone.
[[nodiscard]] World world_of_node(const World& world, int node);
/// Of what all ranks saw, that of one node's ranks, by their numbers there. Ranks that the world does not have are not
/// anybody's, and left out.
[[nodiscard]] std::vector<Observation> seen_on_node(const std::vector<Observation>& seen, const World& world, int node);

/// A recorder for a case of one node: who waits for whom is noted as the launch counts its ranks, which is what an
/// autopsy compares.
class NodeRecorder final : public Recorder, public CallRecorder {
 public:
  /// `ranks`: rank on the node -> rank in the launch. Both must outlive this.
  NodeRecorder(Recorder& launch, const std::vector<int>& ranks)
      : launch_(launch), calls_(dynamic_cast<CallRecorder*>(&launch)), ranks_(ranks) {}

  void step(std::string_view name) override { launch_.step(name); }
  void iteration(std::uint64_t index) override { launch_.iteration(index); }
  void peer(int rank) override {
    const bool is_known = rank >= 0 && rank < static_cast<int>(ranks_.size());
    launch_.peer(is_known ? ranks_[static_cast<std::size_t>(rank)] : rank);
  }
  void child_group(int process_group) override { launch_.child_group(process_group); }
  void call(std::string_view name) override {
    if (calls_ != nullptr) calls_->call(name);
  }
  void device(std::string_view label) override {
    if (calls_ != nullptr) calls_->device(label);
  }

 private:
  Recorder& launch_;
  CallRecorder* calls_;  ///< nullptr: it takes none
  const std::vector<int>& ranks_;
};

}  // namespace muster
