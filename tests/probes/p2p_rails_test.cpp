// Which NIC a rank's messages took: by what its own connections counted, else the nearest one.
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "measure/rails.hpp"
#include "measure/variables.hpp"

namespace muster::p2p {
namespace {

TEST(Rail, IsOneFact) {
  for (const Rail& rail :
       {Rail{{"hsn2"}, true}, Rail{{"mlx5_0", "mlx5_1"}, false}, Rail{{"mlx5_0 (0000:1c:00.0)"}, false}})
    EXPECT_EQ(parse_rail(to_text(rail)), rail) << to_text(rail);
  EXPECT_EQ(to_text({{"hsn2"}, true}), "counted hsn2");
  for (const char* text : {"", "counted", "near  ", "hsn2", "seen hsn2"}) EXPECT_FALSE(parse_rail(text)) << text;
}

TEST(CountedRail, IsTheNicOfNineTenths) {
  const BytesByNic before{{"hsn0", 1e6}, {"hsn1", 5}};
  EXPECT_EQ(counted_rail(before, {{"hsn0", 1e6 + 10}, {"hsn1", 1e8}}, 1e8), (Rail{{"hsn1"}, true}));
  EXPECT_EQ(counted_rail({}, {{"hsn2", 1e8}}, 1e8), (Rail{{"hsn2"}, true}));
}

TEST(CountedRail, NamesAllThatCarriedATenthWhereNoneCarriedMost) {
  EXPECT_EQ(counted_rail({}, {{"eth0", 1e6}, {"hsn0", 5e7}, {"hsn1", 5e7}}, 1e8), (Rail{{"hsn0", "hsn1"}, true}));
}

TEST(CountedRail, IsNoneWhereConnectionsDidNotCarryTheMessages) {
  EXPECT_FALSE(counted_rail({}, {{"eth0", 1e6}}, 1e8)) << "they went over a fabric";
  EXPECT_FALSE(counted_rail({}, {}, 1e8));
  EXPECT_FALSE(counted_rail({}, {{"eth0", 1e6}}, 0));
}

TEST(RailBytes, AreOneFact) {
  const auto bytes = parse_rail_bytes(to_text(RailBytes{1.2e12, 4.9e12}));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->moved, 1.2e12);
  EXPECT_EQ(bytes->shown, 4.9e12);
  for (const char* text : {"", "1", "1 of ", " of 1", "1 of x", "-1 of 2", "1 of nan", "1 of 2 GB"})
    EXPECT_FALSE(parse_rail_bytes(text)) << text;
}

TEST(RailBytes, AreThoseOfTheAddressAndOfItsInterface) {
  const NicBytes before{{{"hsn1", 10}, {"hsn1:2", 0}}, {{"hsn0", 5}, {"hsn1", 1000}}};
  const NicBytes after{{{"hsn1", 110}, {"hsn1:2", 7}, {"tun0", 3}}, {{"hsn0", 500}, {"hsn1", 1060}}};
  const auto bytes = rail_bytes("hsn1", before, after);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_text(*bytes), "100 of 60");
  EXPECT_EQ(to_text(rail_bytes("hsn1:2", before, after).value_or(RailBytes{})), "7 of 60") << "an address with a label";
  EXPECT_FALSE(rail_bytes("tun0", before, after)) << "it has no counter";
}

TEST(NearRailOfList, KeepsEveryName) {
  EXPECT_EQ(near_rail_of("mlx5_0, same switch"), (Rail{{"mlx5_0"}, false}));
  for (const auto& [list, nics] :
       {std::pair<const char*, std::vector<std::string>>{"a and b, same switch", {"a", "b"}},
        {"mlx5_2 (0000:1c:00.0), a and b, same NUMA domain", {"a", "b", "mlx5_2 (0000:1c:00.0)"}}}) {
    const auto rail = near_rail_of(list);
    ASSERT_TRUE(rail);
    EXPECT_EQ(rail, (Rail{nics, false}));
    EXPECT_EQ(parse_rail(to_text(*rail)), rail) << to_text(*rail);
  }
  EXPECT_FALSE(near_rail_of("a, b, c, d and 2 more, same switch"));
  EXPECT_FALSE(near_rail_of(""));
}

TEST(NearRailOfList, VariablesThatChooseNicsOverrideNearness) {
  for (const char* name : {"UCX_NET_DEVICES", "NCCL_IB_HCA", "MPICH_OFI_NIC_POLICY", "FI_CXI_DEVICE_NAME"})
    EXPECT_TRUE(environment::choose_nics({{name, "mlx5_0:1"}})) << name;
  EXPECT_TRUE(environment::choose_nics({{"UCX_MAX_RNDV_RAILS", "2"}}));
  EXPECT_FALSE(environment::choose_nics({{"UCX_MAX_RNDV_RAILS", "1"}, {"UCX_TLS", "rc"}, {"OMP_PLACES", "cores"}}));
}

/// Two domains of four CPUs, two fast NICs in each, and a slow one.
class NearRail : public ::testing::Test {
 protected:
  NearRail() : root_(fs::temp_directory_path() / ("muster-rails-" + random_hex(8))) {
    for (const auto& [domain, cpus] : {std::pair{"node0", "0-3\n"}, std::pair{"node1", "4-7\n"}}) {
      const fs::path folder = root_ / "sys/devices/system/node" / domain;
      fs::create_directories(folder);
      EXPECT_TRUE(write_file(folder / "cpulist", cpus));
    }
    for (int i = 0; i < 4; ++i) add("mlx5_" + std::to_string(i) + "/1", i / 2, 400, "ACTIVE");
    add("eth0", 0, 25, "up");
  }
  ~NearRail() override { fs::remove_all(root_); }

  void add(const std::string& port, int domain, double rate, const char* state) {
    Device nic;
    nic.kind = DeviceKind::nic;
    nic.numa_node = domain;
    nic.ports.push_back({port, "", state, "", rate});
    node_.devices.push_back(nic);
  }
  std::optional<Rail> rail(const char* cpus) { return near_rail(node_, *CpuMask::parse_list(cpus), root_); }

  fs::path root_;
  Inventory node_;
};

TEST_F(NearRail, IsThatOfTheDomain) {
  EXPECT_EQ(rail("0-1"), (Rail{{"mlx5_0", "mlx5_1"}, false}));
  EXPECT_EQ(rail("6"), (Rail{{"mlx5_2", "mlx5_3"}, false}));
}

TEST_F(NearRail, IsNoneForARankOfTwoDomains) {
  EXPECT_FALSE(rail("3-4"));
  EXPECT_FALSE(rail("0-7"));
}

TEST_F(NearRail, IsNoneWhereAllNicsAreNear) {
  for (Device& nic : node_.devices) nic.numa_node = 0;
  EXPECT_FALSE(rail("0"));
  node_.devices.clear();
  EXPECT_FALSE(rail("0"));
}

TEST_F(NearRail, LeavesOutWhatIsDown) {
  node_.devices[0].ports[0].state = "DOWN";
  EXPECT_EQ(rail("0"), (Rail{{"mlx5_1"}, false}));
}

}  // namespace
}  // namespace muster::p2p
