#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "config/config.hpp"

namespace muster {

namespace {

class FindFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "muster-find-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string make(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
    return (root_ / path).string();
  }

  /// Relative to the root, so that tests can be read.
  std::vector<std::string> find(const std::vector<std::string>& paths) {
    const auto found = find_check_files(paths);
    if (!found) return {to_string(found.error())};
    std::vector<std::string> all;
    for (const auto& path : *found) all.push_back(fs::relative(path, root_).string());
    return all;
  }

  fs::path root_;
};

}  // namespace

TEST_F(FindFiles, SearchesFoldersAndSorts) {
  make("b.toml");
  make("a/z.toml");
  make("a/a.toml");
  make("a/readme.md");
  make("systems/lumi.toml");
  make("a/systems/daint.toml");
  make(".hidden/x.toml");
  make("a/.x.toml");
  EXPECT_EQ(find({root_.string()}), (std::vector<std::string>{"a/a.toml", "a/z.toml", "b.toml"}));
}

TEST_F(FindFiles, TakesFilesAsTheyAreInTheGivenOrder) {
  const auto b = make("b.txt");
  const auto a = make("systems/a.toml");
  EXPECT_EQ(find({b, a}), (std::vector<std::string>{"b.txt", "systems/a.toml"}));
}

TEST_F(FindFiles, SearchesAFolderOfSystemsWhenAsked) {
  make("systems/a.toml");
  EXPECT_EQ(find({(root_ / "systems").string()}), std::vector<std::string>{"systems/a.toml"});
}

TEST_F(FindFiles, NamesEveryFileOnce) {
  const auto a = make("a.toml");
  fs::create_symlink(a, root_ / "b.toml");
  EXPECT_EQ(find({a, root_.string(), (root_ / "." / "a.toml").string()}), std::vector<std::string>{"a.toml"});
}

TEST_F(FindFiles, SaysWhatIsNotThere) {
  const auto gone = (root_ / "gone.toml").string();
  EXPECT_EQ(find({gone}), std::vector<std::string>{gone + ": no such file or folder"});
  const auto below_file = make("a.toml") + "/x.toml";
  EXPECT_EQ(find({below_file}), std::vector<std::string>{below_file + ": no such file or folder"});
  EXPECT_EQ(find({""}), std::vector<std::string>{"\"\": no such file or folder"});
  const auto loop = root_ / "loop.toml";
  fs::create_symlink(loop, loop);
  EXPECT_EQ(find({loop.string()}),
            std::vector<std::string>{loop.string() + ": can't be read: Too many levels of symbolic links"});
  const auto found = find_check_files(std::vector<std::string>{gone});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::usage);
}

TEST_F(FindFiles, FolderWithoutChecksIsAnError) {
  make("x/readme.md");
  const auto folder = (root_ / "x").string();
  EXPECT_EQ(find({folder}), std::vector<std::string>{folder + ": there is no check file (*.toml) in this folder"});
}

TEST_F(FindFiles, DoesNotFollowFoldersInACircle) {
  make("a/a.toml");
  fs::create_directory_symlink(root_, root_ / "a" / "up");
  EXPECT_EQ(find({root_.string()}), std::vector<std::string>{"a/a.toml"});
}

}  // namespace muster
