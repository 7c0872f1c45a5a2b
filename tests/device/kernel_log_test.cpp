// The kernel's log, the numbers of NVIDIA's driver, and amdgpu's table of measurements.
#include "device/kernel_log.hpp"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "device/amd/gpu_metrics.hpp"

namespace muster {
namespace {

TEST(KernelLog, XidsOfTheKernel) {
  const auto events = parse_kernel_log(
      "6,0,0,-;Linux version 6.1.0 (somebody)\n"
      "4,812,99,-;NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
      " SUBSYSTEM=pci\n DEVICE=+pci:0000:c1:00.0\n"
      "4,813,120,-,caller=T17;NVRM: Xid (0000:c5:00): 31, Ch 00000010\n"
      "0,814,130,c;NVRM: Xid (PCI:0001:c5:00.0): 119, Timeout\n"
      "4,815,140,-;NVRM: Xid (nonsense): 119\n"
      "4,816,150,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(to_string(events[0].at.value()), "0000:c1:00.0");
  EXPECT_EQ(events[0].code, 79);
  EXPECT_EQ(events[0].words, "NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', GPU has fallen off the bus.");
  EXPECT_EQ(events[1].code, 31);
  EXPECT_EQ(to_string(events[2].at.value()), "0001:c5:00.0");
}

/// Names of programs, up to 15 bytes that any user chooses, stand in messages of the kernel's own.
TEST(KernelLog, TextOfUsersInsideOfAMessageIsText) {
  const std::vector<std::string> harmless = {
      "6,900,1,-;xxxxNVRM: Xid (PCI:0000:c1:00): 79, [4242]: segfault at 0 ip 0 sp 0 error 4 in evil[400000+1000]",
      "6,900,1,-;NVRM: Xid (PCI:[4242]: segfault at 0 ip 0 sp 0 error 4 in 0000:c1:00): 79, evil[400000+1000]",
      "6,900,1,-;amdgpu c1:00.0: page allocation failure: order:0, mode:0x0, cpuset=GPU is lost",
      "6,900,1,-;traps: amdgpu 0000:c1:00.0: GPU is lost[4242] trap invalid opcode",
      "6,900,1,-;process 4242 (a\\x0a4,1,1,-;NVRM: Xid (PCI:0000:c1:00): 79) used a deprecated system call",
      "6,900,1,-;nvme nvme0[4242]: segfault at 0 ip 0 sp 0 error 4 in controller is down[400000+1000]",
      "6,900,1,-;NVRM: \\x88\\x88\\x88\\x88\\x88\\x88\\x88\\x88[4242]: segfault at 0 ip 0 sp 0 error 4 in GPU has "
      "fallen off the bus[400000+1000]",
      "6,900,1,-;EDAC MC0: 1 UE[4242]: segfault at 0 ip 0 sp 0 error 4 in x UE y[400000+1000]",
      "6,900,1,-;XFS (sda1): a invoked oom-killer: gfp_mask=0x0, order=0, corruption",
      "6,900,1,-;I/O error, dev[4242]: segfault at 0 ip 0 sp 0 error 4 in I/O error, dev sda, sector[400000+1000]",
      " 4,900,1,-;NVRM: Xid (PCI:0000:c1:00): 79, in a field of the record before",
      "6,900,1,-;traps: fifteen_letters[4242] trap invalid opcode ip:401000 sp:7ffc error:0 in a: I/O error, dev sda, "
      "sector 1[400000+1000]",
      "4,900,1,-;process '/tmp/a: critical medium error, dev sda, sector 1' started with executable stack",
      "6,900,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a: I/O error, dev sda, sector 1,task=b,pid=4242",
      "4,900,1,-;EDAC MC0: 1 UE : vmalloc error: size 4096, failed to allocate pages, mode:0xdc0(GFP_KERNEL)",
      "3,900,1,-;amdgpu 0000:c1:00.0: amdgpu:  in process GPU is lost pid 4242 thread GPU is lost pid 4242",
      "3,900,1,-;amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8, for process "
      "Fatal "
      "error pid 4242 thread Fatal error pid 4242)",
      "6,27117,30085979483,-;I/O error dev s uses obsolete (PF_INET,SOCK_PACKET)",
      "4,27118,30085979548,-;I/O error dev s(21301): Attempt to set a LOCK_MAND lock via flock(2). This support has "
      "been removed and the request ignored.",
      "6,900,1,-;I/O error dev s/123: potentially unexpected fatal signal 11.",
      "4,900,1,-;I/O error dev s: vmalloc: allocation failure: 4096 bytes, mode:0xdc0(GFP_KERNEL)",
      "4,900,1,-;Buffer I/O error on dev sda1, some other words",
      "4,900,1,-;EDAC MC0: 1 UE xxxxx on x",
      "4,900,1,-;a 0000:c1:00.0: link is down, of a driver that is shorter than any",
      "4,900,1,-;amdgpu 0000:c1:00.0: amdgpu: VM memory stats for proc GPU is lost(4242) task GPU is lost(4242) is "
      "non-zero when fini",
  };
  for (const std::string& line : harmless) EXPECT_TRUE(parse_kernel_log(line + "\n").empty()) << line;
}

/// root may write to /dev/kmsg; the kernel gives that the facility of users, 1.
TEST(KernelLog, OtherFacilitiesAreNotTheKernel) {
  for (const char* line : {"12,5,1,-;NVRM: Xid (PCI:0000:c1:00): 79, forged", "8,5,1,-;NVRM: Xid (PCI:0000:c1:00): 79",
                           "NVRM: Xid (PCI:0000:c1:00): 79, no record", ",5,1,-;NVRM: Xid (PCI:0000:c1:00): 79",
                           "4;NVRM: Xid (PCI:0000:c1:00): 79", "4", "", ";"})
    EXPECT_TRUE(parse_kernel_log(line).empty()) << line;
}

/// `yyyyLinux version 6.1.0` is a name for a program, too.
TEST(KernelLog, NoTextEndsTheBootBefore) {
  const auto events = parse_kernel_log(
      "4,1,1,-;NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.\n"
      "6,2,2,-;yyyyLinux version 6.1.0[4242]: segfault at 0 ip 0 sp 0 error 4\n"
      "6,3,3,-;Linux version 6[4243]: segfault at 0 ip 0 sp 0 error 4\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].code, 79);
}

/// Any user writes lines of any name into the files of a log daemon.
TEST(KernelLog, FilesOfALogDaemonAreNotRead) {
  const fs::path root = fs::temp_directory_path() / ("muster-kernel-log-" + std::to_string(::getpid()));
  fs::create_directories(root / "var/log");
  for (const char* name : {"kern.log", "messages"})
    ASSERT_TRUE(write_file(root / "var/log" / name, "4,1,1,-;NVRM: Xid (PCI:0000:c1:00): 79, forged\n"));
  EXPECT_EQ(read_kernel_log(root.string()).file, "");
  fs::create_directories(root / "dev");
  ASSERT_TRUE(write_file(root / "dev/kmsg", "4,1,1,-;NVRM: Xid (PCI:0000:c1:00): 79, of the kernel\n"));
  EXPECT_EQ(read_kernel_log(root.string()).events.size(), 1u);
  fs::remove_all(root);
}

/// Any user can make the kernel write so much that old records are overwritten.
TEST(KernelLog, OverwrittenRecordsAreNoticed) {
  const fs::path root = fs::temp_directory_path() / ("muster-kernel-log-lost-" + std::to_string(::getpid()));
  fs::create_directories(root / "dev");
  const auto log_of = [&](std::string_view text) {
    EXPECT_TRUE(write_file(root / "dev/kmsg", text));
    return read_kernel_log(root.string());
  };
  auto log =
      log_of("6,28463,30745294260,-;vc101n3: entered promiscuous mode\n SUBSYSTEM=net\n6,28464,30745316096,-;b\n");
  EXPECT_EQ(log.begins, 30745);
  EXPECT_EQ(log.missing, 0u);
  log = log_of("6,0,0,-;Linux version 6.1.0\n12,1,5,-;of a user\n6,2,9000000,-;b\n6,7,30745316096,-;c\n");
  EXPECT_EQ(log.begins, 0);
  EXPECT_EQ(log.missing, 4u);
  EXPECT_EQ(log_of("6,12,4000000,-;the first moments of a boot that writes much\n").begins, 0);
  EXPECT_EQ(log_of("6,0,30745316096,-;whole\n").begins, 0);
  log = log_of("nonsense\n6,99999999999999999999999,1,-;a\n6,1,\n");
  EXPECT_EQ(log.begins, 0);
  EXPECT_EQ(log.missing, 0u);
  fs::remove_all(root);
}

/// Below dm-0 are partitions, below dm-7 is the loop device of a user's image, dm-8 is on both, dm-9 is gone.
TEST(KernelLog, AMappedDeviceIsWhatIsBelowIt) {
  const fs::path root = fs::temp_directory_path() / ("muster-kernel-log-mapped-" + std::to_string(::getpid()));
  fs::create_directories(root / "dev");
  for (const char* below : {"dm-0/slaves/sda2", "dm-0/slaves/nvme0n1p1", "dm-1/slaves/dm-0", "dm-7/slaves/loop3",
                            "dm-8/slaves/dm-7", "dm-8/slaves/sda3", "dm-5/slaves"})
    fs::create_directories(root / "sys/block" / below);
  const auto kind_of = [&](int number) {
    const auto text = "3,0,1,-;Buffer I/O error on dev dm-" + std::to_string(number) + ", logical block 5\n";
    EXPECT_TRUE(write_file(root / "dev/kmsg", text));
    const auto log = read_kernel_log(root.string());
    return log.events.empty() ? std::string() : log.events[0].kind;
  };
  for (const int number : {0, 1}) EXPECT_EQ(kind_of(number), "disk_error") << number;
  for (const int number : {5, 7, 8, 9}) EXPECT_EQ(kind_of(number), "mapped_device") << number;
  fs::remove_all(root);
}

/// Arrays and caches: of md127 a partition is named, md126 is on a user's image, md125 on that and a drive, md124 on
/// LVM of drives, md123 has lost all. Nothing else is known of storage in the network.
TEST(KernelLog, AnArrayIsWhatIsBelowIt) {
  const fs::path root = fs::temp_directory_path() / ("muster-kernel-log-array-" + std::to_string(::getpid()));
  fs::create_directories(root / "dev");
  for (const char* below : {"md127/slaves/nvme0n1",
                            "md127/slaves/nvme1n1",
                            "md127/md127p1",
                            "md126/slaves/loop3p1",
                            "md125/slaves/nvme2n1",
                            "md125/slaves/loop4",
                            "md124/slaves/dm-0",
                            "dm-0/slaves/md127p1",
                            "md123/slaves",
                            "md_d5/slaves/sda",
                            "md_d5/md_d5p1",
                            "bcache0/slaves/sdb",
                            "bcache0/slaves/nvme3n1",
                            "bcache0/bcache0p2",
                            "bcache1/slaves/loop5",
                            "bcache2/slaves/nbd0",
                            "rbd0/slaves",
                            "zd16",
                            "zd16/zd16p1",
                            "drbd0"})
    fs::create_directories(root / "sys/block" / below);
  const auto kinds_of = [&](const std::string& name) {
    EXPECT_TRUE(write_file(root / "dev/kmsg", "3,0,1,-;Buffer I/O error on dev " + name +
                                                  ", logical block 5\n3,1,2,-;EXT4-fs error (device " + name +
                                                  "): ext4_lookup:1602: inode #2: comm ls: bad extra_isize\n"));
    std::string kinds;
    for (const KernelEvent& event : read_kernel_log(root.string()).events) kinds += event.kind + " ";
    return kinds;
  };
  for (const char* name : {"md127", "md127p1", "md124", "md_d5", "md_d5p1", "bcache0", "bcache0p2"})
    EXPECT_EQ(kinds_of(name), "disk_error file_system ") << name;
  for (const char* name : {"md126", "md125", "md123", "md9", "md127p9", "bcache1", "bcache2", "bcache7p1", "rbd0",
                           "rbd0p1", "zd16p1", "drbd0"})
    EXPECT_EQ(kinds_of(name), "mapped_device mapped_device ") << name;
  for (const char* name : {"nbd0", "nbd0p1", "zram0", "ram1", "sr0", "fd0", "loop0p1", "ublkb0", "nullb0"})
    EXPECT_EQ(kinds_of(name), "") << name;
  fs::remove_all(root);
}

TEST(KernelLog, FaultsOfAmdgpu) {
  const auto events = parse_kernel_log(
      "4,1,1,-;amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!\n"
      "4,2,2,-;amdgpu 0000:c6:00.0: [drm] *ERROR* ring sdma0 timeout, signaled seq=1\n"
      "4,3,3,-;amdgpu 0000:c6:00.0: amdgpu: ring gfx uses VM inv eng 0 on hub 0\n"
      "4,4,4,-;amdgpu 0000:c9:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, "amd_reset");
  EXPECT_EQ(events[1].kind, "amd_ring");
  EXPECT_EQ(to_string(events[1].at.value()), "0000:c6:00.0");
  EXPECT_EQ(events[2].kind, "amd_uncorrected");
}

/// A table of ones, as amdgpu begins it.
std::string table(std::size_t size, int revision) {
  std::string bytes(size, '\xff');
  const auto length = static_cast<std::uint16_t>(size);
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes[2] = 1;
  bytes[3] = static_cast<char>(revision);
  return bytes;
}
template <class Number>
void put(std::string& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof(number));
}

TEST(GpuMetrics, RevisionsAreToldApart) {
  auto old = table(120, 3);
  put(old, 112, std::uint64_t{1} | std::uint64_t{1} << 36);
  put(old, 54, std::uint16_t{1700});
  put(old, 74, std::uint16_t{16});
  put(old, 76, std::uint16_t{160});
  auto values = parse_gpu_metrics(old);
  EXPECT_EQ(values["throttled_by"], "power_cap, heat");
  EXPECT_EQ(values["clock_gfx"], "1700");
  EXPECT_EQ(values["pcie_speed_now"], "16");
  EXPECT_EQ(values.count("clock_memory"), 0u) << "not filled";

  auto newer = table(1664, 6);
  put(newer, 36, std::uint32_t{3});
  put(newer, 52, std::uint32_t{900});
  put(newer, 104, std::uint64_t{12});
  values = parse_gpu_metrics(newer);
  EXPECT_EQ(values["gpu_metrics"], "1.6");
  EXPECT_EQ(values["throttle_prochot"], "3");
  EXPECT_EQ(values["throttle_heat"], "900");
  EXPECT_EQ(values["pcie_replays"], "12");
  EXPECT_EQ(values.count("xgmi_links_up"), 0u) << "1.6 has none";

  for (const auto& [size, revision] : {std::pair(2208, 7), std::pair(3360, 8)}) {
    auto links = table(static_cast<std::size_t>(size), revision);
    for (std::size_t link = 0; link < 4; ++link) put(links, 264 + 2 * link, std::uint16_t{link != 2});
    EXPECT_EQ(parse_gpu_metrics(links)["xgmi_links_up"], "0, 1, 3") << revision << ", those of ones were not filled";
    EXPECT_EQ(parse_gpu_metrics(links)["xgmi_links_inactive"], "2") << revision;
  }
}

TEST(GpuMetrics, WhatIsNotKnownTellsNothing) {
  EXPECT_TRUE(parse_gpu_metrics("").empty());
  EXPECT_TRUE(parse_gpu_metrics("abc").empty());
  EXPECT_EQ(parse_gpu_metrics(table(64, 9)).size(), 1u) << "its revision";
  EXPECT_EQ(parse_gpu_metrics(table(120, 3).substr(0, 100)).size(), 1u) << "cut off";
  EXPECT_EQ(parse_gpu_metrics(table(124, 3)).size(), 1u) << "longer than it should be";
}

}  // namespace
}  // namespace muster
