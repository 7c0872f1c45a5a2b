/// Values that only machine descriptions have: sets of CPUs, sizes, environments of ranks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "config/fields.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// `"0-15,64-79"`, inside of the machine.
[[nodiscard]] std::optional<CpuMask> read_cpus(Fields& fields, std::string_view key, const MachineDescription& machine);
/// `["0xfe", ...]`, each with at least one CPU, inside of the machine.
[[nodiscard]] std::vector<CpuMask> read_masks(Fields& fields, std::string_view key, const MachineDescription& machine);
/// `"128GiB"`.
[[nodiscard]] std::optional<std::uint64_t> read_bytes(Fields& fields, std::string_view key);
/// Names and texts, with `by_rank` also arrays of texts, one for each local rank; `{rank}`, `{local_rank}`,
/// `{world_size}`, `{local_size}`, `{node}`, `{nodes}`, `{host}` are known.
[[nodiscard]] Environment read_environment(const Entry& entry, DocumentErrors& errors,
                                           std::map<std::string, std::vector<std::string>>* by_rank = nullptr);
/// `nofile`, `memlock`, `core`: a number or `unlimited`.
[[nodiscard]] std::map<std::string, std::string> read_limits(const Entry& entry, std::string parent,
                                                             DocumentErrors& errors);

}  // namespace muster
