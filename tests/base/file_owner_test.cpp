#include "base/file_owner.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

namespace muster {
namespace {

TEST(FileOwner, IsWhoMountedAFuseFileSystem) {
  const std::string mounts =
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "36 35 0:40 / /home/a/m\\040 rw,nosuid,nodev shared:1 master:7 - fuse.sshfs a:/ "
      "rw,user_id=1000,group_id=1000,allow_other\n"
      "37 35 0:41 / /data rw - fuse.s3fs s3fs rw,nosuid,user_id=0,group_id=0\n"
      "38 35 0:42 / /mnt/36/user_id=5 rw - tmpfs user_id=7 rw,size=1k\n"
      "39 35 8:1 / /media rw - fuseblk /dev/sda1 rw,user_id=1001,group_id=0\n"
      "40 35 0:43 / /odd rw - fuse odd rw,user_id=1x\n"
      "41 35 0:44 / /odder rw - fuse odd rw\n"
      "42 35 0:45\n";
  const auto found = [&](const std::string& number) {
    std::istringstream in(mounts);
    uid_t owner = 77;
    const MountKind kind = find_mount(in, number, owner);
    return std::pair(kind, owner);
  };
  EXPECT_EQ(found("36"), std::pair(MountKind::fuse, 1000U));
  EXPECT_EQ(found("37"), std::pair(MountKind::fuse, 0U));
  EXPECT_EQ(found("39"), std::pair(MountKind::fuse, 1001U));
  for (const char* unclear : {"40", "41"}) EXPECT_EQ(found(unclear), std::pair(MountKind::fuse, unknown_owner));
  for (const char* other : {"22", "38", "42"}) EXPECT_EQ(found(other), std::pair(MountKind::other, 77U)) << other;
  for (const char* missing : {"3", "43", "", "0:40"})
    EXPECT_EQ(found(missing), std::pair(MountKind::missing, 77U)) << missing;
}

TEST(FileOwner, IsThatOfTheFileElsewhere) {
  struct stat plain {};
  struct stat seen {};
  for (const char* path : {"/proc/self/exe", "/tmp", "/dev/null", "/proc/self"}) {
    ASSERT_EQ(::stat(path, &plain), 0);
    ASSERT_TRUE(see_file(path, seen));
    EXPECT_EQ(std::tuple(seen.st_uid, seen.st_ino, seen.st_mode),
              std::tuple(plain.st_uid, plain.st_ino, plain.st_mode));
    ASSERT_EQ(::lstat(path, &plain), 0);
    ASSERT_TRUE(see_link(path, seen));
    EXPECT_EQ(std::tuple(seen.st_uid, seen.st_ino, seen.st_mode),
              std::tuple(plain.st_uid, plain.st_ino, plain.st_mode));
  }
  EXPECT_FALSE(see_file("/proc/missing", seen));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(see_file(-1, seen));
}

}  // namespace
}  // namespace muster
