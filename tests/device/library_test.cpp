// Opening libraries that are there, that are not, and that are unusable.
#include "device/library.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"

namespace muster {
namespace {

TEST(Library, OneThatIsThereIsOpen) {
  const Library library = Library::open({"libmuster-no-such.so.9", "libm.so.6"});
  ASSERT_TRUE(library.is_open()) << library.error();
  EXPECT_FALSE(library.is_absent());
  EXPECT_EQ(library.name(), "libm.so.6");
  EXPECT_EQ(fs::path(library.file()).filename().string().substr(0, 4), "libm");
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library.fill(cosine, "cos"));
  EXPECT_EQ(cosine(0), 1);
  EXPECT_FALSE(library.fill(cosine, "no_such_function"));
  EXPECT_EQ(cosine, nullptr);
}

TEST(Library, OneThatIsMissingIsAbsent) {
  const Library library = Library::open({"libmuster-no-such.so.9", "libmuster-no-such.so.8"});
  EXPECT_FALSE(library.is_open());
  EXPECT_TRUE(library.is_absent());
  EXPECT_EQ(library.name(), "libmuster-no-such.so.9");
  EXPECT_EQ(library.error(), "");
  EXPECT_EQ(library.symbol("cos"), nullptr);
}

TEST(Library, OneThatDoesNotLoadIsBrokenAndSaysWhy) {
  const fs::path file = fs::temp_directory_path() / ("muster-broken-" + std::to_string(::getpid()) + ".so");
  std::ofstream(file) << "no library at all, but long enough for the header of one that the loader would read first";
  const Library library = Library::open({file.c_str()});
  fs::remove(file);
  EXPECT_FALSE(library.is_open());
  EXPECT_FALSE(library.is_absent());
  EXPECT_NE(library.error().find("invalid ELF header"), std::string::npos) << library.error();
}

}  // namespace
}  // namespace muster
