#include "probes/command/blame.hpp"

#include <fmt/format.h>
#include <set>

#include "base/text.hpp"

namespace muster::program {

namespace {

std::set<int> nodes_of(const CaseView& view, const std::vector<std::size_t>& ranks) {
  std::set<int> nodes;
  for (const std::size_t rank : ranks) nodes.insert(view.ranks[rank].node_index);
  return nodes;
}

}  // namespace

std::string program_name(const Params& params) {
  const auto argv = params.has("argv") ? params.texts("argv") : std::vector<std::string>{};
  return argv.empty() ? "argv" : printable_line(argv.front(), 200);
}

Blame::Blame(const CaseView& view, const std::vector<std::size_t>& ranks, const std::vector<std::size_t>& bad,
             Part part)
    : suspect_(find_suspect({nodes_of(view, bad).size(), nodes_of(view, ranks).size(),
                             part == Part::may_differ && bad.size() == 1 && view.ranks[bad.front()].rank == 0},
                            Half::is_of_job)),
      is_everywhere_(bad.size() == ranks.size()),
      ranks_(ranks.size()),
      program_(program_name(view.params)) {}

Culprit Blame::culprit(const RankPlace& place) const {
  if (is_everywhere_) return {CulpritKind::program, program_, "", -1};
  return rank_culprit(place.rank, is_on_nodes() ? place.host : "");
}

std::string Blame::subject(const RankPlace& place) const {
  if (is_everywhere_) return ranks_ == 1 ? "the program" : fmt::format("rank {}", place.rank);
  return fmt::format("rank {} on {}", place.rank, place.host);
}

}  // namespace muster::program
