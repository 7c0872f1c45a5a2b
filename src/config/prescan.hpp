/// A first look at the bytes of a document, so that the parser meets nothing that could hurt it.
#pragma once

#include <string_view>

#include "config/document_errors.hpp"

namespace muster {

/// False, with a complaint, for text that is empty, is not UTF-8, contains NUL, or nests deeper than any check needs.
[[nodiscard]] bool prescan_document(std::string_view toml, DocumentErrors& errors);

}  // namespace muster
