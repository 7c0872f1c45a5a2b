// A tree that is written while others exchange parts of it.
#include "base/tree_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

class TreeWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "muster-tree-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    fs::create_directories(top_ = base_ / "top");
    fs::create_directories(outside_ = base_ / "outside");
    ASSERT_TRUE(write_file(outside_ / "kept", "kept"));
    ::chmod((outside_ / "kept").c_str(), 0600);
  }
  void TearDown() override {
    EXPECT_EQ(read_file(outside_ / "kept").value_or(""), "kept");
    struct stat about {};
    EXPECT_EQ(::stat((outside_ / "kept").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_EQ(std::distance(fs::directory_iterator(outside_), fs::directory_iterator()), 1);
    fs::remove_all(base_);
  }
  TreeWriter writer() const { return {OwnedDescriptor(::open(top_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), top_}; }
  fs::path base_, top_, outside_;
};

TEST_F(TreeWriterTest, WritesFilesFoldersAndLinks) {
  TreeWriter tree = writer().below("a/root");
  tree.put("sys/x", "1");
  tree.put("sys/x", "2");
  tree.write("dev/y", "", 0666);
  tree.link("sys/to", "dev/y");
  tree.folder("sys/empty/");
  ASSERT_TRUE(tree.result()) << to_string(tree.result().error());
  EXPECT_EQ(read_file(top_ / "a/root/sys/x").value_or(""), "2\n");
  EXPECT_EQ(fs::read_symlink(top_ / "a/root/sys/to"), "../dev/y");
  EXPECT_EQ(fs::status(top_ / "a/root/dev/y").permissions(), static_cast<fs::perms>(0666));
  EXPECT_TRUE(fs::is_directory(top_ / "a/root/sys/empty"));
}

TEST_F(TreeWriterTest, AFileThatIsALinkIsReplaced) {
  fs::create_symlink(outside_ / "kept", top_ / "x");
  fs::create_hard_link(outside_ / "kept", top_ / "y");
  fs::create_symlink(outside_ / "new", top_ / "z");
  fs::create_symlink(outside_ / "kept", top_ / ".w.new");
  TreeWriter tree = writer();
  for (const char* name : {"x", "y", "z"}) tree.write(name, "ours", 0666);
  tree.replace("w", "ours");
  ASSERT_TRUE(tree.result()) << to_string(tree.result().error());
  for (const char* name : {"x", "y", "z", "w"}) {
    EXPECT_EQ(read_file(top_ / name).value_or(""), "ours") << name;
    EXPECT_FALSE(fs::is_symlink(top_ / name)) << name;
  }
}

TEST_F(TreeWriterTest, AFolderThatIsALinkIsNotEntered) {
  fs::create_directory_symlink(outside_, top_ / "root");
  TreeWriter inner = writer().below("root");
  inner.put("x", "ours");
  EXPECT_FALSE(inner.result());
  for (const char* path : {"root/x", "root/a/x", "../outside/x"}) {
    TreeWriter tree = writer();
    tree.put(path, "ours");
    EXPECT_FALSE(tree.result()) << path;
    TreeWriter linking = writer();
    linking.link(path, "x");
    EXPECT_FALSE(linking.result()) << path;
  }
}

TEST_F(TreeWriterTest, LinksAreRemovedAndNotWhatTheyLeadTo) {
  fs::create_directories(top_ / "root/a/b");
  ASSERT_TRUE(write_file(top_ / "root/a/file", "x"));
  fs::create_directory_symlink(outside_, top_ / "root/a/b/link");
  fs::create_directory_symlink(outside_, top_ / "link");
  TreeWriter tree = writer();
  for (const char* name : {"root", "link", "none"}) tree.remove(name);
  ASSERT_TRUE(tree.result()) << to_string(tree.result().error());
  EXPECT_TRUE(tree.names().empty());
}

}  // namespace
}  // namespace muster
