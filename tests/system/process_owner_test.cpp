// Processes of other users, of which neither arguments nor environment are read.
#include "system/process_owner.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr uid_t other = 65533;

/// A process of this program and its environment, which waits to be killed: as that user, 0: as this one; one that is
/// not dumpable looks in /proc as if root owned it.
class Child {
 public:
  explicit Child(uid_t user, bool is_dumpable = true) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (user != 0 && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(1);
      ::prctl(PR_SET_DUMPABLE, is_dumpable ? 1 : 0);
      (void)!::write(ready[1], "y", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    ::close(ready[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(ProcessOwner, OrdinaryUsersAreNamed) {
  EXPECT_EQ(of_ordinary_user_in("Name:\tnv-hostengine\nUid:\t1003\t0\t0\t0\n"), " of user 1003");
  EXPECT_EQ(of_ordinary_user_in("Uid:\t998\t998\t998\t998\n"), "");
  EXPECT_EQ(of_ordinary_user_in(""), "");
  EXPECT_EQ(of_ordinary_user(::getpid()), "");
  if (::geteuid() != 0) GTEST_SKIP() << "only root takes the place of another user";
  const Child foreign(other);
  EXPECT_EQ(of_ordinary_user(foreign.pid()), " of user 65533");
}

TEST(ProcessOwner, AnAgentOfThisLaunchIsOfThisUser) {
  // In the environment with which this program was started.
  constexpr const char* name = "PATH";
  const Child own(0);
  EXPECT_TRUE(is_own_process(own.pid()));
  EXPECT_TRUE(is_agent_of_this_launch(own.pid(), name));
  EXPECT_FALSE(is_agent_of_this_launch(::getppid(), name)) << "another program";
  if (::geteuid() != 0) GTEST_SKIP() << "only root takes the place of another user";
  for (const bool is_dumpable : {true, false}) {
    const Child foreign(other, is_dumpable);
    EXPECT_FALSE(is_own_process(foreign.pid()));
    EXPECT_FALSE(is_agent_of_this_launch(foreign.pid(), name));
  }
}

TEST(ProcessOwner, OfAProcessThatIsGoneNothingHolds) {
  int pid = 0;
  {
    const Child own(0);
    pid = own.pid();
  }
  EXPECT_FALSE(is_own_process(pid));
  EXPECT_FALSE(is_agent_of_this_launch(pid));
}

}  // namespace
}  // namespace muster
