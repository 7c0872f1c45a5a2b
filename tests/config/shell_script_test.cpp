#include "config/shell_script.hpp"

#include <gtest/gtest.h>

#include "config/shell_command.hpp"

namespace muster {
namespace {

TEST(ShellScript, FindsPipes) {
  for (const char* script : {"a | b",
                             "a |& b",
                             "case $x in a|b) c | d;; esac",
                             "case a in b|c) ;; esac | cat",
                             "case a in b) true;; esac; a | b",
                             "echo $((1|2)) | cat",
                             "echo case in x | y",
                             "(a | b)",
                             "x=$(a | b)",
                             "echo ${x%%|*} | cat",
                             "echo ${x%\\}} | cat",
                             "if a | b; then c; fi",
                             "a#b | c",
                             "for i in a b; do echo $i | cat; done",
                             "echo x; # comment\na | b",
                             "f() { a | b; }",
                             "! a | b",
                             "echo $# | cat",
                             "cat <<E | x\na\nE",
                             "cat <<E\na\nE\nc | d",
                             "cat <<< a | b"})
    EXPECT_TRUE(read_script(script).has_pipe) << script;
}

TEST(ShellScript, NotEveryBarIsAPipe) {
  for (const char* script : {"case $x in a|b) true;; (c|d) false;; esac",
                             "case $h in\n nid1|nid2 ) echo case; ;;\n *) x;;\nesac",
                             "case a in a|b) case c in d|e) x;; esac;; f|g) y; esac",
                             "echo $((1|2))",
                             "echo ${x%%|*} ${x//|/,} ${x:-${y%|*}}",
                             "echo $(( (1|2) | 3 ))",
                             "x=$((1|2)); ((x|=4))",
                             "a || b",
                             "echo 'a|b' \"c|d\"",
                             "a >| b",
                             "# a | b\ntrue",
                             "[[ $x =~ (a|b) ]]",
                             "ls @(a|b)",
                             "echo a\\|b",
                             "cat <<EOF\na | b\nEOF\n",
                             "cat <<-'E F'\n a | b",
                             "a <<A <<B\n|\nA\n|\nB\ntrue",
                             "cat <<",
                             "echo \"it's | fine\"",
                             "",
                             "|| ",
                             "case",
                             "$((",
                             "'"})
    EXPECT_FALSE(read_script(script).has_pipe) << script;
}

using Words = std::vector<std::string>;

TEST(ShellScript, CommandsHaveTheirWordsWithoutQuotes) {
  const auto commands = read_script("if a 'b c' \"d \\\"e\\\"\"f; then g $x > h; fi | i").commands;
  EXPECT_EQ(commands, (std::vector<Words>{{"if", "a", "b c", "d \"e\"f"}, {"then", "g", "$x", "h"}, {"fi"}, {"i"}}));
}

TEST(ShellCommand, LosesTheStatusOfAPipe) {
  for (const Words& argv : std::vector<Words>{{"sh", "-c", "a | b"},
                                              {"/bin/bash", "-e", "-uc", "a | b"},
                                              {"env", "A=b", "sh", "-c", "a | b"},
                                              {"timeout", "5", "sh", "-c", "a | b"},
                                              {"bash", "-o", "errexit", "-c", "a | b"},
                                              {"ssh", "host", "a | b"},
                                              {"ssh", "-p", "22", "-q", "host", "a", "|", "b"},
                                              {"env", "-S", "sh -c 'a | b'"},
                                              {"env", "-iSsh -c 'a | b'", "x"},
                                              {"env", "--split-string=sh -c 'a | b'"},
                                              {"sh", "-c", "sh -c 'a | b'"},
                                              {"sh", "-c", "true && sh -c \"sh -c 'a | b'\""},
                                              {"sh", "-c", "eval 'a | b'"},
                                              {"sh", "-c", "if eval a '|' b; then c; fi"},
                                              {"bash", "-c", "set -o pipefail; sh -c 'a | b'"}})
    EXPECT_TRUE(loses_status(argv)) << argv.back();
}

TEST(ShellCommand, KeepsTheStatus) {
  for (const Words& argv : std::vector<Words>{{},
                                              {"ls"},
                                              {"sh"},
                                              {"sh", "-c"},
                                              {"sh", "x.sh"},
                                              {"bash", "--rc"},
                                              {"ssh"},
                                              {"ssh", "host"},
                                              {"ssh", "host", "a"},
                                              {"env", "-S"},
                                              {"env", "-S", "sh -c 'a || b'"},
                                              {"bash", "-o", "pipefail", "-c", "a | b"},
                                              {"bash", "-c", "set -o pipefail; a | b"},
                                              {"bash", "-c", "a | b; exit ${PIPESTATUS[0]}"},
                                              {"bash", "-c", "sh -c \"bash -o pipefail -c 'a | b'\""},
                                              {"sh", "-c", "echo sh -c 'a | b'"},
                                              {"sh", "-c", "echo eval 'a | b'"},
                                              {"sh", "-c", "sh -c 'echo \"a | b\"'"}})
    EXPECT_FALSE(loses_status(argv)) << (argv.empty() ? "" : argv.back());
}

TEST(ShellCommand, AnOperatorThatNoShellReadsIsFound) {
  for (const char* word : {"|", "||", "&&", ";", ">", "2>&1", ">out.txt", "2>/dev/null", "&>>log", ">$HOME/x", "2>&1"})
    EXPECT_EQ(find_operator({"echo", "x", word, "tee"}), 2u) << word;
  for (const Words& argv : std::vector<Words>{{"|"},
                                              {"expr", "1", "|", "2"},
                                              {"test", "a", "<", "b"},
                                              {"cut", "-d", "|", "-f", "1"},
                                              {"column", "--separator", "|"},
                                              {"pip", "install", ">=1.0", ">5", "<html>", "12>x", "a>b"},
                                              {"find", ".", "-exec", "ls", "{}", ";"},
                                              {"ssh", "host", "a", ">", "b"},
                                              {"echo", "a|b"}})
    EXPECT_EQ(find_operator(argv), argv.size()) << argv.front();
}

TEST(ShellCommand, AnArgumentThatNoShellReplacesIsFound) {
  for (const char* word : {"$HOME/data", "${SCRATCH}/data", "~/data", "$MY_FILE"})
    EXPECT_EQ(find_expansion({"cat", "-n", word}), 2u) << word;
  for (const Words& argv : std::vector<Words>{{"$HOME/x"},
                                              {"cat", "a$HOME", "$1", "$", "${", "~", "$a", "x~/y"},
                                              {"srun", "sh", "-c", "$HOME/x"},
                                              {"env", "bash", "x.sh", "$HOME/x"},
                                              {"ssh", "host", "~/x"},
                                              {"awk", "$NF"},
                                              {"echo", "$HOME"}})
    EXPECT_EQ(find_expansion(argv), argv.size()) << argv.front();
}

}  // namespace
}  // namespace muster
