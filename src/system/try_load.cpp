#include "system/try_load.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "system/harmless_child.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

void say(int out, std::string_view line) {
  const std::string whole = printable_line(line, 600) + "\n";
  (void)!::write(out, whole.data(), whole.size());
}

void load(const std::string& name, const LoadQuestion& question, int out, bool& is_loaded) {
  say(out, "try " + name);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return say(out, fmt::format("error {}", why == nullptr ? "unknown" : why));
  }
  is_loaded = true;
  link_map* map = nullptr;
  const bool is_reported = ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
  say(out, "path " + std::string(is_reported ? map->l_name : name.c_str()));
  for (const std::string& symbol : question.wanted)
    if (::dlsym(library, symbol.c_str()) != nullptr) say(out, "symbol " + symbol);
  if (!question.companion.empty() && ::dlopen(question.companion.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
    say(out, "companion yes");
}

[[noreturn]] void load_all(const LoadQuestion& question, int out, pid_t parent) {
  become_harmless(parent, out, question.kept);
  bool is_loaded = false;
  for (const std::string& name : question.names)
    if (!is_loaded) load(name, question, out, is_loaded);
  say(out, "end");
  ::_exit(0);
}

/// All its output until it ends or the deadline passes; true: it ended.
bool listen(int in, double deadline_s, std::string& message) {
  const double until = monotonic_seconds() + deadline_s;
  for (;;) {
    const double left = until - monotonic_seconds();
    if (left <= 0) return false;
    pollfd one{in, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    char chunk[4096];
    const auto count = ::read(in, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (message.size() < (1u << 20)) message.append(chunk, static_cast<std::size_t>(count));
  }
}

std::vector<TriedLibrary> understand(const std::string& message) {
  std::vector<TriedLibrary> tried;
  for (const std::string_view line : lines(message)) {
    const auto space = line.find(' ');
    if (space == line.npos) continue;
    const std::string_view key = line.substr(0, space);
    const std::string value(line.substr(space + 1));
    if (key == "try") {
      tried.emplace_back();
      tried.back().name = value;
    }
    if (tried.empty()) continue;
    if (key == "path") tried.back().path = value;
    if (key == "error") tried.back().error = value;
    if (key == "symbol") tried.back().symbols.push_back(value);
    if (key == "companion") tried.back().has_companion = true;
  }
  return tried;
}

std::vector<TriedLibrary> refused(const LoadQuestion& question, const std::string& why) {
  std::vector<TriedLibrary> tried;
  for (const std::string& name : question.names) tried.push_back({name, {}, why, {}, false});
  return tried;
}

/// A described machine has libraries by name alone.
std::vector<TriedLibrary> look_up(const LoadQuestion& question) {
  std::vector<TriedLibrary> tried;
  for (const std::string& name : question.names) {
    const fs::path file = fs::path("usr/lib64") / fs::path(name).filename();
    std::error_code ignored;
    if (!fs::exists(this_machine().root / file, ignored)) {
      tried.push_back({name, {}, name + ": cannot open shared object file: No such file or directory", {}, false});
      continue;
    }
    tried.push_back({name, "/" + file.string(), {}, question.wanted, true});
    break;
  }
  return tried;
}

}  // namespace

std::vector<TriedLibrary> try_load(const LoadQuestion& question) {
  if (!this_machine().simulated.empty()) return look_up(question);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return refused(question, "could not be tried: " + std::string(std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) load_all(question, ends[1], parent);
  const int error = errno;
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return refused(question, "could not be tried: " + std::string(std::strerror(error)));
  }
  if (question.on_start) question.on_start(child);
  std::string message;
  const bool has_ended = listen(ends[0], question.deadline_s, message);
  ::close(ends[0]);
  const int status = end_harmless(child);
  if (question.on_start) question.on_start(0);
  auto tried = understand(message);
  const bool is_reported = message.size() >= 4 && message.compare(message.size() - 4, 4, "end\n") == 0;
  if (is_reported) return tried;
  if (tried.empty()) tried.push_back({question.names.empty() ? std::string() : question.names[0], {}, {}, {}, false});
  TriedLibrary& last = tried.back();
  last.path.clear();
  if (!has_ended)
    last.error = fmt::format("not loaded within {:g} s", question.deadline_s);
  else if (status != -1 && WIFSIGNALED(status))
    last.error = fmt::format("loading it crashed (signal {})", WTERMSIG(status));
  else
    last.error = "loading it ended the process";
  return tried;
}

}  // namespace muster
