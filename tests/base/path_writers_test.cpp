// Who could change what a path leads to, at whatever part of it.
#include "base/path_writers.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr uid_t other = 65533;

class PathWritersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
    fs::create_directories(inner_);
    for (const auto& folder : {top_, inner_}) ::chmod(folder.c_str(), 0755);
  }
  void TearDown() override { fs::remove_all(top_); }

  void give(const fs::path& path) const { ASSERT_EQ(::lchown(path.c_str(), other, other), 0); }

  /// As setfacl makes it. False: the file system has none.
  [[nodiscard]] bool add_acl(const fs::path& path, std::uint16_t tag, std::uint16_t rights, std::uint32_t id) const {
    constexpr std::uint16_t owner = 1, group = 4, mask = 16, others = 32;
    std::array<std::uint16_t, 22> acl{2, 0};
    std::size_t at = 2;
    const auto add = [&](std::uint16_t kind, std::uint16_t allowed, std::uint32_t named) {
      for (const auto word : {std::uint32_t{kind}, std::uint32_t{allowed}, named & 0xffff, named >> 16})
        acl.at(at++) = static_cast<std::uint16_t>(word);
    };
    if (tag < group) add(owner, 7, ~0u), add(tag, rights, id), add(group, 5, ~0u);
    if (tag == group) add(owner, 7, ~0u), add(group, rights, ~0u), add(8, 0, 1);
    if (tag > group) add(owner, 7, ~0u), add(group, 5, ~0u), add(tag, rights, id);
    add(mask, 7, ~0u), add(others, 5, ~0u);
    return ::setxattr(path.c_str(), "system.posix_acl_access", acl.data(), sizeof acl, 0) == 0;
  }

  fs::path top_ = fs::temp_directory_path() / ("muster-writers-" + std::to_string(::getpid()));
  fs::path inner_ = top_ / "inner";
};

TEST_F(PathWritersTest, RootsOwnFoldersHaveNone) {
  fs::create_directory_symlink("inner", top_ / "link");
  for (const auto& path : {top_, inner_, top_ / "link", top_ / "link/../inner/.", top_ / "missing/later"})
    EXPECT_EQ(find_path_writers(path).any(), "") << path;
  ASSERT_EQ(::chmod(inner_.c_str(), 0775), 0);
  EXPECT_EQ(find_path_writers(inner_).any(), "") << "group 0";
}

TEST_F(PathWritersTest, AnOwnerIsNamedAtAnyPart) {
  give(top_);
  const auto found = find_path_writers(inner_);
  EXPECT_EQ(found.owner, top_.string() + " belongs to user 65533");
  EXPECT_EQ(found.anyone + found.group, "");
  EXPECT_EQ(find_path_writers(inner_, {.trusted = other}).any(), "");
}

TEST_F(PathWritersTest, ALinkOfAnotherUserConcernsAnyone) {
  fs::create_directory_symlink("inner", top_ / "link");
  fs::create_directory_symlink("link", top_ / "first");
  give(top_ / "link");
  EXPECT_EQ(find_path_writers(top_ / "first").anyone, top_.string() + "/link is a link of user 65533");
  EXPECT_EQ(find_path_writers(top_ / "first", {.trusted = other}).any(), "");
}

TEST_F(PathWritersTest, TheStickyBitSufficesOnTheWay) {
  ASSERT_EQ(::chmod(top_.c_str(), 01777), 0);
  EXPECT_EQ(find_path_writers(inner_).any(), "");
  EXPECT_EQ(find_path_writers(top_).anyone, "every user may write " + top_.string());
  EXPECT_EQ(find_path_writers(top_, {.is_shared_end = true}).any(), "");
  EXPECT_EQ(find_path_writers(top_ / "later", {.is_shared_end = true}).anyone,
            "every user may create " + top_.string() + "/later");
  ASSERT_EQ(::chmod(top_.c_str(), 0777), 0);
  EXPECT_EQ(find_path_writers(inner_).anyone, "every user may write " + top_.string());
}

TEST_F(PathWritersTest, AGroupIsNamed) {
  ASSERT_EQ(::chown(top_.c_str(), 0, other), 0);
  ASSERT_EQ(::chmod(top_.c_str(), 02775), 0);
  const auto found = find_path_writers(inner_);
  EXPECT_EQ(found.group, "group 65533 may write " + top_.string());
  EXPECT_EQ(found.anyone + found.owner, "");
}

TEST_F(PathWritersTest, AnAccessListNamesOthers) {
  constexpr std::uint16_t user = 2, owning = 4, group = 8;
  if (!add_acl(inner_, user, 7, other)) GTEST_SKIP() << "the file system has no access lists";
  EXPECT_EQ(find_path_writers(inner_).group, "user 65533 may write " + inner_.string());
  EXPECT_EQ(find_path_writers(inner_, {.trusted = other}).any(), "");
  ASSERT_TRUE(add_acl(inner_, user, 5, other));
  EXPECT_EQ(find_path_writers(inner_).any(), "") << "the mask alone allows writing";
  ASSERT_TRUE(add_acl(inner_, group, 7, other));
  EXPECT_EQ(find_path_writers(inner_).group, "group 65533 may write " + inner_.string());
  ASSERT_TRUE(add_acl(inner_, owning, 7, 0));
  EXPECT_EQ(find_path_writers(inner_).any(), "") << "that of root";
}

TEST_F(PathWritersTest, WhatCanNotBeFollowedConcernsAnyone) {
  fs::create_directory_symlink("circle", top_ / "circle");
  EXPECT_EQ(find_path_writers(top_ / "circle").anyone, "its links lead in a circle");
  EXPECT_EQ(find_path_writers(top_ / "no/../inner").anyone,
            "it has \"..\" behind " + top_.string() + "/no, which is missing");
  EXPECT_EQ(find_path_writers("/proc/self/cwd").anyone, "/proc/self depends on the process");
  EXPECT_EQ(find_path_writers("inner").anyone, "it is relative");
}

/// As an archive in PYTHONPATH.
TEST_F(PathWritersTest, AFileMayBeTheEnd) {
  ASSERT_TRUE(write_file(top_ / "file", ""));
  EXPECT_EQ(find_path_writers(top_ / "file/part").any(), "");
  ASSERT_EQ(::chmod((top_ / "file").c_str(), 0666), 0);
  EXPECT_EQ(find_path_writers(top_ / "file/part").anyone, "every user may write " + top_.string() + "/file");
}

}  // namespace
}  // namespace muster
