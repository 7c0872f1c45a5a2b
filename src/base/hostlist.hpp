/// Slurm's host list grammar: `nid[001-004,007],login1`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/result.hpp"

namespace muster {

/// The hosts in order, duplicates kept. Rejects (kind `usage`, naming the column) what Slurm rejects and also
/// unclosed brackets and open ranges. At most 65,536 hosts per range and `most_hosts` in all.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most_hosts = 262'144);
/// The shortest list in the same order; only the last number of a name collapses, as in Slurm.
[[nodiscard]] std::string compress_hostlist(std::span<const std::string> hosts);

/// Why a text can't be the name or address of a node; empty: it can be. A name has letters, digits, `-`, `_` and `.`,
/// begins with a letter or digit, has no two dots in succession and at most 253 characters (RFC 1123, RFC 1035; Slurm's
/// names may have `_`). Addresses are IPv4 or IPv6.
[[nodiscard]] std::string why_no_host_name(std::string_view text);

}  // namespace muster
