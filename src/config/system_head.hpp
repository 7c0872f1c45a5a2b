/// [system], [[variable]] and [[unverified]] of a profile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// Names the system and takes its clues; a login node's go to every partition afterwards.
struct SystemHead {
  std::string name;
  std::vector<DetectClue> detect;
  std::optional<LoginExpectation> login;
};
[[nodiscard]] SystemHead read_system_head(const Entry& entry, DocumentErrors& errors);

[[nodiscard]] std::vector<VariableExpectation> read_variables_wanted(Fields& top);

/// Why a value of the profile is not verified, by its key, and where that is written. Whether the profile
/// sets the key is to be checked when all of it was read.
struct Unverified {
  std::map<std::string, std::string> why;
  std::map<std::string, Place> places;
};
[[nodiscard]] Unverified read_unverified(Fields& top);

}  // namespace muster
