/// Whom a mistake of some ranks is held against. Of what a user's program does wrong a node is at fault only by
/// comparison with nodes that do it right; docs/methods/command.md, "Whose fault". Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/probe.hpp"

namespace muster {

enum class Suspect : std::uint8_t {
  job,     ///< the program, the check or the job: most nodes have the mistake, or the only one
  rank_0,  ///< undetermined: rank 0 alone has it, and no other rank has the part of rank 0
  nodes,   ///< the nodes that have it
};

/// Whom it is held against where exactly half of the nodes have it.
enum class Half : std::uint8_t { is_of_job, is_of_nodes };

struct Mistake {
  std::size_t nodes = 0;         ///< that have it
  std::size_t all_nodes = 0;     ///< that took part
  bool is_rank_0_alone = false;  ///< and nothing but the comparison speaks against its node
};

[[nodiscard]] Suspect find_suspect(const Mistake& mistake, Half half);

/// Rank 0, on whichever node it is.
[[nodiscard]] Culprit rank_0_culprit();
/// The finding is about rank 0 alone and holds it against no node: a launch with rank 0 on another node decides.
[[nodiscard]] bool is_about_rank_0_alone(const Finding& finding);
/// How to find out whether it is the program or the node. `hosts`: of all ranks, rank 0's first.
[[nodiscard]] std::string rank_0_remedy(const std::vector<std::string>& hosts);
[[nodiscard]] std::string rank_0_remedy(std::span<const RankPlace> ranks);
/// What a remedy names before the one of rank_0_remedy(), as the program's own; empty: nothing.
[[nodiscard]] std::string remedy_before_rank_0(std::string_view remedy);

}  // namespace muster
