#include "run/agent_world.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unistd.h>
#include <utility>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "run/agent.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

ByteVector to_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Key and value of each fact, each ended by a zero byte, which no text of ours contains.
ByteVector encode_facts(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    for (const std::string* part : {&fact.key, &fact.value}) {
      text += *part;
      text += '\0';
    }
  }
  return to_bytes(text);
}

std::vector<Fact> decode_facts(std::span<const std::byte> bytes) {
  const std::vector<std::string> parts = split(as_text(bytes), '\0');
  std::vector<Fact> facts;
  for (std::size_t at = 0; at + 1 < parts.size(); at += 2) facts.push_back({parts[at], parts[at + 1]});
  return facts;
}

/// Of several machines: a launcher counts the ranks of each node by itself.
std::set<std::string_view> names_of_several(const std::vector<Introduction>& ranks) {
  std::map<std::pair<std::string_view, int>, std::string_view> kernel_of;
  std::set<std::string_view> names;
  for (const Introduction& rank : ranks) {
    if (rank.local_rank < 0 || rank.boot_id.empty()) continue;
    const auto [known, is_new] = kernel_of.try_emplace({rank.host, rank.local_rank}, rank.boot_id);
    if (!is_new && known->second != rank.boot_id) names.insert(rank.host);
  }
  return names;
}

/// The ranks that run under one kernel.
struct Machine {
  CpuMask cores;
  int ranks = 0;
  std::vector<std::string> hosts;
};

std::string doubt_about(const Machine& machine) {
  const int cores = machine.cores.count();
  // No rank reported its cores: nothing is known, so nothing is doubted.
  if (cores == 0 || machine.ranks <= cores) return {};
  const std::string core_text = fmt::format("{} {}", cores, cores == 1 ? "core" : "cores");
  if (machine.hosts.size() == 1)
    return fmt::format("{} ranks share {} on {}", machine.ranks, core_text, machine.hosts[0]);
  return fmt::format("{} ranks on {} share {} of one machine", machine.ranks, human_list(machine.hosts), core_text);
}

/// A rank that can't be where it should be must not be taken for one that is: then none goes on.
Result<void> take_machine(Comm& comm, const RankPlace& place) {
  const fs::path folder = machine_folder(place.host);
  const Result<void> taken = folder.empty() ? Result<void>() : simulate(folder, place);
  const auto reported = comm.all_gather(to_bytes(taken ? std::string() : to_string(taken.error())));
  if (!reported) return tl::unexpected(reported.error());
  for (std::size_t rank = 0; rank < reported->size(); ++rank)
    if (const std::string why(as_text((*reported)[rank])); !why.empty())
      return fail(ErrorKind::usage, fmt::format("rank {}", rank), printable_line(why, 800));
  return {};
}

}  // namespace

Introduction introduce_myself() {
  Introduction mine;
  mine.pid = ::getpid();
  mine.host = host_name();
  mine.local_rank = launched_by().local_rank;
  if (auto boot = read_file("/proc/sys/kernel/random/boot_id")) mine.boot_id = std::string(trim(*boot));
  if (auto mask = CpuMask::of_this_thread()) mine.cores = cores_of(*mask);
  if (const fs::path folder = machine_folder(mine.host); !folder.empty())
    mine.simulated = simulated_name(folder).value_or("unknown");
  return mine;
}

ByteVector encode(const Introduction& introduction) {
  return to_bytes(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", introduction.pid, introduction.host, introduction.boot_id,
                              introduction.cores.list(), introduction.simulated, introduction.local_rank));
}

Result<Introduction> decode_introduction(std::span<const std::byte> bytes) {
  const std::vector<std::string> parts = split(as_text(bytes), '\n');
  if (parts.size() != 6) return fail(ErrorKind::protocol, "introduction", "has not six lines");
  Introduction introduction;
  if (!read_number(parts[0], introduction.pid) || introduction.pid <= 0)
    return fail(ErrorKind::protocol, "introduction", "has no process id");
  if (!read_number(parts[5], introduction.local_rank))
    return fail(ErrorKind::protocol, "introduction", "has no local rank");
  auto cores = CpuMask::parse_list(parts[3]);
  if (!cores) return tl::unexpected(cores.error());
  introduction.host = parts[1];
  introduction.boot_id = parts[2];
  introduction.cores = std::move(*cores);
  introduction.simulated = parts[4];
  return introduction;
}

std::vector<RankPlace> place_ranks(const std::vector<Introduction>& ranks) {
  std::map<std::pair<std::string_view, std::string_view>, int> node_of;
  const auto shared = names_of_several(ranks);
  std::vector<int> local_sizes;
  std::vector<RankPlace> places;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string_view host = ranks[rank].host;
    const std::string_view kernel = shared.count(host) > 0 ? std::string_view(ranks[rank].boot_id) : "";
    const auto [node, is_new] = node_of.try_emplace({host, kernel}, static_cast<int>(local_sizes.size()));
    if (is_new) local_sizes.push_back(0);
    RankPlace place;
    place.rank = static_cast<int>(rank);
    place.world_size = static_cast<int>(ranks.size());
    place.node_index = node->second;
    place.local_rank = local_sizes[static_cast<std::size_t>(node->second)]++;
    place.host = ranks[rank].host;
    places.push_back(std::move(place));
  }
  for (RankPlace& place : places) {
    place.local_size = local_sizes[static_cast<std::size_t>(place.node_index)];
    place.node_count = static_cast<int>(local_sizes.size());
  }
  return places;
}

namespace {

/// Ranks with the same one share cores.
std::string_view machine_of(const Introduction& rank) {
  return rank.boot_id.empty() ? std::string_view(rank.host) : std::string_view(rank.boot_id);
}

}  // namespace

std::vector<std::string> find_node_doubts(const std::vector<Introduction>& ranks) {
  std::map<std::string_view, std::vector<Introduction>> machines;
  for (const Introduction& rank : ranks) machines[machine_of(rank)].push_back(rank);
  std::map<std::string_view, std::string> doubt_of;
  for (const auto& [machine, there] : machines) doubt_of[machine] = find_timing_doubt(there);
  std::vector<std::string> doubts;
  bool is_any = false;
  for (const RankPlace& place : place_ranks(ranks)) {
    if (static_cast<std::size_t>(place.node_index) < doubts.size()) continue;
    doubts.push_back(doubt_of[machine_of(ranks[static_cast<std::size_t>(place.rank)])]);
    is_any = is_any || !doubts.back().empty();
  }
  return is_any ? doubts : std::vector<std::string>{};
}

std::string find_timing_doubt(const std::vector<Introduction>& ranks) {
  std::vector<std::string> simulated;
  for (const Introduction& rank : ranks)
    if (!rank.simulated.empty() && !is_in(rank.simulated, simulated)) simulated.push_back(rank.simulated);
  if (!simulated.empty())
    return fmt::format("simulated machine{} {}", simulated.size() == 1 ? "" : "s", human_list(simulated, 3));
  std::map<std::string_view, Machine> machines;
  for (const Introduction& rank : ranks) {
    Machine& machine = machines[machine_of(rank)];
    machine.cores = machine.cores | rank.cores;
    machine.ranks += 1;
    if (!is_in(rank.host, machine.hosts)) machine.hosts.push_back(rank.host);
  }
  std::vector<std::string> doubts;
  for (const auto& entry : machines) {
    std::string doubt = doubt_about(entry.second);
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  }
  std::sort(doubts.begin(), doubts.end());
  if (doubts.size() <= 1) return doubts.empty() ? std::string() : doubts.front();
  return fmt::format("{}; the same on {} more", doubts.front(), doubts.size() - 1);
}

Result<Introduced> introduce(Comm& comm, FlightRecorder& recorder, const Introduction& mine) {
  auto gathered = comm.all_gather(encode(mine));
  if (!gathered) return tl::unexpected(gathered.error());
  // MPI opens most of its shared memory with the first message, not in MPI_Init.
  recorder.note_shared_memory();
  std::vector<Introduction> ranks;
  for (const ByteVector& bytes : *gathered) {
    auto rank = decode_introduction(bytes);
    if (!rank) return tl::unexpected(rank.error());
    ranks.push_back(std::move(*rank));
  }

  Introduced introduced;
  std::vector<RankPlace> places = place_ranks(ranks);
  introduced.world.timing_doubt = find_timing_doubt(ranks);
  introduced.world.node_doubts = find_node_doubts(ranks);
  introduced.place = places[static_cast<std::size_t>(comm.rank())];
  for (const RankPlace& place : places)
    if (place.node_index == introduced.place.node_index) introduced.on_node.push_back(place.rank);
  for (const Introduction& rank : ranks) {
    auto& node = rank.simulated.empty() ? introduced.real_on : introduced.simulated_on;
    if (node.empty()) node = rank.host;
  }
  if (!introduced.simulated_on.empty())
    if (auto there = take_machine(comm, introduced.place); !there) return tl::unexpected(there.error());
  const bool speaks_for_node = introduced.place.local_rank == 0;
  auto facts = comm.gather(speaks_for_node ? encode_facts(node_provenance().facts) : ByteVector{}, 0);
  if (!facts) return tl::unexpected(facts.error());
  if (comm.rank() != 0) return introduced;

  World& world = introduced.world;
  world.library = comm.library();
  for (const Introduction& rank : ranks) world.pids.push_back(rank.pid);
  for (const RankPlace& place : places) {
    if (place.local_rank != 0) continue;
    world.nodes.push_back({place.host, decode_facts((*facts)[static_cast<std::size_t>(place.rank)])});
    world.nodes.back().facts.push_back({"mpi", world.library});
  }
  world.ranks = std::move(places);
  return introduced;
}

}  // namespace muster
