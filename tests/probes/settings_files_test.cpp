#include "measure/settings_files.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace environment;

TEST(SettingsFiles, LinesOfMpiAndUcx) {
  const auto found = parse_settings(
      "# btl = tcp\n; x=y\n\n  btl = ^openib,ofi \nno equals\n=\n a b = c\nUCX_TLS=tcp,sm\n"
      "[Grace]\nCPU model = x\nUCX_Y=1\n",
      "/etc/a.conf", "P_");
  EXPECT_EQ(found, (std::vector<FileSetting>{{"P_btl", "^openib,ofi", "/etc/a.conf:4"},
                                             {"P_UCX_TLS", "tcp,sm", "/etc/a.conf:8"}}));
}

TEST(SettingsFiles, FormsOfUcx) {
  EXPECT_EQ(parse_settings("\xef\xbb\xbfUCX_TLS: tcp ; of 11-02\nUCX_A=x;y\n", "/u", ""),
            (std::vector<FileSetting>{{"UCX_TLS", "tcp", "/u:1"}, {"UCX_A", "x;y", "/u:2"}}));
  EXPECT_EQ(parse_settings("/* old:\nx = 1\n*/ y = 2\nz = /a/*\n/* open\nu = 3\n", "/m", "P_"),
            (std::vector<FileSetting>{{"P_y", "2", "/m:3"}, {"P_z", "/a/*", "/m:4"}, {"P_u", "3", "/m:6"}}));
  EXPECT_EQ(parse_settings("// old\na:b = c ; d\n", "/m", "P_"),
            (std::vector<FileSetting>{{"P_a:b", "c ; d", "/m:2"}}));
}

TEST(SettingsFiles, ThoseOfUcxInItsOrder) {
  const Variables all{{"HOME", "/home/u"}, {"UCX_CONFIG_DIR", "/site"}};
  EXPECT_TRUE(ucx_files("7f-80 r--p 0 fe:00 1   /usr/lib/libmpi.so.40\n", all).empty()) << "UCX is not loaded";
  const auto files = ucx_files("7f-80 r--p 0 fe:00 1   /opt/ucx/lib/libucs.so.0.0.0\n", all);
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[0], "/etc/ucx/ucx.conf");
  EXPECT_EQ(files[1], "/opt/ucx/etc/ucx/ucx.conf");
  EXPECT_EQ(files[2], "/home/u/ucx.conf");
  EXPECT_EQ(files[3], "/site/ucx.conf");
}

TEST(SettingsFiles, TheFirstFileOfOpenMpiAndTheEnvironmentCount) {
  std::string name = (fs::temp_directory_path() / "mt-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const fs::path root = name;
  std::ofstream(root / "user.conf") << "btl = tcp\npml = ob1\n";
  std::ofstream(root / "site.conf") << "# all nodes\nbtl = self\nmtl = ^ofi\nsome_token = x\n";
  const Variables all{{env_mpi_files, "/user.conf,/none.conf,/site.conf"}, {"OMPI_MCA_pml", "ucx"}};
  EXPECT_EQ(settings_in_files(root, all), (std::vector<FileSetting>{{"OMPI_MCA_btl", "tcp", "/user.conf:1"},
                                                                    {"OMPI_MCA_mtl", "^ofi", "/site.conf:3"}}));
  EXPECT_TRUE(settings_in_files(root, {}).empty());
  fs::remove_all(root);
  EXPECT_EQ(to_facts({{"UCX_TLS", "tcp", "/u:1"}}),
            (std::vector<Fact>{{"settings", "1"}, {"setting.UCX_TLS", "tcp"}, {"setting_place.UCX_TLS", "/u:1"}}));
}

}  // namespace
}  // namespace muster
