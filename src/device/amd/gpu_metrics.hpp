/// The table that amdgpu shows of a GPU as `gpu_metrics`: binary, and laid out anew with each revision.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster {

/// What is understood of revisions 1.3 to 1.8: `gpu_metrics` (the revision), `clock_gfx`, `clock_memory` (MHz),
/// `throttled_by` (1.3: `power_cap`, `current`, `heat`, `other`, or `nothing`), `throttle_heat` and `throttle_prochot`
/// (1.6 on: how long so far, in the firmware's own unit), `pcie_width_now`, `pcie_speed_now` (GT/s), `pcie_replays`,
/// `xgmi_links_up`, `xgmi_links_inactive` (1.7 on: numbers of the links that are active, and of those that are in
/// another state, as asleep; a link in neither is disabled, or is not there). Other revisions give only their number;
/// data that is not such a table gives nothing. Fields of ones were not filled. Layouts: Linux,
/// drivers/gpu/drm/amd/include/kgd_pp_interface.h; bits of 1.3: amdgpu_smu.h.
[[nodiscard]] std::map<std::string, std::string> parse_gpu_metrics(std::string_view bytes);

}  // namespace muster
