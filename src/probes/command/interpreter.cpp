#include "probes/command/interpreter.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "system/child.hpp"

namespace muster::program {

namespace {

/// A busy parallel file system takes its time, even to say what is there.
constexpr double patience_s = 60;

/// Without the current folder, whose name could be that of a module; a folder without code (no loader) is no module.
constexpr const char* question =
    "import importlib.util, sys\n"
    "sys.path = [place for place in sys.path if place]\n"
    "for name in sys.argv[1:]:\n"
    "    found = importlib.util.find_spec(name)\n"
    "    if found is None or found.loader is None or found.origin is None: sys.exit(3)\n";

bool has_modules(const std::string& python, const std::vector<std::string>& modules) {
  ChildOptions options;
  options.argv = {python, "-c", question};
  options.argv.insert(options.argv.end(), modules.begin(), modules.end());
  options.without = {"MUSTER_TOKEN", "MUSTER_WIRE"};
  options.deadline_s = patience_s;
  const auto end = run_child(options);
  return end && !end->timed_out && end->signal == 0 && end->status == 0;
}

std::vector<std::string> pythons_on_path() {
  std::vector<std::string> found;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / "python3";
    std::error_code ignored;
    if (::access(program.c_str(), X_OK) != 0 || fs::is_directory(program, ignored)) continue;
    if (std::find(found.begin(), found.end(), program.string()) == found.end()) found.push_back(program.string());
  }
  return found;
}

std::string said_of(const Interpreter& interpreter) {
  return interpreter.path + "\n" + interpreter.lack;
}

Interpreter read_said(const ByteVector& bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t end = text.find('\n');
  return end == text.npos ? Interpreter{} : Interpreter{text.substr(0, end), text.substr(end + 1)};
}

}  // namespace

Interpreter find_interpreter(const std::string& named, const std::vector<std::string>& modules) {
  const std::string wanted = human_list(modules);
  if (!named.empty()) {
    const std::string path = find_program(named).string();
    if (path.empty()) return {"", fmt::format("there is no {}", printable_line(named))};
    if (modules.empty() || has_modules(path, modules)) return {path, ""};
    return {"", fmt::format("{} has no {}", printable_line(path), wanted)};
  }
  const std::vector<std::string> all = pythons_on_path();
  for (const std::string& path : all)
    if (modules.empty() || has_modules(path, modules)) return {path, ""};
  if (all.empty()) return {"", "there is no python3 on PATH"};
  return {"", fmt::format("no python3 on PATH has {}: {}", wanted, printable_line(human_list(all)))};
}

Result<std::vector<Interpreter>> find_interpreters(RunContext& context) {
  context.recorder.step("interpreter");
  const RankPlace& place = context.place;
  std::string mine;
  if (place.local_rank == 0)
    mine = fmt::format("{}\n{}", place.node_index,
                       said_of(find_interpreter(context.params.text("python"), context.params.texts("imports"))));
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
      of_nodes[node_of.back()] = read_said({one.begin() + static_cast<std::ptrdiff_t>(end) + 1, one.end()});
  }
  std::vector<Interpreter> found;
  for (const std::string& node : node_of) found.push_back(of_nodes[node]);
  return found;
}

}  // namespace muster::program
