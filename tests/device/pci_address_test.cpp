#include "device/pci_address.hpp"

#include <gtest/gtest.h>

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {

TEST(PciAddress, EverySpellingIsTheKernels) {
  for (const char* text : {"0000:c1:00.0", "00000000:C1:00.0", "c1:00.0", "0:c1:0.0"}) {
    const auto address = parse_pci_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), "0000:c1:00.0");
  }
  EXPECT_EQ(to_string(*parse_pci_address("10000:E1:1f.7")), "10000:e1:1f.7");
  EXPECT_EQ(to_string(*parse_pci_address("0009:01:00.0")), "0009:01:00.0");
}

TEST(PciAddress, WhatIsNoneIsRefused) {
  for (const char* text : {"", "virtio2", "pci0000:00", "0000:c1:00", "0000:c1:20.0", "0000:c1:00.8", "0000:1c1:00.0",
                           "0000:c1:00.0 ", "0x00:c1:00.0", ":c1:00.0", "a:b:c:d.0", "0000:c1:-1.0"})
    EXPECT_FALSE(parse_pci_address(text)) << text;
}

TEST(PciAddress, OrderIsThatOfTheBus) {
  EXPECT_LT(*parse_pci_address("0000:1b:00.0"), *parse_pci_address("0000:c1:00.0"));
  EXPECT_LT(*parse_pci_address("0000:ff:1f.7"), *parse_pci_address("0001:00:00.0"));
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(PciAddress, AnyAddressIsReadBack) {
  EXPECT_TRUE(rc::check([] {
    const PciAddress address{*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0u, 256u),
                             *rc::gen::inRange(0u, 32u), *rc::gen::inRange(0u, 8u)};
    RC_ASSERT(parse_pci_address(to_string(address)) == address);
  }));
}
#endif

}  // namespace muster
