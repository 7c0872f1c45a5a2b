#include "probes/network_plugin/plugin.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster::network_plugin {

namespace {

/// Without the mark that separates fields.
std::string field(std::string_view text) {
  std::string line = printable_line(text, 500);
  std::replace(line.begin(), line.end(), '|', '/');
  return line;
}

}  // namespace

std::vector<std::string> file_names(std::string_view chosen) {
  if (chosen == "none") return {};
  if (chosen.empty()) return {"libnccl-net.so", "librccl-net.so", "libnccl-net-ofi.so", "librccl-net-ofi.so"};
  const std::string name(chosen.substr(0, chosen.find(',')));
  if (name.find('/') != name.npos || name.find(".so") != name.npos) return {name};
  return {fmt::format("libnccl-net-{}.so", name), fmt::format("librccl-net-{}.so", name), name};
}

std::vector<std::string> entry_points() {
  std::vector<std::string> symbols;
  for (int version = 3; version <= 12; ++version) symbols.push_back(fmt::format("ncclNetPlugin_v{}", version));
  return symbols;
}

bool is_plugin(const TriedLibrary& library) {
  return library.error.empty() && !library.path.empty() && !library.symbols.empty();
}

std::string to_text(const TriedLibrary& library) {
  return fmt::format("{}|{}|{}|{}|{}", field(library.name), field(library.path), field(library.error),
                     library.symbols.size(), library.has_companion ? "yes" : "no");
}

std::optional<TriedLibrary> parse_library(std::string_view text) {
  const auto parts = split(text, '|');
  constexpr std::size_t most_symbols = 1000;
  if (parts.size() != 5) return std::nullopt;
  const auto symbols = parse_number_from<std::size_t>(parts[3], 0, most_symbols);
  if (!symbols) return std::nullopt;
  TriedLibrary library{parts[0], parts[1], parts[2], {}, parts[4] == "yes"};
  library.symbols.resize(*symbols);
  return library;
}

}  // namespace muster::network_plugin
