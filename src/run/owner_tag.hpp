/// What muster writes as the reason of a node that it takes out of service, and by which it knows its own again:
///
///   muster[3f2a9c-1b7e]: clock_skew: clock of nid002 is 10 s behind the median
///
/// the run, a sum over all of the text, the check, and what it found. A changed character makes it a
/// reason of his own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct OwnerTag {
  std::string run;
  std::string check;
  std::string reason;  ///< made fit for one line of ASCII and cut; as given when it was read
  friend bool operator==(const OwnerTag&, const OwnerTag&) = default;
};

[[nodiscard]] std::string write_tag(const OwnerTag& tag);
/// nullopt: not written by muster, or not left as it was.
[[nodiscard]] std::optional<OwnerTag> read_tag(std::string_view reason);
/// Written by muster, whatever became of it since: what counts for a cap.
[[nodiscard]] bool begins_as_tag(std::string_view reason);

}  // namespace muster
