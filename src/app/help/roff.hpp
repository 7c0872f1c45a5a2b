/// Text as a manual page needs it (man(7)).
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// One line of running text: what roff would take for a request or a special character stays what it is, and hyphens
/// can be copied into a shell.
[[nodiscard]] std::string roff(std::string_view text);
/// The same, in bold or as a word to be replaced.
[[nodiscard]] std::string roff_bold(std::string_view text);
[[nodiscard]] std::string roff_italic(std::string_view text);

}  // namespace muster
