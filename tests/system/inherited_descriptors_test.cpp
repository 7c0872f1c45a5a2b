#include "system/inherited_descriptors.hpp"

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster {
namespace {

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) >= 0;
}

std::string leads_to(int descriptor) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error).string();
}

/// The exit status of a child that does this: 0, or the number of the first claim that does not hold.
int in_a_child(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(InheritedDescriptors, AreClosedButForThoseThatAreKept) {
  EXPECT_EQ(in_a_child([] {
              for (const int number : {3, 40, 41, 42, 43, 900}) ::dup2(STDOUT_FILENO, number);
              close_inherited_descriptors(42, 40);
              int claim = 1;
              for (const int number : {40, 42}) {
                if (!is_open(number)) return claim;
                ++claim;
              }
              for (const int number : {3, 41, 43, 900}) {
                if (is_open(number)) return claim;
                ++claim;
              }
              return 0;
            }),
            0);
}

TEST(InheritedDescriptors, StandardStreamsLeadToNull) {
  EXPECT_EQ(in_a_child([] {
              ::dup2(STDOUT_FILENO, 7);
              close_inherited_descriptors(7);
              for (const int stream : {0, 1, 2})
                if (leads_to(stream) != "/dev/null") return 1 + stream;
              return is_open(3) ? 4 : 0;
            }),
            0);
}

TEST(InheritedDescriptors, AKeptStandardStreamStays) {
  EXPECT_EQ(in_a_child([] {
              const std::string before = leads_to(STDERR_FILENO);
              close_inherited_descriptors(STDERR_FILENO);
              if (leads_to(STDERR_FILENO) != before) return 1;
              if (leads_to(0) != "/dev/null" || leads_to(1) != "/dev/null") return 2;
              return is_open(3) ? 3 : 0;
            }),
            0);
}

}  // namespace
}  // namespace muster
