// Control groups that are files.
#include "system/cpu_quota.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace muster {
namespace {

class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-quota-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = name;
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree& put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

TEST(CpuQuota, TheTightestQuotaOfVersionTwo) {
  Tree tree;
  EXPECT_FALSE(read_cpu_quota(tree.root()));
  tree.put("proc/self/cgroup", "0::/job/step");
  tree.put("sys/fs/cgroup/job/step/cpu.max", "max 100000").put("sys/fs/cgroup/job/cpu.max", "150000 100000");
  tree.put("sys/fs/cgroup/cpu.max", "800000 100000");
  const auto quota = read_cpu_quota(tree.root());
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 1.5);
  EXPECT_EQ(quota->group, "/job");
}

TEST(CpuQuota, AQuotaOfVersionOne) {
  Tree tree;
  tree.put("proc/self/cgroup", "9:name=systemd:/x\n4:cpuacct,cpu:/docker/x\n3:cpuset:/");
  tree.put("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1")
      .put("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(read_cpu_quota(tree.root()));
  tree.put("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "250000");
  ASSERT_TRUE(read_cpu_quota(tree.root()));
  EXPECT_DOUBLE_EQ(read_cpu_quota(tree.root())->cpus, 2.5);
}

TEST(CpuQuota, DamagedFilesAreNoQuota) {
  Tree tree;
  tree.put("proc/self/cgroup", "0::/a\nnonsense\n:");
  for (const char* text : {"", "5", "x y", "100000 0", "1 2 3", "-5 100000", "nan 100000"}) {
    tree.put("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_FALSE(read_cpu_quota(tree.root())) << text;
  }
}

}  // namespace
}  // namespace muster
