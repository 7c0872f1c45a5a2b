#include "probes/command/missing_program.hpp"

#include <fmt/format.h>
#include <fstream>
#include <map>
#include <unistd.h>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "probes/command/blame.hpp"
#include "probes/command/foreign.hpp"
#include "probes/command/no_reading.hpp"
#include "probes/command/words.hpp"

namespace muster::program {

namespace {

constexpr const char* fact_name = "lack";
constexpr const char* fact_what = "lack_what";
constexpr const char* fact_remedy = "lack_remedy";
constexpr std::size_t most_hosts = 16;

const std::string install_it = "correct argv in the check file, or install it at the same place on every node";

/// `"ls", "-l", "/tmp"` of `ls -l /tmp`.
std::string as_words(const std::string& line) {
  std::string words;
  for (const std::string& word : split(line, ' '))
    if (!word.empty()) words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", printable_line(word, 100));
  return words;
}

/// A whole command in one word: its first part is a program, an option follows, or it has blanks and cannot be a path.
bool is_command_line(const std::string& name) {
  const auto blank = name.find(' ');
  if (blank == name.npos || blank == 0) return false;
  return name.find(" -") != name.npos || name.find('/') == name.npos || !find_program(name.substr(0, blank)).empty();
}

bool is_for_a_shell(const std::string& name) {
  return name.starts_with("~") || name.find('$') != name.npos;
}

/// A name without a folder is looked for on PATH alone, as a shell does it.
Lack not_on_path(const std::string& name, const std::string& shown) {
  std::error_code ignored;
  if (!fs::is_regular_file(name, ignored))
    return {name, shown + " is not on PATH",
            "correct its name, give it an absolute path, or install it on PATH of every node; ranks that are started "
            "by ssh have PATH of an ssh login"};
  const bool may_run = ::access(name.c_str(), X_OK) == 0;
  return {
      name,
      fmt::format("{} is not on PATH; the file of that name in {} is not searched for", shown,
                  printable_line(fs::current_path(ignored).string(), 300)),
      fmt::format("write argv = [\"./{}\"] for that file, or argv = [\"{{check}}/{}\"] for one beside the check file{}",
                  shown, shown, may_run ? "" : fmt::format("; it also needs chmod +x {}", shown))};
}

Lack lack_of(const std::string& name) {
  std::error_code ignored;
  const std::string shown = printable_line(name, 300);
  const bool is_for_path = name.find('/') == name.npos;
  if (is_for_path && fs::is_regular_file(name, ignored)) return not_on_path(name, shown);
  if (fs::is_directory(name, ignored)) return {name, shown + " is a directory", install_it};
  if (fs::exists(name, ignored))
    return {
        name, shown + " is not executable",
        fmt::format("chmod +x {}, or start a script by its interpreter: argv = [\"sh\", \"{}\"]; a file system that "
                    "is mounted with noexec starts nothing",
                    shown, shown)};
  if (is_command_line(name))
    return {name, fmt::format("program \"{}\" does not exist: argv has a text for each word", shown),
            fmt::format("write argv = [{}]", as_words(name))};
  if (is_for_a_shell(name))
    return {name,
            fmt::format("{} does not exist: programs are started without a shell, which would replace {}", shown,
                        name.starts_with("~") ? "~" : "variables"),
            "write the path in full, as in argv = [\"/home/me/bin/check.sh\"], or \"{check}/\" for a file beside the "
            "check file; or start a shell: argv = [\"sh\", \"-c\", \"...\"]"};
  if (is_for_path) return not_on_path(name, shown);
  if (fs::path(name).is_absolute()) return {name, shown + " does not exist", install_it};
  return {name,
          fmt::format("{} does not exist below {}", shown, printable_line(fs::current_path(ignored).string(), 300)),
          fmt::format("write argv = [\"{{check}}/{}\"] for a file beside the check file, or give it an absolute path",
                      printable_line(fs::path(name).filename().string(), 100))};
}

/// Of an ELF file; 0: it is none.
int elf_machine(const std::string& bytes) {
  constexpr std::size_t offset = 18;
  if (!bytes.starts_with("\x7f"
                         "ELF") ||
      bytes.size() < offset + 2)
    return 0;
  return static_cast<unsigned char>(bytes[offset]) | static_cast<unsigned char>(bytes[offset + 1]) << 8;
}

std::string first_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(256, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// `#!/bin/sh` with a CR behind it; behind `#!/usr/bin/env` it is env that finds no such program.
std::optional<Lack> find_windows_lines(const std::string& program) {
  const std::string bytes = first_bytes(find_program(program));
  const std::string line = bytes.substr(0, bytes.find('\n'));
  if (!line.starts_with("#!") || !line.ends_with('\r')) return std::nullopt;
  const std::string shown = printable_line(program, 300);
  return Lack{
      program,
      fmt::format("the lines of {} end with CR LF, so that the interpreter in its first line has a CR in its name",
                  shown),
      fmt::format("convert them: sed -i 's/\\r$//' {}", shown)};
}

Finding finding_of(const CaseView& view, const std::string& name, const std::vector<std::size_t>& ranks,
                   const std::vector<std::size_t>& all) {
  const Blame blame(view, all, ranks, Blame::Part::is_the_same);
  Finding finding;
  const std::string what = printable_line(*view.observed[ranks.front()]->fact(fact_what), 400);
  std::vector<std::string> hosts;
  for (const std::size_t rank : ranks)
    if (const auto& host = view.ranks[rank].host; !is_in(host, hosts)) hosts.push_back(host);
  finding.verdict = blame.is_on_nodes() ? Verdict::fail : Verdict::error;
  finding.reason = blame.is_everywhere() ? what : fmt::format("{} on {}", what, human_list(hosts, 4));
  const std::string* remedy = view.observed[ranks.front()]->fact(fact_remedy);
  finding.remedy = remedy == nullptr ? install_it : printable_line(*remedy, 400);
  if (!blame.is_on_nodes()) {
    finding.culprits.push_back({CulpritKind::file, printable_line(name, 200), "", -1});
    return finding;
  }
  finding.reason += ", most nodes have it";
  finding.remedy = "install or mount it there, or leave these nodes out";
  for (const auto& host : hosts)
    if (finding.culprits.size() < most_hosts)
      finding.culprits.push_back({CulpritKind::file, printable_line(name, 200), host, -1});
  return finding;
}

}  // namespace

std::optional<Lack> find_lack(const Params& params, const std::string& folder) {
  const std::vector<std::string> words = words_of(params, folder);
  if (words[0] != python_word && find_program(words[0]).empty()) return lack_of(words[0]);
  for (const std::string& given : given_words(params))
    if (auto foreign = find_foreign(given, folder)) return foreign;
  if (words[0] != python_word)
    if (auto lack = find_windows_lines(words[0])) return lack;
  const std::vector<std::string> argv = params.texts("argv");
  for (std::size_t i = 0; i < argv.size(); ++i) {
    std::error_code ignored;
    // In an option or a script the path is a part of the word.
    const bool is_path = argv[i].starts_with(folder_word) && argv[i].find(' ') == std::string::npos;
    if (is_path && !fs::exists(words[i], ignored))
      return Lack{words[i], fmt::format("{} does not exist", printable_line(words[i], 300)), install_it};
  }
  return std::nullopt;
}

Lack find_bad_start(const std::string& program, const std::string& error) {
  const std::string shown = printable_line(program, 300);
  if (const auto lack = find_windows_lines(program)) return *lack;
  const std::string bytes = first_bytes(find_program(program));
  const std::string line = bytes.substr(0, bytes.find('\n'));
  const int machine = elf_machine(bytes);
  const int here = elf_machine(first_bytes("/proc/self/exe"));
  if (machine != 0 && here != 0 && machine != here)
    return {program,
            fmt::format("{} is a program for another processor (ELF machine {}, here {})", shown, machine, here),
            "name a build for the processor of these nodes"};
  if (machine == 0 && !bytes.empty() && !line.starts_with("#!"))
    return {program, fmt::format("{} is not a program, and has no first line that names its interpreter", shown),
            fmt::format("begin the script with #!/bin/sh, or start it by argv = [\"sh\", \"{}\"]", shown)};
  return {program, error, install_it};
}

Observation lacking(const Lack& lack) {
  Observation seen;
  seen.facts = {{fact_name, lack.name}, {fact_what, lack.what}, {fact_remedy, lack.remedy}, no_reading()};
  return seen;
}

std::vector<Finding> find_lacks(const CaseView& view) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  std::vector<std::size_t> all;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    all.push_back(rank);
    if (const std::string* name = seen->fact(fact_name); name != nullptr && seen->fact(fact_what) != nullptr)
      by_name[*name].push_back(rank);
  }
  std::vector<Finding> findings;
  for (const auto& [name, ranks] : by_name) findings.push_back(finding_of(view, name, ranks, all));
  return findings;
}

}  // namespace muster::program
