// What other users could change is refused, at whatever part of the path.
#include "base/trusted_path.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr uid_t nobody = 65534;

class TrustedPath : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(inner_);
    ASSERT_TRUE(write_file(file_, "inside"));
    ::chmod(top_.c_str(), 0755);
    ::chmod(inner_.c_str(), 0755);
  }
  void TearDown() override { fs::remove_all(top_); }

  [[nodiscard]] std::string why(const fs::path& path, const Trust& trust = {}) const {
    const auto opened = open_trusted(path, trust);
    return opened ? "" : opened.error().what;
  }

  fs::path top_ = fs::temp_directory_path() / ("muster-trusted-" + std::to_string(::getpid()));
  fs::path inner_ = top_ / "inner";
  fs::path file_ = inner_ / "file";
};

std::string text_of(const OwnedDescriptor& opened) {
  char text[64] = {};
  const auto size = ::read(opened.number(), text, sizeof text);
  return {text, static_cast<std::size_t>(size < 0 ? 0 : size)};
}

TEST_F(TrustedPath, OursIsOpened) {
  const auto opened = open_trusted(file_);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(text_of(*opened), "inside");
  EXPECT_TRUE(open_trusted(inner_)) << "a folder, too; below one with the sticky bit";
  EXPECT_NE(why(top_ / "missing").find("can't be read"), std::string::npos);
}

TEST_F(TrustedPath, NoPartMayBeWritableForOthers) {
  for (const auto& part : {top_, inner_, file_})
    for (const unsigned more : {unsigned{S_IWGRP}, unsigned{S_IWOTH}}) {
      struct stat about {};
      ASSERT_EQ(::stat(part.c_str(), &about), 0);
      ASSERT_EQ(::chmod(part.c_str(), about.st_mode | more), 0);
      EXPECT_NE(why(file_).find("may write"), std::string::npos) << part << more;
      EXPECT_NE(why(file_).find(more == S_IWGRP ? "chmod g-w " : "chmod o-w " + part.string()), std::string::npos);
      EXPECT_EQ(why(file_, {.has_groups = true}).empty(), more == S_IWGRP);
      ASSERT_EQ(::chmod(part.c_str(), about.st_mode), 0);
    }
}

TEST_F(TrustedPath, NoPartMayBelongToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const auto& part : {top_, inner_, file_}) {
    ASSERT_EQ(::chown(part.c_str(), nobody, static_cast<gid_t>(-1)), 0);
    EXPECT_NE(why(file_).find("belongs to user 65534"), std::string::npos) << part;
    EXPECT_EQ(why(file_, {.also = nobody}), "");
    ASSERT_EQ(::chown(part.c_str(), 0, static_cast<gid_t>(-1)), 0);
  }
}

TEST_F(TrustedPath, LinksAreFollowed) {
  fs::create_symlink("../inner/./file", inner_ / "relative");
  fs::create_symlink(inner_ / "relative", top_ / "absolute");
  fs::create_directory_symlink("inner", top_ / "folder");
  for (const auto& name : {"inner/relative", "absolute", "folder/file", "folder/../inner/file", "./folder//relative"}) {
    const auto opened = open_trusted(top_ / name);
    ASSERT_TRUE(opened) << name << to_string(opened.error());
    EXPECT_EQ(text_of(*opened), "inside") << name;
  }
  EXPECT_TRUE(open_trusted(top_ / "folder/")) << "a folder";
  EXPECT_TRUE(open_trusted("/"));
  EXPECT_NE(why(top_ / "absolute/below").find("can't be read"), std::string::npos) << "below a file";
}

TEST_F(TrustedPath, LinksInACircleEnd) {
  fs::create_symlink("circle", inner_ / "circle");
  EXPECT_NE(why(inner_ / "circle").find("Too many levels of symbolic links"), std::string::npos);
}

TEST_F(TrustedPath, NoLinkMayBelongToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  fs::create_symlink(file_, inner_ / "link");
  fs::create_directory_symlink(inner_, top_ / "folder");
  for (const auto& link : {inner_ / "link", top_ / "folder"}) {
    ASSERT_EQ(::lchown(link.c_str(), nobody, static_cast<gid_t>(-1)), 0);
    const auto path = link == top_ / "folder" ? link / "file" : link;
    EXPECT_NE(why(path).find("is a link of user 65534, who could lead it elsewhere"), std::string::npos) << why(path);
    EXPECT_NE(why(path).find("chown -h root " + link.string()), std::string::npos) << why(path);
    EXPECT_EQ(why(path, {.also = nobody}), "");
  }
}

/// Who may write the folder that a link of ours is in may put another there.
TEST_F(TrustedPath, NoLinkMayBeReplacedByOthers) {
  const auto theirs = top_ / "theirs";
  fs::create_directories(theirs);
  fs::create_symlink(file_, theirs / "link");
  for (const unsigned mode : {0777U, 0775U}) {
    ASSERT_EQ(::chmod(theirs.c_str(), mode), 0);
    EXPECT_NE(why(theirs / "link").find("may write " + theirs.string()), std::string::npos) << why(theirs / "link");
  }
  ASSERT_EQ(::chmod(theirs.c_str(), 01777), 0);
  EXPECT_EQ(why(theirs / "link"), "") << "the sticky bit keeps it";
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chmod(theirs.c_str(), 0755), 0);
  ASSERT_EQ(::chown(theirs.c_str(), nobody, static_cast<gid_t>(-1)), 0);
  EXPECT_NE(why(theirs / "link").find(theirs.string() + " belongs to user 65534"), std::string::npos);
}

class OwnFile : public TrustedPath {
 protected:
  [[nodiscard]] static std::string why_not(const fs::path& path) {
    const auto checked = own_database(path);
    return checked ? "" : checked.error().what;
  }
  [[nodiscard]] static std::string why_not_opened(const fs::path& path) {
    const auto opened = open_own_file(path, O_RDWR | O_CREAT);
    return opened ? "" : opened.error().what;
  }
};

TEST_F(OwnFile, OursAndWhatIsYetToBeMadeIsTaken) {
  EXPECT_EQ(why_not(file_), "");
  EXPECT_EQ(why_not(inner_ / "new"), "");
  fs::create_symlink(file_, inner_ / "link");
  EXPECT_EQ(why_not(inner_ / "link"), "");
  EXPECT_EQ(why_not_opened(file_), "");
  EXPECT_EQ(why_not_opened(inner_ / "made"), "");
  EXPECT_EQ(fs::status(inner_ / "made").permissions(), fs::perms{0600});
  EXPECT_NE(why_not_opened(inner_ / "link").find("can't be opened"), std::string::npos);
}

/// A link of ours in a folder of another user, who may put another in its place after the check.
TEST_F(OwnFile, TheNameToOpenHasNoLinks) {
  fs::create_directories(top_ / "theirs");
  fs::create_directory_symlink(inner_, top_ / "theirs" / "link");
  if (::geteuid() == 0) ASSERT_EQ(::chown((top_ / "theirs").c_str(), nobody, static_cast<gid_t>(-1)), 0);
  for (const char* name : {"file", "new"}) {
    const auto real = own_database(top_ / "theirs" / "link" / name);
    ASSERT_TRUE(real) << to_string(real.error());
    EXPECT_EQ(*real, fs::canonical(inner_) / name);
  }
}

/// Of a relative name nothing of which is there, either: others could have put its journal there.
TEST_F(OwnFile, ARelativeNameIsHeldToTheSame) {
  const auto before = fs::current_path();
  fs::current_path(inner_);
  for (const char* name : {"new", "./new"}) EXPECT_EQ(why_not(name), "") << name;
  ::chmod(inner_.c_str(), 01777);
  const auto refused = why_not("new");
  fs::current_path(before);
  EXPECT_NE(refused.find("every user may put files into " + fs::canonical(inner_).string()), std::string::npos)
      << refused;
}

TEST_F(OwnFile, NoFolderIsMadeWhereOthersMayPutAnother) {
  EXPECT_TRUE(check_own_folder(inner_ / "a" / "b"));
  ::chmod(inner_.c_str(), 0777);
  const auto checked = check_own_folder(inner_ / "a" / "b");
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("every user may write"), std::string::npos) << checked.error().what;
  ::chmod(inner_.c_str(), 0755);
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown(inner_.c_str(), nobody, static_cast<gid_t>(-1)), 0);
  EXPECT_NE(check_own_folder(inner_ / "a" / "b").error().what.find("belongs to user 65534"), std::string::npos);
}

TEST_F(OwnFile, NotWhereOthersMayPutAnother) {
  ::chmod(inner_.c_str(), 0777);
  for (const char* name : {"file", "new"})
    for (const auto& why : {why_not(inner_ / name), why_not_opened(inner_ / name)})
      EXPECT_EQ(why, "is not used: every user may write " + inner_.string() + "; chmod o-w " + inner_.string());
  EXPECT_FALSE(fs::exists(inner_ / "new"));
  // No user can replace a file there, but any can put another one beside it: a journal of a database.
  ::chmod(inner_.c_str(), 01777);
  EXPECT_EQ(why_not_opened(file_), "");
  for (const char* name : {"file", "new"})
    EXPECT_NE(why_not(inner_ / name).find("every user may put files into " + inner_.string()), std::string::npos);
  ::chmod(inner_.c_str(), 0755);
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown(top_.c_str(), nobody, static_cast<gid_t>(-1)), 0);
  EXPECT_NE(why_not(file_).find(top_.string() + " belongs to user 65534"), std::string::npos);
}

TEST_F(OwnFile, NoDatabaseThatEveryUserMayWrite) {
  fs::create_symlink(file_, inner_ / "link");
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  for (const char* name : {"file", "link"})
    EXPECT_NE(why_not(inner_ / name).find("every user may write it"), std::string::npos) << name;
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown(file_.c_str(), nobody, ::getegid()), 0);
  EXPECT_NE(why_not(file_).find("every user may write it"), std::string::npos);
}

/// Of `test` as that user with that group alone, in a process of its own.
template <class Test>
bool as_user(uid_t user, gid_t group, const Test& test) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_left = ::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(user) == 0;
    ::_exit(is_left && test() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// Of Debian and others: user 1 (daemon) is in group 1, user 65534 is not.
TEST_F(OwnFile, OfAnotherUserOnlyWhereAGroupOfOursAndItsOwnerSharesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const passwd* entry = ::getpwuid(1);
  if (entry == nullptr || entry->pw_gid != 1) GTEST_SKIP() << "user 1 is not in group 1";
  const auto is_taken = [this] {
    return as_user(12345, 1, [this] { return why_not(file_).empty() && why_not_opened(file_).empty(); });
  };
  for (const auto& folder : {top_, inner_}) ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chown(file_.c_str(), 1, 1), 0);
  EXPECT_FALSE(is_taken());
  ASSERT_EQ(::chmod(file_.c_str(), 0660), 0);
  EXPECT_TRUE(is_taken());
  EXPECT_NE(why_not(file_).find("it belongs to user 1"), std::string::npos) << "root shares nothing";
  EXPECT_NE(why_not_opened(file_).find("it belongs to user 1"), std::string::npos);
  ASSERT_EQ(::chown(file_.c_str(), nobody, 1), 0);
  EXPECT_FALSE(is_taken()) << "the owner is not in the group";
  ASSERT_EQ(::chown(file_.c_str(), 1, 1), 0);
  ::chmod(inner_.c_str(), 01777);
  EXPECT_FALSE(is_taken()) << "every user may put a journal beside it";
  ::chmod(inner_.c_str(), 0755);
  ASSERT_EQ(::chown(file_.c_str(), 1, 1), 0);
  fs::create_symlink(file_, inner_ / "link");
  ASSERT_EQ(::lchown((inner_ / "link").c_str(), nobody, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(as_user(12345, 1, [this] { return why_not(inner_ / "link").empty(); }));
}

TEST_F(TrustedPath, ALinkIsFollowedAndWhereItLeadsIsChecked) {
  fs::create_symlink(file_, top_ / "link");
  EXPECT_EQ(why(top_ / "link"), "");
  ::chmod(inner_.c_str(), 0775);
  EXPECT_NE(why(top_ / "link").find("may write"), std::string::npos);
}

TEST_F(TrustedPath, WhatWasCheckedIsWhatIsOpen) {
  const auto opened = open_trusted(file_);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(write_file(top_ / "other", "another"));
  fs::rename(top_ / "other", file_);
  EXPECT_EQ(text_of(*opened), "inside");
}

}  // namespace
}  // namespace muster
