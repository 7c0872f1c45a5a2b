/// `driver` of a machine description: lines that the stand-ins of vendors' libraries follow (docs/machines.md).
#pragma once

#include <string>
#include <vector>

#include "config/fields.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// The lines of key `driver`. What no stand-in would understand is a complaint at its place: a stand-in leaves out such
/// a line, and the machine would be as healthy as without it. The devices of `gpus` are known.
[[nodiscard]] std::vector<std::string> read_driver_lines(Fields& fields, const DescribedGpus& gpus);

}  // namespace muster
