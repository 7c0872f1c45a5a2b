#include "base/files.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/small_disk.hpp"

namespace muster {
namespace {

unsigned mode_of(const fs::path& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777u : 0;
}

TEST(FilesTest, ReadsWholeFiles) {
  const ScratchFolder folder;
  const std::string text = "line\n" + std::string(200'000, 'x') + std::string("\0end", 4);
  ASSERT_TRUE(write_file(folder / "a", text));
  EXPECT_EQ(*read_file(folder / "a"), text);
  EXPECT_EQ(*read_file(folder / "a", text.size()), text);
  ASSERT_TRUE(write_file(folder / "empty", ""));
  EXPECT_EQ(*read_file(folder / "empty"), "");
}

TEST(FilesTest, ReadingNamesPathAndCause) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "a", "12345"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::pair<Result<std::string>, const char*> cases[]{
      {read_file(folder / "none"), "can't be read: No such file or directory"},
      {read_file(folder.path()), "can't be read: Is a directory"},
      {read_file(folder / "pipe"), "can't be read: it is a pipe or a device; give a regular file"},
      {read_file(folder / "a", 4), "can't be read: File too large"},
      {read_file(folder / "a/b"), "can't be read: Not a directory"},
  };
  for (const auto& [result, what] : cases) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, ErrorKind::system);
    EXPECT_EQ(result.error().what, what);
    EXPECT_EQ(result.error().where.substr(0, folder.path().string().size()), folder.path().string());
  }
}

TEST(FilesTest, AppearsOnlyWhenCommitted) {
  const ScratchFolder folder;
  auto file = AtomicFile::open(folder / "report");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("half"));
  EXPECT_FALSE(fs::exists(folder / "report"));
  EXPECT_EQ(folder.entries(), 1u) << "the temporary file is there from the start";
  ASSERT_TRUE(file->write(" and half"));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(*read_file(folder / "report"), "half and half");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FilesTest, WithoutCommitTheOldFileStays) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "report", "old"));
  {
    auto file = AtomicFile::open(folder / "report");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
  }
  EXPECT_EQ(*read_file(folder / "report"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FilesTest, MovingAnAtomicFileMovesItsDuty) {
  const ScratchFolder folder;
  auto first = AtomicFile::open(folder / "a");
  auto second = AtomicFile::open(folder / "b");
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->write("first"));
  *second = std::move(*first);
  EXPECT_EQ(folder.entries(), 1u) << "what b was written to is gone";
  EXPECT_EQ(second->path(), folder / "a");
  ASSERT_TRUE(second->commit());
  EXPECT_EQ(*read_file(folder / "a"), "first");
  EXPECT_FALSE(fs::exists(folder / "b"));
}

TEST(FilesTest, CommittingTwiceIsAnErrorAndChangesNothing) {
  const ScratchFolder folder;
  auto file = AtomicFile::open(folder / "a");
  ASSERT_TRUE(file->write("text"));
  ASSERT_TRUE(file->commit());
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(*read_file(folder / "a"), "text");
}

TEST(FilesTest, ModeIsAsAskedWithinTheUmask) {
  const ScratchFolder folder;
  const auto before = umask(022);
  EXPECT_TRUE(write_file(folder / "open", "x", 0666));
  EXPECT_TRUE(write_file(folder / "secret", "x", 0600));
  umask(before);
  EXPECT_EQ(mode_of(folder / "open"), 0644u);
  EXPECT_EQ(mode_of(folder / "secret"), 0600u);
}

TEST(FilesTest, WhatCantBeWrittenIsAnErrorAtTheStart) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "plain", "x"));
  const std::pair<fs::path, const char*> cases[]{
      {folder / "none/report", "can't be written: No such file or directory"},
      {folder / "plain/report", "can't be written: Not a directory"},
      {folder.path(), "can't be written: Is a directory"},
      {folder / std::string(300, 'n'), "can't be written: File name too long"},
  };
  for (const auto& [path, what] : cases) {
    const auto file = AtomicFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().kind, ErrorKind::system);
    EXPECT_EQ(file.error().what, what) << path;
    EXPECT_EQ(file.error().where, path.string());
  }
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FilesTest, LongNamesLeaveRoomForTheTemporaryOne) {
  const ScratchFolder folder;
  const std::string name(255, 'n');
  ASSERT_TRUE(write_file(folder / name, "x"));
  EXPECT_EQ(*read_file(folder / name), "x");
}

TEST(FilesTest, AFolderThatVanishesIsAnErrorOfCommit) {
  const ScratchFolder folder;
  ASSERT_TRUE(make_folder(folder / "sub"));
  auto file = AtomicFile::open(folder / "sub/report");
  ASSERT_TRUE(file);
  fs::remove_all(folder / "sub");
  const auto committed = file->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().what, "can't be written: No such file or directory");
}

TEST(FilesTest, ASymbolicLinkStaysOne) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "real", "old"));
  fs::create_symlink("real", folder / "link");
  ASSERT_TRUE(write_file(folder / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(*read_file(folder / "real"), "new");
  fs::create_symlink("not-yet", folder / "dangling");
  ASSERT_TRUE(write_file(folder / "dangling", "made"));
  EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(read_file(folder / "not-yet"), "made");
  fs::create_symlink(folder / "link", folder / "link to a link");
  ASSERT_TRUE(write_file(folder / "link to a link", "newer"));
  EXPECT_EQ(read_file(folder / "real"), "newer");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(write_file(folder / "loop", "x").error().what, "can't be written: Too many levels of symbolic links");
}

TEST(FilesTest, ALinkOfAnotherUserIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const ScratchFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  ASSERT_TRUE(write_file(folder / "ours", "kept"));
  for (const char* target : {"ours", "not-yet", "/dev/null"}) {
    const auto link = folder / "report.json";
    fs::remove(link);
    fs::create_symlink(target, link);
    ASSERT_TRUE(write_file(link, "kept")) << "our own";
    ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
    const auto written = write_file(link, "overwritten");
    ASSERT_FALSE(written) << target;
    EXPECT_NE(written.error().what.find("it is a link of user 65534"), std::string::npos) << written.error().what;
    fs::create_symlink(link, folder / "to theirs");
    EXPECT_FALSE(write_file(folder / "to theirs", "overwritten")) << target;
    fs::remove(folder / "to theirs");
  }
  EXPECT_EQ(read_file(folder / "ours"), "kept");
  EXPECT_EQ(read_file(folder / "not-yet"), "kept");
}

TEST(FilesTest, AFolderThatIsALinkOfAnotherUserIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const ScratchFolder folder;
  ASSERT_TRUE(make_folder(folder / "ours"));
  ASSERT_TRUE(make_folder(folder / "theirs"));
  ASSERT_TRUE(write_file(folder / "ours/report", "kept"));
  const auto link = folder / "theirs/out";
  fs::create_symlink("../ours", link);
  fs::create_symlink("theirs/out", folder / "to theirs");
  const fs::path ways[]{link, folder / "to theirs"};
  for (const auto& way : ways) EXPECT_TRUE(write_file(way / "report", "kept")) << "links of our own are followed";
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  for (const auto& way : ways) {
    const auto written = write_file(way / "report", "overwritten");
    ASSERT_FALSE(written) << way;
    EXPECT_NE(written.error().what.find(link.string() + " is a link of user 65534"), std::string::npos)
        << written.error().what;
    EXPECT_FALSE(write_file(way / "new", "x")) << way;
    EXPECT_FALSE(make_folder(way / "below/it")) << way;
    EXPECT_FALSE(AppendFile::create(way / "spool", 0)) << way;
  }
  EXPECT_EQ(read_file(folder / "ours/report"), "kept");
  fs::remove_all(folder / "ours/report");
  EXPECT_TRUE(fs::is_empty(folder / "ours"));
}

TEST(FilesTest, LinksOfOurOwnAndOfTheKernelAreFollowed) {
  const ScratchFolder folder;
  ASSERT_TRUE(make_folder(folder / "a/b"));
  fs::create_symlink(folder / "a", folder / "absolute");
  fs::create_symlink("absolute/b/", folder / "relative");
  ASSERT_TRUE(write_file(folder / "relative/../b/./report", "first"));
  EXPECT_EQ(read_file(folder / "a/b/report"), "first");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_TRUE(write_file("/dev/fd/" + std::to_string(ends[1]), "through")) << "as a shell's >(command)";
  char text[16] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 7);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(FilesTest, APipeIsWrittenInPlace) {
  const ScratchFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(pipe, "through"));
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe)) << "nothing was renamed over it";
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FilesTest, APipeThatNothingReadsIsNotWaitedFor) {
  const ScratchFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto written = write_file(pipe, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "can't be written: nothing reads this pipe");
}

TEST(FilesTest, ADeviceIsWrittenInPlace) {
  ASSERT_TRUE(write_file("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(FilesTest, AFullDeviceIsNamedAndTheCommitFailsToo) {
  auto file = AtomicFile::open("/dev/full");
  ASSERT_TRUE(file);
  const auto written = file->write("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(to_string(written.error()), "/dev/full: can't be written: No space left on device");
  EXPECT_FALSE(file->write("y"));
  const auto committed = file->commit();
  ASSERT_FALSE(committed) << "a file with a hole in it must not pass for complete";
  EXPECT_EQ(committed.error().what, "can't be written: No space left on device");
}

TEST(FilesTest, AFullDiskKeepsTheOldFile) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    ASSERT_TRUE(write_file(folder / "report", "old"));
    const auto written = write_file(folder / "report", std::string(2 << 20, 'x'));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().what, "can't be written: No space left on device");
    EXPECT_EQ(*read_file(folder / "report"), "old");
    EXPECT_EQ(folder.entries(), 1u) << "the temporary file is gone";
    EXPECT_TRUE(write_file(folder / "report", std::string(500'000, 'y'))) << "and its room is free again";
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(FilesTest, MakesFoldersWithTheirParents) {
  const ScratchFolder folder;
  ASSERT_TRUE(make_folder(folder / "a/b/c"));
  EXPECT_EQ(mode_of(folder / "a/b/c"), 0700u);
  ASSERT_TRUE(make_folder(folder / "a/b/c")) << "an existing one is fine";
  ASSERT_TRUE(make_folder(folder / "d/"));
  EXPECT_EQ(mode_of(folder / "d"), 0700u);
}

TEST(FilesTest, FoldersThatCantBeMadeAreNamed) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "plain", "x"));
  EXPECT_EQ(make_folder(folder / "plain").error().what, "can't be made: File exists");
  EXPECT_EQ(make_folder(folder / "plain/sub").error().what.substr(0, 15), "can't be made: ");
  EXPECT_EQ(make_folder(folder / "plain/sub/sub").error().kind, ErrorKind::system);
  EXPECT_FALSE(make_folder(""));
}

TEST(FilesTest, SymlinksAreReplacedAndNothingElseIs) {
  const ScratchFolder folder;
  const int opened = ::open((folder / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_TRUE(replace_symlink(opened, "latest", "run-1"));
  ASSERT_TRUE(replace_symlink(opened, "latest", "run-2"));
  EXPECT_EQ(fs::read_symlink(folder / "latest"), "run-2");
  ASSERT_TRUE(make_folder(folder / "real"));
  const auto over_folder = replace_symlink(opened, "real", "run-3");
  ASSERT_FALSE(over_folder);
  EXPECT_EQ(over_folder.error().where, "real");
  EXPECT_FALSE(replace_symlink(opened, "none/latest", "run-3"));
  ::close(opened);
  EXPECT_EQ(folder.entries(), 2u) << "no link is left beside";
}

class PathTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PATH");
    before_ = path != nullptr ? path : "";
  }
  void TearDown() override { setenv("PATH", before_.c_str(), 1); }
  std::string before_;
};

TEST_F(PathTest, FindsTheFirstProgramThatMayBeRun) {
  const ScratchFolder folder;
  for (const auto* name : {"a", "b", "c"}) ASSERT_TRUE(make_folder(folder / name));
  ASSERT_TRUE(write_file(folder / "a/tool", "no permission", 0644));
  ASSERT_TRUE(make_folder(folder / "b/tool"));
  ASSERT_TRUE(write_file(folder / "c/tool", "#!/bin/sh\n", 0755));
  const auto path = folder.path().string();
  setenv("PATH", (path + "/none:" + path + "/a:" + path + "/b:" + path + "/c").c_str(), 1);
  EXPECT_EQ(find_program("tool"), folder / "c/tool");
  EXPECT_EQ(find_program("other"), "");
  EXPECT_EQ(find_program(""), "");
}

TEST_F(PathTest, ANameWithASlashIsNotLookedUp) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "tool", "#!/bin/sh\n", 0755));
  ASSERT_TRUE(write_file(folder / "text", "text", 0644));
  EXPECT_EQ(find_program((folder / "tool").string()), folder / "tool");
  EXPECT_EQ(find_program((folder / "text").string()), "");
  EXPECT_EQ(find_program((folder / "none").string()), "");
  unsetenv("PATH");
  EXPECT_FALSE(find_program("sh").empty()) << "without PATH: where the system keeps its programs";
}

TEST(FilesTest, OwnExecutableIsThisTest) {
  EXPECT_EQ(own_executable().filename(), "base_tests");
}

}  // namespace
}  // namespace muster
