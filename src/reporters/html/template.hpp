/// reports/templates/, put into the program when it is built.
#pragma once

#include <string_view>

namespace muster::html {

/// With @TITLE@, @POLICY@, @STYLE@, @SUMMARY@, @DATA@ and @SCRIPT@ where those go.
[[nodiscard]] std::string_view page_frame();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();
/// SHA-256 of the script, hexadecimal: a browser runs that one and no other.
[[nodiscard]] std::string_view page_script_sha256();

}  // namespace muster::html
