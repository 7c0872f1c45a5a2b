#include "app/binding/bind_picture.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "reporters/common/paragraph.hpp"

namespace muster {

namespace {

constexpr std::size_t signs_in_line = 32;
/// Below that a cache is too small for a line of its own.
constexpr std::size_t fewest_in_cache = 4;

using Row = std::vector<std::string>;

/// Cores that are drawn together.
struct Block {
  std::string domain;
  std::string cache;
  std::vector<int> cores;  ///< numbers, as hwloc counts them
  CpuMask cpus;
  std::vector<std::string> gpus;
  std::vector<std::string> nics;
};

std::vector<int> cores_in(const Layout& layout, const CpuMask& cpus) {
  std::vector<int> cores;
  for (std::size_t i = 0; i < layout.cores.size(); ++i)
    if (cpus.has(layout.cores[i].lowest())) cores.push_back(static_cast<int>(i));
  return cores;
}

bool has_wide_caches(const Layout& layout) {
  return !layout.caches.empty() && std::all_of(layout.caches.begin(), layout.caches.end(), [&](const CpuMask& cache) {
    return cores_in(layout, cache).size() >= fewest_in_cache;
  });
}

std::vector<Block> blocks_of(const Layout& layout) {
  std::vector<std::pair<std::string, CpuMask>> domains;
  CpuMask rest = layout.cpus();
  for (const auto& [number, cpus] : layout.domains) {
    domains.emplace_back(std::to_string(number), cpus);
    rest = rest - cpus;
  }
  if (!rest.empty()) domains.emplace_back("?", rest);
  std::vector<Block> blocks;
  for (const auto& [name, cpus] : domains) {
    CpuMask open = cpus;
    for (std::size_t i = 0; has_wide_caches(layout) && i < layout.caches.size(); ++i) {
      const CpuMask part = layout.caches[i] & cpus;
      if (part.empty()) continue;
      blocks.push_back({name, std::to_string(i), cores_in(layout, part), part, {}, {}});
      open = open - part;
    }
    if (!open.empty()) blocks.push_back({name, "", cores_in(layout, open), open, {}, {}});
  }
  return blocks;
}

/// The block that a device is nearest to: the first that it touches.
Block* block_near(std::vector<Block>& blocks, const CpuMask& near) {
  const auto found =
      std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return block.cpus.intersects(near); });
  return found == blocks.end() ? nullptr : &*found;
}

std::string nic_word(const NearDevice& nic) {
  return printable_line(nic.name.empty() ? nic.address : nic.name, 16);
}

/// What hangs nowhere that is known is returned as a block of its own.
void hang_devices(const NodeParts& node, std::vector<Block>& blocks) {
  Block elsewhere{"?", "", {}, {}, {}, {}};
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    Block* at = block_near(blocks, node.gpus[i].near);
    (at == nullptr ? elsewhere : *at)
        .gpus.push_back(fmt::format("{:>2}  {}", i, printable_line(node.gpus[i].address, 16)));
  }
  for (const NearDevice& nic : node.nics) {
    Block* at = block_near(blocks, nic.near);
    (at == nullptr ? elsewhere : *at).nics.push_back(nic_word(nic));
  }
  if (!elsewhere.gpus.empty() || !elsewhere.nics.empty()) blocks.push_back(std::move(elsewhere));
}

char sign_of(const NodeParts& node, const Placement& placement, const CpuMask& core) {
  constexpr std::string_view signs = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (std::size_t i = 0; i < placement.ranks.size(); ++i)
    if (placement.ranks[i].cpus.intersects(core)) return i < signs.size() ? signs[i] : '*';
  return core.intersects(node.usable()) ? '.' : '-';
}

/// `0-7`; of CPUs that are not numbered one after the other the first and the last.
std::string numbers_of(const Layout& layout, const std::vector<int>& cores) {
  CpuMask lowest;
  for (const int core : cores) lowest.add(layout.cores[static_cast<std::size_t>(core)].lowest());
  const std::string list = lowest.list();
  return list.size() <= 11 ? list : fmt::format("{}..{}", lowest.lowest(), lowest.highest());
}

std::vector<Row> rows_of(const NodeParts& node, const Placement& placement, const Block& block, bool names_domain) {
  const std::size_t lines = std::max(
      {std::size_t{1}, (block.cores.size() + signs_in_line - 1) / signs_in_line, block.gpus.size(), block.nics.size()});
  std::vector<Row> rows;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t from = std::min(block.cores.size(), line * signs_in_line);
    const std::size_t to = std::min(block.cores.size(), from + signs_in_line);
    std::string signs;
    for (std::size_t i = from; i < to; ++i)
      signs += sign_of(node, placement, node.layout.cores[static_cast<std::size_t>(block.cores[i])]);
    rows.push_back({line == 0 && names_domain ? block.domain : "", line == 0 ? block.cache : "",
                    numbers_of(node.layout, {block.cores.begin() + static_cast<std::ptrdiff_t>(from),
                                             block.cores.begin() + static_cast<std::ptrdiff_t>(to)}),
                    signs, line < block.gpus.size() ? block.gpus[line] : "",
                    line < block.nics.size() ? block.nics[line] : ""});
  }
  return rows;
}

/// Columns as wide as what stands in them; one without content is left out.
std::string table(const Row& head, const std::vector<Row>& rows, const std::set<std::size_t>& numbers, const Ink& ink) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < head.size(); ++i) {
    std::size_t widest = 0;
    for (const Row& row : rows) widest = std::max(widest, columns(row[i]));
    widths.push_back(widest == 0 ? 0 : std::max(widest, columns(head[i])));
  }
  const auto line = [&](const Row& row) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (widths[i] > 0) text += (numbers.count(i) != 0 ? pad_left(row[i], widths[i]) : pad(row[i], widths[i])) + "  ";
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  };
  std::string text = ink.faint(line(head)) + "\n";
  for (const Row& row : rows) text += line(row) + "\n";
  return text;
}

}  // namespace

std::string node_picture(const NodeParts& node, const Placement& placement, const Ink& ink) {
  std::vector<Block> blocks = blocks_of(node.layout);
  hang_devices(node, blocks);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (Row& row : rows_of(node, placement, blocks[i], i == 0 || blocks[i].domain != blocks[i - 1].domain))
      rows.push_back(std::move(row));
  return table({"NUMA", "cache", "CPUs", "ranks", "GPUs", "NICs"}, rows, {0, 1, 2}, ink);
}

std::string rank_table(const NodeParts& node, const Placement& placement, const Ink& ink) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
    const RankPlacement& seat = placement.ranks[i];
    std::vector<std::string> gpus;
    for (const int gpu : gpus_of(seat)) gpus.push_back(std::to_string(gpu));
    const std::string gpu = join(gpus, ",");
    const std::string nic = seat.nic < 0 ? std::string() : nic_word(node.nics[static_cast<std::size_t>(seat.nic)]);
    rows.push_back({std::to_string(i), cut(seat.cpus.list(), 30),
                    std::to_string(core_numbers(node.layout, seat.cpus).count()), gpu, nic,
                    cut(omp_places(node.layout, seat.cpus), 28)});
  }
  return table({"rank", "CPUs", "cores", "GPU", "NIC", "OMP_PLACES"}, rows, {0, 2, 3}, ink);
}

}  // namespace muster
