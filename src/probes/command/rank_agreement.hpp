/// Values of a program that must be equal on all ranks: {"same":{"torch":"2.7.1+cu126"}}. docs/check-files.md
#pragma once

#include <string_view>
#include <vector>

#include "muster/probe.hpp"

namespace muster::program {

inline constexpr std::string_view same_start = R"({"same")";

/// `same.NAME` of each entry of such a line. Fails with kind `protocol`, in words that follow the line's name.
[[nodiscard]] Result<std::vector<Fact>> read_same(std::string_view line);

/// One finding for each name whose values differ between ranks, which names the ranks that are not like most. Without a
/// majority, or on the only node, it names no node: the value, or the program whose value differs on every rank. Ranks
/// without a value under a name are not compared.
[[nodiscard]] std::vector<Finding> find_differences(const CaseView& view);

}  // namespace muster::program
