#include "system/python.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "system/child.hpp"

namespace muster {

namespace {

/// A busy parallel file system is slow, even for a lookup.
constexpr double interpreter_patience_s = 60;
constexpr std::size_t most_stated = 64u << 10;

/// Without the current folder, before anything is imported: it could have a module of that name, of another user in
/// /tmp. A folder without code (no loader) is not a module.
constexpr const char* module_question =
    "import sys\n"
    "sys.path = [place for place in sys.path if place]\n"
    "import importlib.util, platform\n"
    "print('muster: this is Python', platform.python_version())\n"
    "for name in sys.argv[1:]:\n"
    "    found = importlib.util.find_spec(name)\n"
    "    if found is None or found.loader is None or found.origin is None:\n"
    "        import difflib, pkgutil\n"
    "        for near in difflib.get_close_matches(name, {one.name for one in pkgutil.iter_modules()}, 1, 0.75):\n"
    "            print('muster: this has', near)\n"
    "        sys.exit(3)\n";

constexpr std::string_view greeting = "muster: this is Python ";
constexpr std::string_view near_greeting = "muster: this has ";

struct Answer {
  std::string version;  ///< empty: it is not a Python
  std::string near;     ///< a module that it has, named like one that it lacks
  bool has_modules = false;
};

/// The rest of the line that begins with `start`.
std::string stated_after(std::string_view message, std::string_view start) {
  const std::size_t at = message.find(start);
  if (at == message.npos) return "";
  const std::string_view rest = message.substr(at + start.size());
  return printable_line(rest.substr(0, rest.find('\n')), 40);
}

std::string near_text(const std::string& near) {
  return near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
}

Answer ask(const std::string& python, const std::vector<std::string>& modules) {
  ChildOptions options;
  options.argv = {python, "-c", module_question};
  options.argv.insert(options.argv.end(), modules.begin(), modules.end());
  options.without = {"MUSTER_KEY", "MUSTER_WIRE"};
  options.deadline_s = interpreter_patience_s;
  std::string message;
  options.on_output = [&](std::string_view chunk) {
    if (message.size() < most_stated) message += chunk;
  };
  const auto end = run_child(options);
  Answer answer;
  if (!end) return answer;
  answer.version = stated_after(message, greeting);
  answer.near = stated_after(message, near_greeting);
  answer.has_modules = !end->timed_out && end->signal == 0 && end->status == 0;
  return answer;
}

std::vector<std::string> pythons_on_path() {
  std::vector<std::string> found;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / "python3";
    std::error_code ignored;
    if (::access(program.c_str(), X_OK) != 0 || fs::is_directory(program, ignored)) continue;
    if (!is_in(program.string(), found)) found.push_back(program.string());
  }
  return found;
}

Interpreter look_at(const std::string& named, const std::vector<std::string>& modules) {
  const std::string path = find_program(named).string();
  std::error_code ignored;
  if (path.empty() && fs::exists(named, ignored))
    return {"", "", fmt::format("{} is not a program that we may run", printable_line(named))};
  if (path.empty()) return {"", "", fmt::format("there is no {}", printable_line(named))};
  Answer answer = ask(path, modules);
  if (answer.version.empty()) return {"", "", fmt::format("{} is not a Python 3 that runs", printable_line(path))};
  if (answer.has_modules) return {path, std::move(answer.version), ""};
  return {"", "", fmt::format("{} has no {}{}", printable_line(path), human_list(modules), near_text(answer.near))};
}

}  // namespace

Interpreter find_interpreter(const std::string& named, const std::vector<std::string>& modules) {
  if (!named.empty()) return look_at(named, modules);
  const std::vector<std::string> all = pythons_on_path();
  std::string near;
  for (const std::string& path : all) {
    Answer answer = ask(path, modules);
    if (!answer.version.empty() && answer.has_modules) return {path, std::move(answer.version), ""};
    if (near.empty()) near = std::move(answer.near);
  }
  if (all.empty()) return {"", "", "no python3 on PATH"};
  return {"", "",
          fmt::format("no python3 on PATH {}: {}{}", modules.empty() ? "runs" : "has " + human_list(modules),
                      printable_line(human_list(all)), near_text(near))};
}

}  // namespace muster
