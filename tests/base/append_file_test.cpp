#include <csignal>
#include <gtest/gtest.h>
#include <span>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "base/small_disk.hpp"

namespace muster {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::uint64_t bytes_on_disk(const fs::path& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_blocks) * 512 : 0;
}

TEST(AppendFileTest, GrowsByWhatIsAppended) {
  const ScratchFolder folder;
  auto file = AppendFile::create(folder / "spool", 0);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->append(bytes("one ")));
  EXPECT_TRUE(file->append(bytes("")));
  EXPECT_TRUE(file->append(bytes("two")));
  EXPECT_EQ(*read_file(folder / "spool"), "one two");
  struct stat found {};
  ASSERT_EQ(stat((folder / "spool").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777u, 0600u);
}

TEST(AppendFileTest, StartsEmpty) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder / "spool", "of an earlier run"));
  auto file = AppendFile::create(folder / "spool", 0);
  ASSERT_TRUE(file);
  EXPECT_EQ(*read_file(folder / "spool"), "");
}

TEST(AppendFileTest, MovesWithItsPlace) {
  const ScratchFolder folder;
  auto first = AppendFile::create(folder / "a", 0);
  auto second = AppendFile::create(folder / "b", 0);
  ASSERT_TRUE(first->append(bytes("one ")));
  *second = std::move(*first);
  ASSERT_TRUE(second->append(bytes("two")));
  EXPECT_EQ(*read_file(folder / "a"), "one two");
  EXPECT_EQ(*read_file(folder / "b"), "");
}

TEST(AppendFileTest, CantBeMadeWhereThereIsNoFolder) {
  const ScratchFolder folder;
  const auto file = AppendFile::create(folder / "none/spool", 1024);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::system);
  EXPECT_EQ(file.error().what, "can't be written: No such file or directory");
}

TEST(AppendFileTest, TheReserveIsDiskButNotLength) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    auto file = AppendFile::create(folder / "spool", 256 << 10);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append(bytes("text")));
    EXPECT_EQ(*read_file(folder / "spool"), "text");
    EXPECT_EQ(bytes_on_disk(folder / "spool"), 256u << 10);
    file->release_reserve();
    EXPECT_EQ(*read_file(folder / "spool"), "text");
    EXPECT_EQ(bytes_on_disk(folder / "spool"), 4096u);
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(AppendFileTest, AReserveThatCantBeHadIsAnErrorAndTakesNothing) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    const auto file = AppendFile::create(folder / "spool", 2 << 20);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().what, "no room can be set aside for 2097152 bytes: No space left on device");
    EXPECT_EQ(bytes_on_disk(folder / "spool"), 0u);
    auto small = AppendFile::create(folder / "small", 512 << 10);
    ASSERT_TRUE(small);
    const auto more = small->reserve(2 << 20);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().where, (folder / "small").string());
    EXPECT_TRUE(small->reserve(600 << 10));
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

void fill(const fs::path& path) {
  auto file = AppendFile::create(path, 0);
  ASSERT_TRUE(file);
  const std::string block(4096, 'f');
  for (int i = 0; i < 1024; ++i)
    if (!file->append(bytes(block))) return;
  FAIL() << "the disk is not full";
}

TEST(AppendFileTest, OnAFullDiskTheReserveIsStillThere) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    auto file = AppendFile::create(folder / "spool", 64 << 10);
    ASSERT_TRUE(file);
    fill(folder / "filler");
    const std::string record(16 << 10, 'r');
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(file->append(bytes(record))) << i;
    const auto beyond = file->append(bytes("x"));
    ASSERT_FALSE(beyond);
    EXPECT_EQ(to_string(beyond.error()), (folder / "spool").string() + ": can't be written: No space left on device");
    EXPECT_EQ(read_file(folder / "spool")->size(), 64u << 10);
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(AppendFileTest, AWriteThatOnlyFitsInPartLeavesNothingAndKeepsTheReserve) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    auto file = AppendFile::create(folder / "spool", 64 << 10);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append(bytes("first ")));
    fill(folder / "filler");
    EXPECT_FALSE(file->append(bytes(std::string(100 << 10, 'x'))));
    EXPECT_EQ(*read_file(folder / "spool"), "first ");
    EXPECT_EQ(bytes_on_disk(folder / "spool"), 64u << 10) << "what was not used is not given away";
    fill(folder / "more filler");
    EXPECT_TRUE(file->append(bytes(std::string(60 << 10, 'y'))));
    EXPECT_EQ(read_file(folder / "spool")->size(), 6u + (60u << 10));
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(AppendFileTest, APartialWriteIsRolledBackAtTheLimitOfFileSize) {
  const ScratchFolder folder;
  auto file = AppendFile::create(folder / "spool", 0);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append(bytes("12345678")));
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit kept{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &kept), 0);
  const rlimit narrow{10, kept.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
  const auto written = file->append(bytes("abcdef"));
  const auto length = fs::file_size(folder / "spool");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &kept), 0);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "can't be written: File too large");
  EXPECT_EQ(length, 8u);
  EXPECT_TRUE(file->append(bytes("!")));
  EXPECT_EQ(*read_file(folder / "spool"), "12345678!");
}

TEST(AppendFileTest, DoesWithoutAReserveOnAFileSystemThatHasNone) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path().string(), [&] {
    // ramfs has no fallocate.
    ASSERT_TRUE(make_folder(folder / "ram"));
    ASSERT_EQ(mount("ramfs", (folder / "ram").c_str(), "ramfs", 0, nullptr), 0);
    auto file = AppendFile::create(folder / "ram/spool", 64 << 10);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_TRUE(file->reserve(1 << 20));
    EXPECT_TRUE(file->append(bytes("text")));
    EXPECT_EQ(*read_file(folder / "ram/spool"), "text");
    umount2((folder / "ram").c_str(), MNT_DETACH);
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

}  // namespace
}  // namespace muster
