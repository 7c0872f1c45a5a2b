#include "base/file_stream.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(FileStream, WritesPiecesOfAnySize) {
  const auto path = fs::temp_directory_path() / ("muster-file-stream-" + std::to_string(::getpid()));
  std::string all;
  {
    auto file = AtomicFile::open(path);
    ASSERT_TRUE(file);
    FileStream out(*file);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{65'535}, std::size_t{1}, std::size_t{300'000}, std::size_t{0}}) {
      const std::string piece(size, static_cast<char>('a' + size % 26));
      all += piece;
      out << piece;
    }
    out.put('!').flush();
    EXPECT_TRUE(out);
    EXPECT_FALSE(fs::exists(path)) << "not before it is complete";
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(read_file(path).value_or(""), all + "!");
  fs::remove(path);
}

TEST(FileStream, AFullDiskIsNoted) {
  auto file = AtomicFile::open("/dev/full");
  if (!file) GTEST_SKIP() << "there is no /dev/full";
  FileStream out(*file);
  out << std::string(200'000, 'x') << std::flush;
  EXPECT_FALSE(out);
  const auto kept = file->commit();
  ASSERT_FALSE(kept);
  EXPECT_NE(to_string(kept.error()).find("No space left"), std::string::npos) << to_string(kept.error());
}

}  // namespace
}  // namespace muster
