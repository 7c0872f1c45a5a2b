#include "config/shell_script.hpp"

#include <gtest/gtest.h>

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
    EXPECT_TRUE(has_pipe(script)) << script;
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
    EXPECT_FALSE(has_pipe(script)) << script;
}

TEST(ShellScript, IsFoundBehindOtherPrograms) {
  EXPECT_EQ(script_in({"sh", "-c", "x"}), "x");
  EXPECT_EQ(script_in({"/bin/bash", "-e", "-uc", "x"}), "x");
  EXPECT_EQ(script_in({"env", "A=b", "sh", "-c", "x"}), "x");
  EXPECT_EQ(script_in({"timeout", "5", "sh", "-c", "x"}), "x");
  EXPECT_EQ(script_in({"bash", "-o", "errexit", "-c", "x"}), "x");
  EXPECT_EQ(script_in({"bash", "-o", "pipefail", "-c", "x"}), "");
  for (const std::vector<std::string>& none :
       {std::vector<std::string>{}, {"ls"}, {"sh"}, {"sh", "-c"}, {"sh", "x.sh"}, {"bash", "--rc"}})
    EXPECT_EQ(script_in(none), "");
}

}  // namespace
}  // namespace muster
