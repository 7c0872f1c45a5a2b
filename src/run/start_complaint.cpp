#include "run/start_complaint.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/other_mpi.hpp"
#include "run/rank_complaint.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr std::string_view mark = "muster-rank on ";
/// Before the command, in the words of system/own_limits.hpp.
constexpr std::string_view raise_limit = "raise the limit: ";

/// Names of one host, with or without its domain.
bool is_same_host(std::string_view one, std::string_view other) {
  return one.substr(0, one.find('.')) == other.substr(0, other.find('.'));
}

/// The name by which `host` was asked for; empty: it was not.
std::string asked_name(std::string_view host, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return is_same_host(host, host_name()) ? host_name() : "";
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const std::string& node) { return is_same_host(host, node); });
  return found == nodes.end() ? "" : *found;
}

/// Open MPI's own words where a variable or an option names a part that it does not have.
std::optional<Finding> missing_component(std::string_view standard_error) {
  const auto at = standard_error.find("A requested component was not found");
  if (at == standard_error.npos) return std::nullopt;
  const auto message = standard_error.substr(at, 2000);
  const std::string framework = printable_line(entry(message, "Framework:"), 40);
  const std::string component = printable_line(entry(message, "Component:"), 80);
  const std::string host = printable_line(entry(message, "Host:"), 80);
  if (framework.empty() || component.empty()) return std::nullopt;
  return Finding{Verdict::error,
                 fmt::format("Open MPI has no component {} of {} on {}, or can't open it", component, framework, host),
                 {{CulpritKind::setting, "OMPI_MCA_" + framework, "", -1}},
                 fmt::format("correct OMPI_MCA_{} or --mca {}: ompi_info lists what there is", framework, framework)};
}

std::string free_memory_remedy(const std::string& where) {
  return fmt::format("free shared memory on {}: df /dev/shm, and the files there of jobs that have ended", where);
}

/// Of all nodes whose agents found no space. The folder is a culprit, too, since any user may have filled it: no node
/// is drained for a file.
Finding full_nodes(std::string_view standard_error, const std::vector<std::string>& nodes) {
  Finding finding;
  finding.verdict = Verdict::fail;
  std::vector<std::string> names;
  std::string folder;
  std::string words;
  for (const std::string_view line : lines(standard_error)) {
    const auto begin = line.find(mark);
    if (begin == line.npos || !trim(line).ends_with(std::strerror(ENOSPC))) continue;
    const auto complaint = line.substr(begin + mark.size());
    const auto colon = complaint.find(": ");
    const std::string node = asked_name(complaint.substr(0, colon), nodes);
    if (colon == complaint.npos || node.empty() || is_in(node, names)) continue;
    const auto what = complaint.substr(colon + 2);
    folder = printable_line(fs::path(what.substr(0, what.find(": "))).parent_path().string(), 200);
    if (names.empty()) words = printable_line(what, 300);
    names.push_back(node);
    finding.culprits.push_back(node_culprit(node));
    finding.culprits.push_back({CulpritKind::file, folder, node, -1});
  }
  finding.reason = fmt::format("no space left in {} of {}: muster's agent can't start there ({})", folder,
                               human_list(names, 8), words);
  finding.remedy = free_memory_remedy(human_list(names, 8));
  return finding;
}

/// `nid001` of `[nid001:2971] [[6331,1],0] ORTE_ERROR_LOG: ...`, with ` ORTE_ERROR_LOG: ` as `words`: of the last host
/// and pid before them. Launchers may write the rank in front, as in `[1,0]<stderr>:`.
std::string_view host_before(std::string_view line, std::string_view words) {
  const std::string_view before = line.substr(0, std::min(line.find(words), line.size()));
  for (std::size_t at = before.rfind('['); at != before.npos; at = at == 0 ? before.npos : before.rfind('[', at - 1)) {
    const std::string_view process = before.substr(at + 1, before.find(']', at) - at - 1);
    const std::size_t colon = process.rfind(':');
    if (colon == process.npos || colon == 0 || colon + 1 == process.size()) continue;
    if (process.find_first_not_of("0123456789", colon + 1) == process.npos) return process.substr(0, colon);
  }
  return {};
}

/// `nid001` of `[nid001:13870] PMIX ERROR: OUT-OF-RESOURCE in file .../dstore/...`: daemon or rank of Open MPI found no
/// space for the files that they share.
std::string_view host_without_space(std::string_view line) {
  constexpr std::string_view words = " PMIX ERROR: OUT-OF-RESOURCE";
  // The same words of its listener are about descriptors, which calls of any user may have used up.
  if (line.find("/dstore/") == line.npos || line.find(words) == line.npos) return {};
  return host_before(line, words);
}

/// `nid001` of `/tmp/ompi.nid001.0/pid.13870/1`: Open MPI's folder, named with its host and user.
std::string_view host_of_folder(std::string_view folder) {
  constexpr std::string_view name = "/ompi.";
  const auto begin = folder.rfind(name);
  if (begin == folder.npos) return {};
  const auto rest = folder.substr(begin + name.size());
  const auto host_and_user = rest.substr(0, rest.find('/'));
  return host_and_user.substr(0, host_and_user.rfind('.'));
}

/// The folder of one of Open MPI's notices, whose `Error:` line is this and ends with the words of `code`; `folder` is
/// that of the `Directory:` line before, and is consumed.
std::string_view folder_of_notice(std::string_view line, int code, std::string_view& folder) {
  constexpr std::string_view of_folder = "Directory:", of_error = "Error:";
  const auto words = trim(line);
  if (words.substr(0, of_folder.size()) == of_folder) folder = trim(words.substr(of_folder.size()));
  if (words.substr(0, of_error.size()) != of_error) return {};
  const auto of_notice = std::exchange(folder, {});
  return words.ends_with(std::strerror(code)) ? of_notice : std::string_view();
}

/// The hosts of all such lines, and of Open MPI's notices of folders for which there was no space.
std::vector<std::string_view> hosts_without_space(std::string_view standard_error) {
  std::vector<std::string_view> hosts;
  std::string_view folder;
  for (const std::string_view line : lines(standard_error)) {
    const auto full = folder_of_notice(line, ENOSPC, folder);
    const auto host = full.empty() ? host_without_space(line) : host_of_folder(full);
    if (!host.empty()) hosts.push_back(host);
  }
  return hosts;
}

/// Each node once, with its folder for temporary files, which any user may have filled. Hosts that were not asked for
/// are in `names` alone.
Finding blame_folders(const std::vector<std::string_view>& hosts, const std::vector<std::string>& nodes,
                      std::vector<std::string>& names) {
  Finding finding;
  finding.verdict = Verdict::error;
  for (const std::string_view host : hosts) {
    const std::string node = asked_name(host, nodes);
    const std::string name = node.empty() ? printable_line(host, 80) : node;
    if (name.empty() || is_in(name, names)) continue;
    names.push_back(name);
    if (node.empty()) continue;
    finding.verdict = Verdict::fail;
    finding.culprits.push_back(node_culprit(node));
    finding.culprits.push_back({CulpritKind::file, "TMPDIR", node, -1});
  }
  return finding;
}

/// As full_nodes(), of the folder for temporary files.
std::optional<Finding> full_temporary_folders(std::string_view standard_error, const std::vector<std::string>& nodes) {
  std::vector<std::string> names;
  Finding finding = blame_folders(hosts_without_space(standard_error), nodes, names);
  if (names.empty()) return std::nullopt;
  const std::string where = human_list(names, 8);
  finding.reason = fmt::format(
      "no space left for Open MPI's files on {}, in TMPDIR or else in /tmp: its ranks can't start there", where);
  finding.remedy = fmt::format("free space on {}: df and df -i, of TMPDIR or else of /tmp there; or set TMPDIR", where);
  return finding;
}

/// Of folders that can't be made: mpirun at times loses the notice with folder and error, and only the lines of the
/// source that makes them are left: `[nid001:2971] [[6331,1],0] ORTE_ERROR_LOG: Error in file .../session_dir.c`.
std::optional<Finding> missing_temporary_folders(std::string_view standard_error,
                                                 const std::vector<std::string>& nodes) {
  if (standard_error.find("A call to mkdir was unable") != standard_error.npos) return std::nullopt;
  std::vector<std::string_view> hosts;
  for (const std::string_view line : lines(standard_error)) {
    if (line.find("/util/session_dir.c ") == line.npos) continue;
    constexpr std::string_view words = " ORTE_ERROR_LOG: ";
    if (line.find(words) != line.npos) hosts.push_back(host_before(line, words));
  }
  std::vector<std::string> names;
  Finding finding = blame_folders(hosts, nodes, names);
  if (names.empty()) return std::nullopt;
  const std::string where = human_list(names, 8);
  finding.reason = fmt::format("Open MPI can't make its folder on {}, in TMPDIR or else in /tmp", where);
  finding.remedy = fmt::format(
      "on {}, see that TMPDIR or else /tmp has space (df and df -i) and may be written (ls -ld); or set TMPDIR", where);
  return finding;
}

/// As full_temporary_folders(), of folders whose file system is read-only, as after an error of its disk.
std::optional<Finding> read_only_temporary_folders(std::string_view standard_error,
                                                   const std::vector<std::string>& nodes) {
  std::vector<std::string_view> hosts;
  std::string_view folder;
  std::string_view first;
  for (const std::string_view line : lines(standard_error)) {
    const auto read_only = folder_of_notice(line, EROFS, folder);
    const auto host = host_of_folder(read_only);
    if (asked_name(host, nodes).empty()) continue;
    if (hosts.empty()) first = read_only;
    hosts.push_back(host);
  }
  std::vector<std::string> names;
  Finding finding = blame_folders(hosts, nodes, names);
  if (names.empty()) return std::nullopt;
  const std::string where = human_list(names, 8);
  finding.reason = fmt::format("the file system of TMPDIR, or else of /tmp, is read-only on {}: Open MPI can't make {}",
                               where, printable_line(first, 200));
  finding.remedy = fmt::format(
      "see on {} why it is mounted read-only: its errors are in the kernel log (dmesg); or set "
      "TMPDIR to another folder",
      where);
  return finding;
}

/// Open MPI's daemon could not start a rank:
/// `[nid001:17099] [[22451,0],1] ORTE_ERROR_LOG: The system limit on number of children a process can have was
/// reached`.
std::optional<Finding> full_process_table(std::string_view standard_error, const std::vector<std::string>& nodes) {
  for (const std::string_view line : lines(standard_error)) {
    if (line.find("The system limit on number of children a process can have was reached") == line.npos) continue;
    const std::string node = asked_name(host_before(line, " ORTE_ERROR_LOG: "), nodes);
    if (node.empty()) continue;
    return Finding{
        Verdict::error,
        fmt::format("the limit on processes and threads is reached on {}: the daemon of Open MPI can't start "
                    "a rank there",
                    node),
        {},
        fmt::format("raise the limit of the job on {}: ulimit -u and pids.max of its control group", node)};
  }
  return std::nullopt;
}

}  // namespace

std::string complaint_line(const std::string& host, const Error& error) {
  return fmt::format("{}{}: {}\n", mark, host, to_string(error));
}

std::optional<Finding> explain_complaint(std::string_view standard_error, const std::vector<std::string>& nodes) {
  for (const std::string_view line : lines(standard_error)) {
    // Launchers may write the rank's number in front of it.
    const auto begin = line.find(mark);
    if (begin == line.npos) continue;
    const auto words = line.substr(begin + mark.size());
    const auto colon = words.find(": ");
    if (colon == words.npos) continue;
    const std::string node = asked_name(words.substr(0, colon), nodes);
    const auto what = words.substr(colon + 2);
    if (!node.empty() && trim(what).ends_with(std::strerror(ENOSPC))) return full_nodes(standard_error, nodes);
    const bool is_full = trim(what).ends_with(std::strerror(ENOSPC));
    const std::string where = node.empty() ? "the node" : node;
    Finding finding{
        Verdict::error, fmt::format("muster's agent can't start on {}", printable_line(words, 400)), {}, ""};
    if (is_full) {
      finding.remedy = free_memory_remedy(where);
    } else if (what.find(finds_another_mpi) != what.npos) {
      finding.remedy = another_mpi_remedy;
    } else if (what.find(started_by_another_mpi) != what.npos) {
      finding.remedy = another_launcher_remedy;
    } else if (what.find(launched_by_another_version) != what.npos) {
      finding.remedy = fmt::format("install the same version of muster on {} as on the other nodes", where);
    } else if (what.find(started_without_variables) != what.npos) {
      finding.remedy =
          "let the launcher and the wrapper pass on the environment: leave out singularity's --cleanenv and env -i";
    } else if (const auto limit = what.find(raise_limit); limit != what.npos) {
      const auto command = trim(what.substr(limit + raise_limit.size()));
      finding.remedy = fmt::format("raise the limit of the job on {}: {}", where, printable_line(command, 80));
    } else {
      finding.remedy = fmt::format(
          "look at that folder and at the limits of the job on {} (ulimit -a); MUSTER_RECORDER_FOLDER names another "
          "one",
          where);
    }
    return finding;
  }
  if (auto finding = full_process_table(standard_error, nodes)) return finding;
  if (auto finding = full_temporary_folders(standard_error, nodes)) return finding;
  if (auto finding = read_only_temporary_folders(standard_error, nodes)) return finding;
  if (auto finding = missing_temporary_folders(standard_error, nodes)) return finding;
  return missing_component(standard_error);
}

bool has_collided(std::string_view standard_error) {
  std::string_view folder, other_folder;
  for (const std::string_view line : lines(standard_error)) {
    const bool is_gone = !host_of_folder(folder_of_notice(line, ENOENT, folder)).empty();
    if (is_gone || !host_of_folder(folder_of_notice(line, EEXIST, other_folder)).empty()) return true;
  }
  return false;
}

}  // namespace muster
