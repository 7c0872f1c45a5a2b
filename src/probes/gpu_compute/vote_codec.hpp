/// The ballots of all ranks, as they travel: by facts.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu_blas.hpp"
#include "muster/observation.hpp"
#include "probes/gpu_compute/votes.hpp"

namespace muster::gpu_compute {

/// What one GPU got, one fact for each result.
[[nodiscard]] std::vector<Fact> print_facts(const std::string& address, NumberType type, const ResultVotes& ballot);

/// By type, then by rank and address.
using Ballots = std::map<std::string, std::map<std::pair<int, std::string>, ResultVotes>>;
/// Facts that are damaged are left out.
void add_ballots(int rank, std::span<const Fact> facts, Ballots& all);
/// Of each type.
[[nodiscard]] std::map<std::string, Decision> decide(const Ballots& all);

}  // namespace muster::gpu_compute
