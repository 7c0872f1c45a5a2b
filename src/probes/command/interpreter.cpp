#include "probes/command/interpreter.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"

namespace muster::program {

namespace {

std::string stated_of(const Interpreter& interpreter) {
  return fmt::format("{}\n{}\n{}", interpreter.path, interpreter.version, interpreter.lack);
}

Interpreter read_stated(const ByteVector& bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto lines = split(text, '\n');
  return lines.size() < 3 ? Interpreter{} : Interpreter{lines[0], lines[1], lines[2]};
}

}  // namespace

Result<std::vector<Interpreter>> find_interpreters(RunContext& context) {
  context.recorder.step("interpreter");
  const RankPlace& place = context.place;
  std::string mine;
  if (place.local_rank == 0)
    mine = fmt::format("{}\n{}", place.node_index,
                       stated_of(find_interpreter(context.params.text("python"), context.params.texts("imports"))));
  else
    mine = fmt::format("{}\n", place.node_index);
  const auto* bytes = reinterpret_cast<const std::byte*>(mine.data());
  const auto all = context.comm.all_gather(std::span(bytes, mine.size()));
  if (!all) return tl::unexpected(all.error());
  std::map<std::string, Interpreter> of_nodes;
  std::vector<std::string> node_of;
  for (const ByteVector& one : *all) {
    const std::string text(reinterpret_cast<const char*>(one.data()), one.size());
    const std::size_t end = std::min(text.find('\n'), text.size());
    node_of.push_back(text.substr(0, end));
    if (end + 1 < one.size())
      of_nodes[node_of.back()] = read_stated({one.begin() + static_cast<std::ptrdiff_t>(end) + 1, one.end()});
  }
  std::vector<Interpreter> found;
  for (const std::string& node : node_of) found.push_back(of_nodes[node]);
  return found;
}

}  // namespace muster::program
