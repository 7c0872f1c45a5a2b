/// The agent with hooks: MUSTER_TEST_HOOK=point:rank:action[:time] makes one rank go wrong outside of the cases, the
/// `time`th time it gets to the point (default: the first). MUSTER_TEST_ONCE names a file that is made when it
/// happens; where it exists, nothing happens any more: the launch that follows is a good one.
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "app/agent_main.hpp"

namespace {

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ':')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

int number_of(const std::string& word) {
  int number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size()) return number;
  std::fprintf(stderr, "MUSTER_TEST_HOOK: %s is not a number\n", word.c_str());
  std::_Exit(99);
}

bool is_first_time() {
  const char* marker = std::getenv("MUSTER_TEST_ONCE");
  return marker == nullptr || ::open(marker, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0;
}

void act(const std::string& action) {
  if (action == "stop") ::raise(SIGSTOP);
  if (action == "kill") ::raise(SIGKILL);
  if (action == "segv") ::raise(SIGSEGV);
  if (action == "exit") std::_Exit(3);
  if (action == "silent_exit") std::_Exit(0);
  while (action == "hang") ::pause();
  if (action == "stop") return;
  std::fprintf(stderr, "MUSTER_TEST_HOOK: unknown action %s\n", action.c_str());
  std::_Exit(99);
}

void at(std::string_view point, int rank) {
  static const char* const hook = std::getenv("MUSTER_TEST_HOOK");
  static std::atomic<int> visits{0};
  if (hook == nullptr) return;
  const auto words = split_words(hook);
  if (words.size() < 3 || words[0] != point || number_of(words[1]) != rank) return;
  const int wanted = words.size() > 3 ? number_of(words[3]) : 1;
  if (++visits == wanted && is_first_time()) act(words[2]);
}

}  // namespace

int main(int argc, char** argv) {
  muster::AgentHooks hooks;
  hooks.at = at;
  return muster::agent_main(argc, argv, hooks);
}
