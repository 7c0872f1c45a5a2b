// What came back from a node instead of an answer, and what it means.
#include "run/lost_node.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const fs::path self_there = "/opt/muster/bin/muster";

struct LostRow {
  std::string error;
  std::string reason;
  std::string remedy;
};

TEST(LostNode, MusterThatCanNotRunIsNotANodeThatIsAway) {
  const std::vector<LostRow> rows{
      {"ssh: connect to host nid002 port 22: No route to host",
       "nid002 does not answer: ssh: connect to host nid002 port 22: No route to host",
       "check the node's network and power"},
      {"sh: 1: /opt/muster/bin/muster: not found",
       "muster is not installed on nid002: there is no /opt/muster/bin/muster",
       "install muster there, at the same path, or mount the file system of /opt/muster/bin on nid002"},
      {"bash: line 1: /opt/muster/bin/muster: No such file or directory",
       "muster is not installed on nid002: there is no /opt/muster/bin/muster", "install muster there"},
      {"env: '/opt/muster/bin/muster': No such file or directory",
       "muster is not installed on nid002: there is no /opt/muster/bin/muster", "install muster there"},
      {"slurmstepd: error: execve(): /opt/muster/bin/muster: No such file or directory",
       "muster is not installed on nid002: there is no /opt/muster/bin/muster", "install muster there"},
      {"/opt/muster/bin/muster: error while loading shared libraries: libhwloc.so.15: cannot open shared object file: "
       "No such "
       "file or directory",
       "muster can't start on nid002: error while loading shared libraries: libhwloc.so.15: cannot open shared object "
       "file: No "
       "such file or directory",
       "install libhwloc.so.15 on nid002 as on the other nodes"},
      {"Could not chdir to home directory /home/u: No such file or directory bash: /opt/muster/bin/muster: No such "
       "file or directory",
       "the home folder is not mounted on nid002: Could not chdir to home directory /home/u",
       "mount the file system of home folders"},
      {"sh: 1: /opt/muster/bin/muster: Permission denied",
       "muster can't start on nid002: sh: 1: /opt/muster/bin/muster: Permission denied", "noexec"},
      {"Permission denied (publickey)", "nid002 does not answer: Permission denied (publickey)",
       "check the node's network"},
      {"muster@nid002: Permission denied (publickey,password).",
       "nid002 does not answer: muster@nid002: Permission denied (publickey,password).", "check the node's network"},
      {"sh: 1: /home/muster/site.sh: not found", "nid002 does not answer: sh: 1: /home/muster/site.sh: not found",
       "check the node's network"},
      {"no answer within 8 s", "nid002 does not answer: no answer within 8 s", "check the node's network"},
  };
  for (const LostRow& row : rows) {
    const LostNode lost = explain_no_answer("nid002", row.error, self_there);
    EXPECT_EQ(lost.reason().substr(0, row.reason.size()), row.reason);
    EXPECT_EQ(lost.remedy.find(row.remedy) != std::string::npos, true) << row.error << ": " << lost.remedy;
    EXPECT_EQ(lost.node, "nid002");
  }
}

TEST(LostNode, AnotherVersionIsNamed) {
  EXPECT_EQ(of_another_version("nid002", "0.0.9", self_there).reason(),
            "muster 0.0.9 is installed on nid002, this is muster " MUSTER_VERSION);
  EXPECT_EQ(of_another_version("nid002", "", self_there).reason(),
            "another version of muster is installed on nid002, this is muster " MUSTER_VERSION);
}

}  // namespace
}  // namespace muster
