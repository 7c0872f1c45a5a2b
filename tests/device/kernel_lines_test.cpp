// Messages in the forms that public reports of faults show, written by hand, and what each is read as.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/kernel_log.hpp"
#include "device/nvidia/xid.hpp"

namespace muster {
namespace {

constexpr auto fail = Verdict::fail;
constexpr auto note = Verdict::pass;

struct Line {
  const char* message;
  const char* kind;   ///< empty: nothing is read
  const char* about;  ///< address or name
  Verdict verdict = note;
};

constexpr Line known[] = {
    // NVIDIA: numbers.
    {"NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid",
     "0000:9b:00.0", fail},
    {"NVRM: Xid (PCI:0000:3b:00): 31, pid=2211, name=python3, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS "
     "GPC2",
     "xid", "0000:3b:00.0", note},
    {"NVRM: Xid (PCI:0000:5d:00): 48, pid=991, name=train, DBE (double bit error) in partition 3", "xid",
     "0000:5d:00.0", fail},
    {"NVRM: Xid (PCI:0000:5d:00): 63, pid=991, name=train, Row Remapper: New row marked for remapping", "xid",
     "0000:5d:00.0", note},
    {"NVRM: Xid (PCI:0000:5d:00): 92, pid=1, name=a, High single-bit ECC error rate", "xid", "0000:5d:00.0", note},
    {"NVRM: Xid (PCI:0000:18:00): 109, pid=77, name=python, Ch 00000008, errorString CTX SWITCH TIMEOUT", "xid",
     "0000:18:00.0", fail},
    {"NVRM: Xid (PCI:0000:18:00.0): 119, pid=2380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from "
     "GPU4 GSP!",
     "xid", "0000:18:00.0", fail},
    {"NVRM: Xid (0000:02:00): 13, Graphics Exception: ESR 0x504648=0x124000e", "xid", "0000:02:00.0", note},
    {"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000)",
     "xid", "0018:01:00.0", fail},
    {"NVRM: Xid (PCI:0008:01:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 00 (0x00000004 0x00000200 0x00000000)", "xid",
     "0008:01:00.0", note},
    {"nvidia-nvswitch3: SXid (PCI:0000:07:00.0): 24007, Fatal, Link 46 sourcetrack timeout error (First)", "sxid_fatal",
     "0000:07:00.0", fail},
    {"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 60 egress non-posted PRIV error (First)",
     "sxid", "0000:05:00.0", note},
    {"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Severity 0 Engine instance 60 Sub-engine instance 00", "", ""},
    // NVIDIA: without a number.
    {"NVRM: GPU at PCI:0000:9b:00: GPU-00000000-0000-0000-0000-000000000000", "", ""},
    {"NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.", "gpu_lost", "0000:9b:00.0", fail},
    {"NVRM: GPU at PCI:0000:9b:00.0 has fallen off the bus and is not responding to commands.", "gpu_lost",
     "0000:9b:00.0", fail},
    {"NVRM: The NVIDIA GPU 0000:9b:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\\x0aNVRM: fallen "
     "off the bus and is not responding to commands.",
     "gpu_lost", "0000:9b:00.0", fail},
    {"NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2433)", "gpu_init", "0000:3b:00.0", fail},
    {"NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 1", "gpu_init", "0000:3b:00.0", fail},
    {"NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!", "nvlink_training", "",
     fail},
    {"NVRM: GPU3 nvlink: link 5 failed to train to high speed", "nvlink_training", "", fail},
    {"nvidia-nvlink: Nvlink Core is being initialized, major device number 235", "", ""},
    {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15", "", ""},
    // AMD.
    {"amdgpu 0000:c1:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!", "amd_uncorrected",
     "0000:c1:00.0", fail},
    {"amdgpu 0000:c6:00.0: amdgpu: socket: 0, die: 0 2 uncorrectable hardware errors detected in total in umc block",
     "amd_uncorrected", "0000:c6:00.0", fail},
    {"amdgpu 0000:c6:00.0: amdgpu: socket: 0, die: 0 1 correctable hardware errors detected in total in umc block",
     "amd_corrected", "0000:c6:00.0", note},
    {"amdgpu 0000:c6:00.0: amdgpu: ring sdma0 timeout, signaled seq=11, emitted seq=13", "amd_ring", "0000:c6:00.0",
     note},
    {"[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, signaled seq=5, emitted seq=7", "amd_ring",
     "", note},
    {"amdgpu 0000:c9:00.0: amdgpu: GPU reset begin!", "amd_reset", "0000:c9:00.0", note},
    {"amdgpu 0000:c9:00.0: amdgpu: GPU reset end with ret = -62", "", ""},
    {"amdgpu 0000:c9:00.0: amdgpu: GPU reset(2) failed", "amd_reset_failed", "0000:c9:00.0", fail},
    {"amdgpu 0000:c9:00.0: amdgpu: GPU Recovery Failed: -110", "amd_reset_failed", "0000:c9:00.0", fail},
    {"amdgpu 0000:c9:00.0: amdgpu: Fatal error during GPU init", "amd_init", "0000:c9:00.0", fail},
    {"amdgpu 0000:c9:00.0: amdgpu: RAS records:260 exceed threshold:256, GPU will not be initialized", "amd_bad_pages",
     "0000:c9:00.0", fail},
    {"amdgpu 0000:c9:00.0: [drm] Cannot find any crtc or sizes", "", ""},
    // Processors and memory.
    {"mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400", "mce", "", fail},
    {"mce: [Hardware Error]: Machine check events logged", "mce_corrected", "", note},
    {"[Hardware Error]: Corrected error, no action required.", "mce_corrected", "", note},
    {"[Hardware Error]: Uncorrected, software restartable error.", "mce", "", fail},
    {"[Hardware Error]: Deferred error, no action required.", "mce", "", fail},
    {"{1}[Hardware Error]: event severity: corrected", "mce_corrected", "", note},
    {"{2}[Hardware Error]: event severity: recoverable", "mce", "", fail},
    {"mce: Uncorrected hardware memory error in user-access at 1fe2a8c40", "mce", "", fail},
    {"Memory failure: 0x1fe2a8: recovery action for dirty LRU page: Recovered", "memory_failure", "", fail},
    {"mce: CPU17: Core temperature above threshold, cpu clock throttled (total events = 1)", "cpu_hot", "", note},
    {"EDAC MC1: 1 CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1)", "edac_corrected",
     "MC1", note},
    {"EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x2)",
     "edac_uncorrected", "MC0", fail},
    {"EDAC MC0: 1 UE on mc#0csrow#0channel#1 (csrow:0 channel:1 page:0x2 offset:0x0 grain:32)", "edac_uncorrected",
     "MC0", fail},
    {"EDAC MC0: 1 UE Multi-bit ECC on unknown memory (node:0 page:0x2 offset:0x0 grain:1 - status(0x0): reserved)",
     "edac_uncorrected", "MC0", fail},
    {"EDAC MC0: UE page 0x12, offset 0x0, grain 8, row 3, labels \":\": amd64_edac", "edac_uncorrected", "MC0", fail},
    {"EDAC MC0: UE - no information available: INTERNAL ERROR", "edac_uncorrected", "MC0", fail},
    {"EDAC MC0: UE row 0, channel-a= 0 channel-b= 1 labels \"-\": Fatal", "edac_uncorrected", "MC0", fail},
    {"EDAC MC1: CE page 0x12, offset 0x0, grain 8, syndrome 0x1, row 3, channel 0, label \"\": amd64_edac",
     "edac_corrected", "MC1", note},
    {"EDAC MC1: CE row 0, channel 1, label \"\": Corrected error", "edac_corrected", "MC1", note},
    {"EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)",
     "", ""},
    // PCIe.
    {"pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0", "aer_corrected", "0000:17:00.0", note},
    {"pcieport 0000:16:01.0: AER: Multiple Corrected error received: id=00e0", "aer_corrected", "0000:16:01.0", note},
    {"mlx5_core 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "aer_corrected",
     "0000:17:00.0", note},
    {"pcieport 0000:16:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:17:00.0", "aer_nonfatal", "0000:17:00.0",
     note},
    {"pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:17:00.0", "aer_fatal", "0000:17:00.0", fail},
    {"nvidia 0000:9b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",
     "aer_fatal", "0000:9b:00.0", fail},
    {"pcieport 0000:16:01.0: AER: device recovery failed", "aer_fatal", "0000:16:01.0", fail},
    // Drives.
    {"nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", "nvme", "nvme1", fail},
    {"nvme nvme0: I/O 12 QID 4 timeout, aborting", "nvme_timeout", "nvme0", fail},
    {"nvme nvme0: I/O tag 12 (100c) opcode 0x1 (I/O Cmd) QID 4 timeout, aborting req_op:WRITE(1) size:4096",
     "nvme_timeout", "nvme0", fail},
    {"nvme nvme0: Removing after probe failure status: -19", "nvme", "nvme0", fail},
    {"nvme nvme0: Device not ready; aborting reset, CSTS=0x1", "nvme", "nvme0", fail},
    {"nvme nvme0: 32/0/0 default/read/poll queues", "", ""},
    {"blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0", "disk_error", "sda", fail},
    {"I/O error, dev nvme0n1, sector 4096 op 0x1:(WRITE) flags 0x800", "disk_error", "nvme0n1", fail},
    {"critical medium error, dev sdb, sector 77 op 0x0:(READ) flags 0x80700", "disk_error", "sdb", fail},
    {"Buffer I/O error on dev sdb1, logical block 9, async page read", "disk_error", "sdb1", fail},
    {"I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700", "", ""},
    {"blk_update_request: I/O error, dev loop3, sector 0 op 0x0:(READ)", "", ""},
    {"Buffer I/O error on device sdb1, logical block 9", "disk_error", "sdb1", fail},
    {"print_req_error: I/O error, dev sdb, sector 9 flags 80700", "disk_error", "sdb", fail},
    {"EXT4-fs error (device sda2): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0", "file_system",
     "sda2", fail},
    {"XFS (nvme0n1p1): Metadata corruption detected at xfs_agf_verify+0x8c/0x190", "file_system", "nvme0n1p1", fail},
    {"XFS (sda1): Corruption of in-memory data (0x8) detected at xfs_trans_cancel+0x1.  Shutting down filesystem.",
     "file_system", "sda1", fail},
    {"XFS (sda1): Log I/O Error Detected.  Shutting down filesystem. Please unmount", "file_system", "sda1", fail},
    {"XFS (sda1): Log I/O Error (0x2) detected at xlog_ioend_work+0x6e/0x70 [xfs] (fs/xfs/xfs_log.c:1378).  Shutting "
     "down filesystem.",
     "file_system", "sda1", fail},
    {"XFS (sda1): Metadata I/O Error (0x1) detected at xfs_buf_ioend+0x1 (fs/xfs/xfs_buf.c:1).  Shutting down "
     "filesystem.",
     "file_system", "sda1", fail},
    {"XFS (sda1): Corruption of on-disk metadata (0x8) detected at x+0x1 (fs/a.c:1).  Shutting down filesystem.",
     "file_system", "sda1", fail},
    {"XFS (sda1): Block device removal (0x20) detected at x+0x1 (fs/a.c:1).  Shutting down filesystem.", "file_system",
     "sda1", fail},
    {"XFS (sda1): I/O Error Detected. Shutting down filesystem", "file_system", "sda1", fail},
    {"XFS (sda1): I/O error (0x1) detected at x+0x1 (fs/a.c:1). Shutting down filesystem", "file_system", "sda1", fail},
    {"XFS (sda1): xfs_do_force_shutdown(0x8) called from line 985 of file fs/xfs/xfs_trans.c.  Return address = 0x1",
     "file_system", "sda1", fail},
    {"XFS (sda1): Filesystem has been shut down due to log error (0x2).", "file_system", "sda1", fail},
    {"XFS (sda1): User initiated shutdown received. Shutting down filesystem", "", ""},
    {"XFS (sda1): Unmounting Filesystem", "", ""},
    {"EXT4-fs error (device nvme0n1p2): ext4_journal_check_start:84: comm python3: Detected aborted journal",
     "file_system", "nvme0n1p2", fail},
    {"EXT4-fs error (device sda2) in ext4_reserve_inode_write:5765: Journal has aborted", "file_system", "sda2", fail},
    {"EXT4-fs (sda2): Remounting filesystem read-only", "file_system", "sda2", fail},
    // A user's damaged image, or LVM of the node.
    {"EXT4-fs error (device loop0): ext4_lookup:1855: inode #2: comm ls: deleted inode referenced: 12", "", ""},
    {"EXT4-fs (loop0): Remounting filesystem read-only", "", ""},
    {"XFS (loop3): Metadata corruption detected at xfs_agf_verify+0x8c/0x190", "", ""},
    {"XFS (loop3): Corruption detected. Unmount and run xfs_repair", "", ""},
    {"EXT4-fs error (device dm-7): ext4_lookup:1855: inode #2: comm ls: deleted inode referenced: 12", "mapped_device",
     "dm-7", note},
    {"XFS (dm-0): Metadata corruption detected at xfs_agf_verify+0x8c/0x190", "mapped_device", "dm-0", note},
    {"Buffer I/O error on dev dm-7, logical block 5, async page read", "mapped_device", "dm-7", note},
    {"I/O error, dev dm-7, sector 5 op 0x0:(READ) flags 0x0", "mapped_device", "dm-7", note},
    {"EXT4-fs (vda): mounted filesystem with ordered data mode", "", ""},
    // The kernel's own troubles.
    {"INFO: task python3:4242 blocked for more than 120 seconds.", "hung_task", "", note},
    {"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]", "soft_lockup", "", note},
    {"NMI watchdog: Watchdog detected hard LOCKUP on cpu 12", "hard_lockup", "", fail},
    {"watchdog: Watchdog detected hard LOCKUP on cpu 6", "hard_lockup", "", fail},
    {"watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 6", "hard_lockup", "", fail},
    {"watchdog: CPU 19 self-detected hard LOCKUP @ _raw_spin_lock_irq+0x60/0x100", "hard_lockup", "", fail},
    {"watchdog: CPU 3 detected hard LOCKUP on other CPUs 7", "hard_lockup", "", fail},
    {"NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]", "soft_lockup", "", note},
    {"watchdog: NMI not fully supported", "", ""},
    {"timeout error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "disk_error", "sda", fail},
    {"Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB", "oom", "", note},
    {"Memory cgroup out of memory: Killed process 4242 (python3) total-vm:1kB", "oom", "", note},
    // Adapters.
    {"mlx5_core 0000:1a:00.0: device's health compromised - reached miss count", "adapter", "0000:1a:00.0", fail},
    {"mlx5_core 0000:1a:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)",
     "cable", "0000:1a:00.0", fail},
    {"mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged", "", ""},
    {"mlx5_core 0000:1a:00.0 ens1np0: Link up", "", ""},
};

std::string subject_of(const KernelEvent& event) {
  return event.at ? to_string(*event.at) : event.part;
}

TEST(KernelLines, EachIsReadAsItShould) {
  EXPECT_GE(std::size(known), 60u);
  for (const Line& line : known) {
    const auto events = parse_kernel_log(fmt::format("4,1,1,-;{}\n", line.message));
    if (*line.kind == 0) {
      EXPECT_TRUE(events.empty()) << line.message;
      continue;
    }
    ASSERT_EQ(events.size(), 1u) << line.message;
    EXPECT_EQ(events[0].kind, line.kind) << line.message;
    EXPECT_EQ(subject_of(events[0]), line.about) << line.message;
    const KernelKind* kind = find_kernel_kind(events[0].kind);
    EXPECT_EQ(kind != nullptr ? kind->verdict : xid_meaning(events[0].code, events[0].words).verdict, line.verdict)
        << line.message;
  }
}

/// LVM of the node, as its root file system is on most.
TEST(KernelLines, AMappedDeviceOnDrivesIsADrive) {
  constexpr Line lines[] = {
      {"EXT4-fs error (device dm-0): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
       "file_system", "dm-0", fail},
      {"EXT4-fs (dm-0): Remounting filesystem read-only", "file_system", "dm-0", fail},
      {"XFS (dm-0): Log I/O Error (0x2) detected at a+0x1 (fs/a.c:1).  Shutting down filesystem.", "file_system",
       "dm-0", fail},
      {"Buffer I/O error on dev dm-0, logical block 5, lost async page write", "disk_error", "dm-0", fail},
      {"XFS (dm-7): Metadata corruption detected at xfs_agf_verify+0x8c/0x190", "mapped_device", "dm-7", note}};
  for (const Line& line : lines) {
    const auto events = parse_kernel_log(fmt::format("4,1,1,-;{}\n", line.message),
                                         [](std::string_view device) { return device == "dm-0"; });
    ASSERT_EQ(events.size(), 1u) << line.message;
    EXPECT_EQ(events[0].kind, line.kind) << line.message;
    EXPECT_EQ(subject_of(events[0]), line.about);
  }
}

/// What the kernel writes behind the name of a program, which has up to 15 bytes; FILE: a name that a user chooses.
constexpr std::string_view tails[] = {
    " uses obsolete (PF_INET,SOCK_PACKET)",
    "(21301): Attempt to set a LOCK_MAND lock via flock(2). This support has been removed and the request ignored.",
    "/123: potentially unexpected fatal signal 11.",
    "[4711]: segfault at 0 ip 00005581 sp 00007ffc error 4 in FILE[5581+1000]",
    "[4711] general protection fault ip:5581 sp:7ffc error:0 in FILE[5581+1000]",
    "[4711]: bad frame in sigreturn frame:0000 ip:5581 in FILE[5581+1000]",
    ": page allocation failure: order:0, mode:0x0, nodemask=(null),cpuset=FILE,mems_allowed=0",
    ": vmalloc error: size 4096, failed to allocate pages, mode:0xdc0(GFP_KERNEL),cpuset=FILE",
    ": vmalloc: allocation failure: 4096 bytes, mode:0xdc0(GFP_KERNEL), cpuset=FILE",
    " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0, cpuset=FILE",
    " (4711): drop_caches: 3",
    " (4711) used greatest stack depth: 11000 bytes left",
    " (4711): Uses a deprecated system call FILE",
    "(4711): unaligned access to 0x0, ip=0x0",
    " uses deprecated option FILE",
    " is using a deprecated SCSI ioctl, please convert it to SG_IO",
    " sent SIGKILL to FILE",
    " used a deprecated system call FILE",
};

/// Messages of every heading, cut where a program's name ends, and continued as the kernel does; with the rest of the
/// message as the name of a file.
TEST(KernelLines, NamesOfProgramsCutFromAnyMessageAreNoEvent) {
  for (const Line& line : known) {
    const std::string_view message = line.message;
    for (std::size_t size = 1; size <= 15; ++size)
      for (const std::string_view tail : tails)
        for (const std::string_view file : {message, message.substr(size), std::string_view("training failed"),
                                            std::string_view("corruption UE  page:0x")}) {
          std::string record = fmt::format("4,1,1,-;{}{}", message.substr(0, size), tail);
          if (const auto at = record.find("FILE"); at != record.npos) record.replace(at, 4, file);
          EXPECT_TRUE(parse_kernel_log(record + "\n").empty()) << record;
        }
  }
}

/// The same of names that leave a letter out, to have room for the next words.
TEST(KernelLines, NamesThatResembleAMessageAreNoEvent) {
  for (const std::string_view name :
       {"I/O error dev s", "I/O error,dev a", "XFS (a): corrup", "XFS (sda1): ", "EXT4-fs error", "EDAC MC0: 1 UE ",
        "EDAC MC0:  UE ", "nvme nvme0: I/O", "nvme n: I/O ", "nvidia-nvswitch", "nvidia-nvlink: ", "NVRM: link",
        "NVRM: nvlink: ", "NVRM: knvlinkUp", "NVRM: GPU0 link", "a 0000:c1:00.0:", "mce: CPU", "Memory failure:"})
    for (const std::string_view tail : tails)
      for (const std::string_view file : {"training failed", "corruption", " UE ", "link timeout",
                                          "I/O error, dev sda, "
                                          "sector 1"}) {
        std::string record = fmt::format("4,1,1,-;{}{}", name, tail);
        if (const auto at = record.find("FILE"); at != record.npos) record.replace(at, 4, file);
        EXPECT_TRUE(parse_kernel_log(record + "\n").empty()) << record;
      }
}

/// Its address stands in the record before.
TEST(KernelLines, AMessageOfSeveralRecords) {
  const auto events = parse_kernel_log(
      "3,1,1,-;NVRM: The NVIDIA GPU 0000:9b:00.0\n3,2,1,-;NVRM: (PCI ID: 10de:2330) installed in this system has\n"
      "3,3,1,-;NVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(subject_of(events[0]), "0000:9b:00.0");
}

TEST(KernelLines, ALinkThatGoesDownHasBeenUp) {
  const std::string down = "6,1,1,-;mlx5_core 0000:1a:00.0 ens1np0: Link down\n";
  const std::string up = "6,1,1,-;mlx5_core 0000:1a:00.0 ens1np0: Link up\n";
  EXPECT_TRUE(parse_kernel_log(down + up).empty()) << "so it is at every start";
  EXPECT_EQ(parse_kernel_log(down + up + down + up + down).size(), 2u);
  EXPECT_TRUE(parse_kernel_log(up + "6,1,1,-;mlx5_core 0000:1b:00.0 ens2np0: Link down\n").empty()) << "of another";
}

TEST(KernelLines, EveryPatternIsOfAKind) {
  for (const KernelPattern& pattern : kernel_patterns())
    EXPECT_TRUE(pattern.kind == "link_up" || find_kernel_kind(pattern.kind) != nullptr) << pattern.kind;
  for (const KernelKind& kind : kernel_kinds()) EXPECT_FALSE(kind.remedy.empty() || kind.words.empty()) << kind.name;
}

}  // namespace
}  // namespace muster
