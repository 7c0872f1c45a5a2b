/// What stands at the end of a command's help, taken apart.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct FooterParts {
  std::vector<std::string> examples;  ///< lines, without what all are indented by
  std::string exit_status;
  std::vector<std::string> notes;  ///< everything else, a paragraph each
};

/// Lines below `Examples:` are examples as long as they are indented; `Exit status:` goes on to the end or the next
/// such word.
[[nodiscard]] FooterParts take_apart(const std::string& footer);

}  // namespace muster
