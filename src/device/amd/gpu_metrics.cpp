#include "device/amd/gpu_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "base/text.hpp"

namespace muster {

namespace {

/// Where the fields of a revision are; 0: it has none.
struct Layout {
  int revision;
  std::size_t size;
  std::size_t throttle;   ///< independent of the chip, 8 bytes
  std::size_t residency;  ///< prochot, ppt, socket, vr, hbm: 4 bytes each
  std::size_t width;      ///< of PCIe; its speed follows, in tenths of GT/s
  std::size_t replays;    ///< of PCIe, 8 bytes
  std::size_t clock;      ///< of the first engine
  std::size_t memory_clock;
  std::size_t xgmi;  ///< of eight links whether they are active, 2 bytes each
};
constexpr std::array layouts = {
    Layout{3, 120, 112, 0, 74, 0, 54, 58, 0},       Layout{4, 288, 0, 0, 48, 88, 240, 280, 0},
    Layout{5, 328, 0, 0, 80, 120, 280, 320, 0},     Layout{6, 1664, 0, 36, 60, 104, 264, 304, 0},
    Layout{7, 2208, 0, 44, 68, 112, 296, 336, 264}, Layout{8, 3360, 0, 44, 68, 112, 296, 336, 264},
};
constexpr std::size_t xgmi_links = 8;

template <class Number>
std::optional<Number> number_in(std::string_view bytes, std::size_t at) {
  Number number = 0;
  if (at == 0 || at + sizeof(number) > bytes.size()) return std::nullopt;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  if (number == static_cast<Number>(~Number{0})) return std::nullopt;
  return number;
}

/// Four kinds of 16 bits each.
std::string causes_of(std::uint64_t bits) {
  constexpr std::array names = {"power_cap", "current", "heat", "other"};
  std::vector<std::string> causes;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((bits >> 16 * i & 0xffff) != 0) causes.emplace_back(names[i]);
  return causes.empty() ? "nothing" : join(causes, ", ");
}

/// `0, 1, 4`. The driver writes 1 for a link in state LS0, 0 for one in any other state, as where it sleeps, and fills
/// nothing in for one that is disabled (amdgpu_get_xgmi_link_status).
std::string links_that_are(bool is_active, std::string_view bytes, std::size_t at) {
  std::vector<std::string> links;
  for (std::size_t link = 0; at != 0 && link < xgmi_links; ++link)
    if (const auto state = number_in<std::uint16_t>(bytes, at + 2 * link); state && (*state == 1) == is_active)
      links.push_back(std::to_string(link));
  return join(links, ", ");
}

}  // namespace

std::map<std::string, std::string> parse_gpu_metrics(std::string_view bytes) {
  std::map<std::string, std::string> values;
  std::uint16_t size = 0;
  if (bytes.size() < 4) return values;
  std::memcpy(&size, bytes.data(), sizeof(size));
  const int format = static_cast<unsigned char>(bytes[2]);
  const int revision = static_cast<unsigned char>(bytes[3]);
  if (size < 4 || format == 0 || format > 9) return values;
  values["gpu_metrics"] = fmt::format("{}.{}", format, revision);
  const auto layout = std::find_if(layouts.begin(), layouts.end(),
                                   [&](const Layout& one) { return format == 1 && one.revision == revision; });
  if (layout == layouts.end() || size != layout->size || bytes.size() < layout->size) return values;
  if (const auto bits = number_in<std::uint64_t>(bytes, layout->throttle)) values["throttled_by"] = causes_of(*bits);
  if (layout->residency != 0) {
    const auto at = [&](std::size_t which) {
      return std::uint64_t{number_in<std::uint32_t>(bytes, layout->residency + 4 * which).value_or(0)};
    };
    values["throttle_prochot"] = std::to_string(at(0));
    values["throttle_heat"] = std::to_string(at(2) + at(3) + at(4));
  }
  if (const auto width = number_in<std::uint16_t>(bytes, layout->width))
    values["pcie_width_now"] = std::to_string(*width);
  if (const auto speed = number_in<std::uint16_t>(bytes, layout->width + 2))
    values["pcie_speed_now"] = fmt::format("{:g}", *speed / 10.0);
  if (const auto replays = number_in<std::uint64_t>(bytes, layout->replays))
    values["pcie_replays"] = std::to_string(*replays);
  for (const bool is_active : {true, false})
    if (const std::string links = links_that_are(is_active, bytes, layout->xgmi); !links.empty())
      values[is_active ? "xgmi_links_up" : "xgmi_links_inactive"] = links;
  if (const auto clock = number_in<std::uint16_t>(bytes, layout->clock)) values["clock_gfx"] = std::to_string(*clock);
  if (const auto clock = number_in<std::uint16_t>(bytes, layout->memory_clock))
    values["clock_memory"] = std::to_string(*clock);
  return values;
}

}  // namespace muster
