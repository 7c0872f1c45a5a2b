#include "base/file_owner.hpp"

#include <gtest/gtest.h>
#include <string>
#include <sys/sysmacros.h>

namespace muster {
namespace {

TEST(FileOwner, IsWhoMountedAFuseFileSystem) {
  const std::string mounts =
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "36 35 0:40 / /home/a/m\\040 rw,nosuid,nodev shared:1 master:7 - fuse.sshfs a:/ "
      "rw,user_id=1000,group_id=1000,allow_other\n"
      "37 35 0:41 / /data rw - fuse.s3fs s3fs rw,nosuid,user_id=0,group_id=0\n"
      "38 35 0:42 / /mnt/0:40/user_id=5 rw - tmpfs user_id=7 rw,size=1k\n"
      "39 35 8:1 / /media rw - fuseblk /dev/sda1 rw,user_id=1001,group_id=0\n"
      "40 35 0:43 / /odd rw - fuse odd rw,user_id=x\n"
      "41 35 0:44\n\n";
  const auto owner = [&](unsigned first, unsigned second) { return fuse_owner(mounts, makedev(first, second)); };
  EXPECT_EQ(owner(0, 40), std::optional<uid_t>(1000));
  EXPECT_EQ(owner(0, 41), std::optional<uid_t>(0));
  EXPECT_EQ(owner(8, 1), std::optional<uid_t>(1001));
  for (const auto& [first, second] : {std::pair{0, 21}, {0, 42}, {0, 43}, {0, 44}, {0, 99}})
    EXPECT_EQ(owner(static_cast<unsigned>(first), static_cast<unsigned>(second)), std::nullopt) << first << second;
  EXPECT_EQ(fuse_owner("", makedev(0, 40)), std::nullopt);
}

TEST(FileOwner, IsThatOfTheFileElsewhere) {
  struct stat about {};
  ASSERT_EQ(::stat("/proc/self", &about), 0);
  EXPECT_EQ(owner_of(about), about.st_uid);
}

}  // namespace
}  // namespace muster
