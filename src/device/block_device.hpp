/// Block devices by their names: drives of the node, and what any user may have put a file below.
#pragma once

#include <string_view>

#include "base/files.hpp"

namespace muster {

/// A user's file may be below it (a container's image, a disk that udisks attaches), it is memory, or a drive that may
/// be empty. Of partitions, too.
[[nodiscard]] bool is_no_drive(std::string_view device);

/// It is made of other devices, or of a network: `dm-7` (LVM), `md127p1` (RAID), `bcache0`. udev puts the last two
/// together from a user's image, too.
[[nodiscard]] bool is_mapped(std::string_view device);

/// What is below a mapped device or a partition of one, as the kernel shows it now in `blocks` (/sys/block): drives and
/// their partitions, and no image. Of a device that is gone, nothing is known: false.
[[nodiscard]] bool is_on_drives(const fs::path& blocks, std::string_view device);

}  // namespace muster
