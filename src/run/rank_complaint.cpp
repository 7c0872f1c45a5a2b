#include "run/rank_complaint.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace muster {

namespace {

/// In lower case.
constexpr std::string_view explaining[] = {
    "error",   "fatal",  "fail",    "cannot",        "can't",     "could not", "unsupported",      "no space",
    "no such", "denied", "refused", "out of memory", "bad_alloc", "assertion", "terminate called", "unable to"};

/// Begin or make up lines of launchers: notices, traces of Hydra, and what follows a peer's end.
constexpr std::string_view of_launchers[] = {"[mpiexec@",
                                             "[proxy:",
                                             "[bstrap:",
                                             "plm:rsh: ",
                                             "prterun ",
                                             "mpirun ",
                                             "srun: ",
                                             "flux-job: ",
                                             "flux-run: ",
                                             "PMIX ERROR",
                                             "Socket closed",
                                             "MPI_ERRORS_ARE_FATAL",
                                             "*** Unknown error",
                                             "BAD TERMINATION",
                                             "YOUR APPLICATION TERMINATED",
                                             "_ERROR_LOG: ",
                                             "have sent help",
                                             "has sent help",
                                             "help / error messages",
                                             "--> Returned ",
                                             "Local abort before MPI_INIT"};

bool is_reporting(std::string_view line) {
  std::string lower(line);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(std::begin(explaining), std::end(explaining),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

bool is_of_launcher(std::string_view line) {
  return std::any_of(std::begin(of_launchers), std::end(of_launchers),
                     [&](std::string_view mark) { return line.find(mark) != line.npos; });
}

/// As glibc, UCX and Open MPI print it: `0  /lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f2a]`.
bool is_stack_frame(std::string_view line) {
  return line.find("+0x") != line.npos && line.find("[0x") != line.npos;
}

}  // namespace

bool is_rule(std::string_view line) {
  const std::string_view words = trim(line);
  return words.size() > 20 && words.find_first_not_of('-') == words.npos;
}

std::string_view entry(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines(text)) {
    const auto at = line.find(name);
    if (at != line.npos) return trim(line.substr(at + name.size()));
  }
  return {};
}

std::string rank_complaint(std::string_view standard_error) {
  std::string last;
  bool is_in_notice = false;  // Open MPI puts its notices between two rules
  for (const std::string_view line : lines(standard_error)) {
    const std::string_view words = trim(line);
    if (is_rule(line))
      is_in_notice = !is_in_notice;
    else if (!is_in_notice && is_reporting(words) && !is_of_launcher(words) && !is_stack_frame(words))
      last = printable_line(words, 200);
  }
  return last;
}

std::string launcher_complaint(std::string_view standard_error) {
  std::string warning;
  for (const std::string_view line : lines(standard_error)) {
    const std::string_view words = trim(line);
    if (words.size() <= 3 || words.find_first_not_of("-=*") == words.npos) continue;
    if (words.find("arning: ") == words.npos) return printable_line(words, 160);
    // On a busy machine the remote shell had begun before Open MPI could move it: nothing follows from that.
    if (warning.empty() && words.find("setpgid(") == words.npos) warning = printable_line(words, 160);
  }
  return warning;
}

}  // namespace muster
