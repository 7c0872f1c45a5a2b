/// A node that a run goes on without, and what is known of why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "muster/verdict.hpp"

namespace muster {

struct LostNode {
  std::string node;
  std::string why;        ///< behind its name, in a sentence: `does not answer: ...`
  std::string remedy;     ///< empty: unknown
  bool is_named = false;  ///< `why` is a sentence by itself, with the node's name
  /// The whole sentence.
  [[nodiscard]] std::string reason() const { return is_named ? why : node + " " + why; }
};

/// `error`: what came back instead of an answer of `self` on that node. Muster that is missing, can't start or is
/// another version's is not taken for a node that was not reached. Pure.
[[nodiscard]] LostNode explain_no_answer(const std::string& node, std::string_view error, const fs::path& self);
/// One finding about the nodes, which are its culprits, with the reasons and remedies of all. Pure.
[[nodiscard]] Finding explain_lost(const std::vector<LostNode>& lost);
/// Its muster is another version than this one; `theirs` is empty where that is unknown. Pure.
[[nodiscard]] LostNode of_another_version(const std::string& node, std::string_view theirs, const fs::path& self);

}  // namespace muster
