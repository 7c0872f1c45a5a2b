/// Untrusted text, as Markdown that only shows it in any renderer: no HTML, no
/// links, no mentions, no references to other tickets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// As a span of code, on one line, at most `most` bytes; `-` for nothing. In code neither GitHub nor GitLab look for
/// mentions, references or addresses, and no character means anything but itself.
[[nodiscard]] std::string code(std::string_view text, std::size_t most = 600);
/// The same in a cell of a table, where a bar would end the cell even within code.
[[nodiscard]] std::string cell(std::string_view text, std::size_t most = 200);
/// A block of code, each line of `text` one of it; ends in a newline.
[[nodiscard]] std::string code_block(std::string_view text, std::string_view language);

}  // namespace muster
