#include "run/lost_node.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// `libhwloc.so.15` in `error while loading shared libraries: /lib/libhwloc.so.15: file too short`
std::string library_in(std::string_view loader) {
  const std::string path = printable_line(trim(loader.substr(0, loader.find(": "))), 120);
  return path.substr(path.rfind('/') + 1);
}

/// `/opt/muster/bin/muster: not found`, and not a folder or an account of that name.
bool names_program(std::string_view text, const std::string& name) {
  const std::string word = "/" + name;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if (const auto end = at + word.size(); end == text.size() || std::string_view(":'\" ").find(text[end]) != text.npos)
      return true;
  return false;
}

}  // namespace

LostNode explain_no_answer(const std::string& node, std::string_view error, const fs::path& self) {
  constexpr std::string_view loading = "error while loading shared libraries: ";
  const std::string path = printable_line(self.string(), 200);
  LostNode lost{node, "does not answer: " + printable_line(error, 300),
                "check the node's network and power; it is left out of this run"};
  if (const auto at = error.find(loading); at != error.npos) {
    const auto loader = error.substr(at + loading.size());
    lost.is_named = true;
    lost.why = fmt::format("muster can't start on {}: {}{}", node, loading, printable_line(trim(loader), 200));
    lost.remedy = fmt::format("install {} on {} as on the other nodes, or correct LD_LIBRARY_PATH of its remote shell",
                              library_in(loader), node);
    return lost;
  }
  // ssh and shells differ in words: `Could not chdir to home directory /home/u: No such file or directory`, `sh: 1: cd:
  // can't cd to /home/u`.
  const bool has_no_home = has_any(error, {"chdir to home directory", "can't cd to", ": cd: "});
  const bool is_login = has_any(error, {"Permission denied ("});  // of ssh: the account may have muster's name
  const bool is_about_self = !is_login && names_program(error, self.filename().string());
  const bool is_missing = has_any(error, {"not found", "No such file or directory", "cannot find"});
  if (is_missing && has_no_home) {
    lost.is_named = true;
    lost.why = fmt::format("the home folder is not mounted on {}: {}", node, printable_line(error, 300));
    lost.remedy = fmt::format("mount the file system of home folders on {}, and that of {}", node, path);
  } else if (is_missing && is_about_self) {
    lost.is_named = true;
    lost.why = fmt::format("muster is not installed on {}: there is no {}", node, path);
    lost.remedy = fmt::format("install muster there, at the same path, or mount the file system of {} on {}",
                              printable_line(self.parent_path().string(), 200), node);
  } else if (is_about_self && has_any(error, {"Permission denied", "Exec format error", "cannot execute"})) {
    lost.is_named = true;
    lost.why = fmt::format("muster can't start on {}: {}", node, printable_line(error, 300));
    lost.remedy = fmt::format(
        "see on {} whether {} may be executed: its rights, its architecture, the option noexec of its mount", node,
        path);
  }
  return lost;
}

Finding explain_lost(const std::vector<LostNode>& lost) {
  Finding finding;
  finding.subject = Subject::node;
  std::vector<std::string> reasons;
  std::vector<std::string> remedies;
  for (const LostNode& node : lost) {
    reasons.push_back(node.reason());
    remedies.push_back(node.remedy);
    finding.culprits.push_back(node_culprit(node.node));
  }
  finding.reason = join(reasons, "; ");
  finding.remedy = join(remedies, "; ");
  return finding;
}

LostNode of_another_version(const std::string& node, std::string_view theirs, const fs::path& self) {
  const std::string version =
      theirs.empty() ? "another version of muster" : fmt::format("muster {}", printable_line(theirs, 40));
  return {node, fmt::format("{} is installed on {}, this is muster {}", version, node, MUSTER_VERSION),
          fmt::format("install the same version on all nodes: {}", printable_line(self.string(), 200)), true};
}

}  // namespace muster
