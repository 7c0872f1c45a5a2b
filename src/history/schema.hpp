/// How the history's tables came to be.
#pragma once

#include <span>

namespace muster {

/// Number n (from 0) turns a file of schema n into one of schema n + 1. Steps are only ever added: somewhere there is
/// a file of every schema.
[[nodiscard]] std::span<const char* const> schema_steps();

}  // namespace muster
