// Machine descriptions: the shipped ones, what they say, and every mistake with its place.
#include "config/machines.hpp"

#include <gtest/gtest.h>

#include "config/malformed.hpp"

namespace muster::fake {

namespace {

const fs::path folder = fs::path(MUSTER_SOURCE_DIR) / "simulation/machines";

MachineDescription shipped(const std::string& name) {
  Diagnostics diagnostics;
  const fs::path path = folder / (name + ".toml");
  const auto text = read_file(path);
  EXPECT_TRUE(text) << path;
  auto machine = parse_machine(text ? *text : "", path.string(), diagnostics);
  EXPECT_EQ(texts(diagnostics), std::vector<std::string>{});
  return machine;
}

std::vector<std::string> hex(const std::vector<CpuMask>& masks) {
  std::vector<std::string> all;
  for (const CpuMask& mask : masks) all.push_back(mask.hex());
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST(Machines, AllShippedOnesAreWellFormedAndNamedLikeTheirFile) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto machine = shipped(entry.path().stem().string());
    EXPECT_EQ(machine.name, entry.path().stem().string());
    EXPECT_TRUE(is_machine_document(*read_file(entry.path())));
    EXPECT_FALSE(machine.sources.empty()) << "facts have a source";
    for (const MachineFault& fault : machine.faults) {
      EXPECT_FALSE(fault.summary.empty()) << machine.name << " " << fault.name;
      EXPECT_TRUE(with_faults(machine, Names{fault.name})) << machine.name << " " << fault.name;
    }
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(Machines, LumiHasTheGpusOfTheUserGuideBesideTheirCaches) {
  const auto lumi = shipped("lumi-g");
  EXPECT_EQ(lumi.cores, 64);
  EXPECT_EQ(lumi.core(3).list(), "3,67");
  EXPECT_EQ(lumi.caches.size(), 8u);
  EXPECT_EQ(lumi.domains.size(), 4u);
  EXPECT_EQ(lumi.reserved.list(), "0,8,16,24,32,40,48,56");
  const std::vector<std::pair<std::string, std::size_t>> caches{{"c1", 6}, {"c6", 7}, {"c9", 2}, {"ce", 3},
                                                                {"d1", 0}, {"d6", 1}, {"d9", 4}, {"de", 5}};
  ASSERT_EQ(lumi.gpus.devices.size(), caches.size());
  ASSERT_EQ(lumi.gpus.links.size(), 12u);
  EXPECT_EQ(lumi.gpus.links[4], (DescribedLinks{"0000:c1:00.0", "0000:d9:00.0", 2}));
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const DescribedGpu& gpu = lumi.gpus.devices[i];
    EXPECT_EQ(gpu.address, "0000:" + caches[i].first + ":00.0");
    EXPECT_EQ(gpu.near, lumi.caches[caches[i].second]) << gpu.address;
    EXPECT_EQ(gpu.domain, static_cast<int>(caches[i].second / 2)) << gpu.address;
    EXPECT_TRUE(lumi.masks[i].is_subset_of(gpu.near)) << "the mask of rank " << i;
    EXPECT_FALSE(lumi.masks[i].intersects(lumi.reserved)) << "the mask of rank " << i;
  }
}

TEST(Machines, FaultsChangeWhatTheySay) {
  const auto lumi = shipped("lumi-g");
  const auto shifted = with_faults(lumi, Names{"masks_shifted"});
  ASSERT_TRUE(shifted);
  EXPECT_EQ(shifted->masks[0], lumi.masks[1]);
  EXPECT_EQ(shifted->masks[7], lumi.masks[0]);
  EXPECT_EQ(with_faults(lumi, Names{"masks_moved"})->masks[4].hex(), "0x1fc");
  const auto both = with_faults(lumi, Names{"gpu_missing", "nic_down"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->gpus.devices.size(), 7u);
  EXPECT_EQ(both->gpus.devices[5].address, lumi.gpus.devices[6].address);
  EXPECT_EQ(both->nics[2].state, "down");
  EXPECT_EQ(both->applied_faults, (Names{"gpu_missing", "nic_down"}));
}

TEST(Machines, AFaultThatIsNotThereIsNamedWithWhatCouldBeMeant) {
  const auto failed = with_faults(shipped("lumi-g"), Names{"gpu_mising"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(to_string(failed.error()), "lumi-g: has no fault \"gpu_mising\"; did you mean \"gpu_missing\"?");
}

namespace {

const std::string head = "[machine]\nname = \"m\"\nsynthetic = true\nsources = [\"nobody\"]\n";
const std::string cpu = head + "[cpu]\ncores = 4\n";
const std::string whole = cpu + "[[domain]]\ncpus = \"0-3\"\n";                                    // 8 lines
const std::string gpus = whole + "[gpus]\nvendor = \"amd\"\nmodel = \"M\"\nid = \"1002:7408\"\n";  // 12 lines
const std::string gpu = gpus + "devices = [{ address = \"0000:c1:00.0\", domain = 0 }]\n";

const Malformed table[] = {
    {"nothing",
     "# nothing\n",
     {R"(f.toml:1:1: a machine has a table [machine]; write for example [machine] and name = "lumi-g")",
      "f.toml:1:1: a machine has a table [cpu]; write for example [cpu] and cores = 64"}},
    {"not_synthetic",
     "[machine]\nname = \"m\"\nsynthetic = false\nsources = [\"x\"]\n[cpu]\ncores = 1\n[[domain]]\ncpus = \"0\"\n",
     {R"(f.toml:3:13: "synthetic" of [machine] must be true: a description is made up, by its nature)"}},
    {"no_sources",
     "[machine]\nname = \"m\"\nsynthetic = true\n[cpu]\ncores = 1\n[[domain]]\ncpus = \"0\"\n",
     {R"(f.toml:1:2: [machine] has no "sources"; write for example sources = ["the site's user guide, page hardware"])"}},
    {"no_domain", cpu, {R"(f.toml:1:1: a machine has at least one [[domain]]; write for example cpus = "0-63")"}},
    {"domain_beyond",
     cpu + "[[domain]]\ncpus = \"0-4\"\n",
     {R"(f.toml:8:8: "0-4" is not a list of this machine's CPUs: names CPU 4, and the last one of this machine is 3; write for example "0-3")"}},
    {"left_over", cpu + "[[domain]]\ncpus = \"0-2\"\n", {"f.toml:7:3: CPUs 3 are in no [[domain]]"}},
    {"twice",
     cpu + "[[domain]]\ncpus = \"0-2\"\n[[domain]]\ncpus = \"2-3\"\n",
     {"f.toml:10:8: CPUs 2 are in another domain, too"}},
    {"caches",
     head + "[cpu]\ncores = 4\ncaches = { count = 3 }\n[[domain]]\ncpus = \"0-3\"\n",
     {"f.toml:7:20: 4 cores can't be shared out over 3 caches"}},
    {"mask",
     whole + "[ranks]\nmasks = [\"0x10\"]\n",
     {R"(f.toml:10:10: "0x10" is not a mask of this machine's CPUs: names CPU 4, and the last one of this machine is 3)"}},
    {"placeholder",
     whole + "[ranks.environment]\nA = \"{lokal_rank}\"\n",
     {R"(f.toml:10:5: nothing fills {lokal_rank}; did you mean "local_rank"?)"}},
    {"address",
     gpus + "devices = [{ address = \"c1:00.0\" }]\n",
     {R"(f.toml:13:24: "address" in "devices" of [gpus] must be a PCI address as the kernel writes it, such as "0000:c1:00.0", not "c1:00.0")"}},
    {"same_address",
     gpus + "devices = [{ address = \"0000:c1:00.0\" }, { address = \"0000:c1:00.0\" }]\n",
     {"f.toml:13:54: another device is at 0000:c1:00.0, too"}},
    {"links",
     gpu + "links = [[0, 1, 4]]\n",
     {R"(f.toml:14:10: "links" in [gpus] must be pairs of GPUs with a number of links from 1 to 64, written [[0, 1, 4], [0, 2, 1]], not an array)"}},
    {"links_of_nobody",
     gpu + "links = 4\n",
     {R"(f.toml:14:9: "links" in [gpus] must be pairs of GPUs with a number of links from 1 to 64, written [[0, 1, 4], [0, 2, 1]], not 4)"}},
    {"fault_of_no_gpu",
     gpu + "[fault.f]\ngpu_missing = 1\n",
     {R"(f.toml:15:15: "gpu_missing" in [fault.f] must be numbers of GPUs, from 0 to 0, not 1)"}},
    {"fault_of_no_nic", gpu + "[fault.f]\nnic_down = \"hsn0\"\n", {R"(f.toml:15:12: unknown NIC "hsn0")"}},
    {"fault_of_nothing",
     gpu + "[fault.f]\nsummary = \"s\"\n",
     {"f.toml:14:8: [fault.f] changes nothing; write for example gpu_missing = [5]"}},
    {"driver_verb",
     gpu + "driver = [\"sett 0 uuid x\", \"set 0 uuid x\"]\n",
     {R"(f.toml:14:11: "sett 0 uuid x": unknown line "sett"; did you mean "set"?)"}},
    {"driver_key",
     gpu + "[fault.f]\ndriver = [\"set 0 temprature 90\"]\n",
     {R"(f.toml:15:11: "set 0 temprature 90": unknown value "temprature"; did you mean "temperature"?; written set GPU KEY VALUE)"}},
    {"driver_function",
     gpu + "driver = [\"hang hipMemcpyAsink\", \"fail cuInit 3\"]\n",
     {R"(f.toml:14:11: "hang hipMemcpyAsink": unknown function of AMD's libraries "hipMemcpyAsink"; did you mean "hipMemcpyAsync"?; written hang CALL [GPU] [after N])",
      R"(f.toml:14:34: "fail cuInit 3": cuInit is a function of another vendor, and the GPUs are AMD's; written fail CALL CODE [GPU] [after N])"}},
    {"driver_of_an_unknown_vendor",
     whole + "[gpus]\nvendor = \"nvidai\"\nmodel = \"M\"\nid = \"10de:2330\"\ndevices = [{ address = \"0000:c1:00.0\", "
             "domain = 0 }]\n"
             "driver = [\"fail cuInit 3\"]\n",
     {R"(f.toml:10:10: unknown vendor "nvidai"; did you mean "nvidia"?)"}},
    {"driver_gpu",
     gpu + "driver = [\"xid 1 79\", \"fail hipInit 3 0\"]\n",
     {R"(f.toml:14:11: "xid 1 79": "1" is not a number of a GPU from 0 to 0; written xid GPU CODE [after N])",
      R"(f.toml:14:23: "fail hipInit 3 0": hipInit is about no GPU, and the line names GPU 0; written fail CALL CODE [GPU] [after N])"}},
    {"driver_too_short",
     gpu + "driver = [\"fail hipMalloc\", \"set 0 uuid\", \"later 0 uuid x\", \"hang hipMalloc after\"]\n",
     {R"(f.toml:14:11: "fail hipMalloc": it has no number; written fail CALL CODE [GPU] [after N])",
      R"(f.toml:14:29: "set 0 uuid": it has no value; written set GPU KEY VALUE)",
      R"(f.toml:14:43: "later 0 uuid x": it has no "after N"; written later GPU KEY VALUE after N)",
      R"(f.toml:14:61: "hang hipMalloc after": "after" has no number behind it; written hang CALL [GPU] [after N])"}},
    {"driver_too_long",
     gpu + "driver = [\"corrupt_copy 0 affter 3\", \"\", \"write hipMalloc /etc/x 00\", \"write hipMalloc x 0\"]\n",
     {R"(f.toml:14:11: "corrupt_copy 0 affter 3": "affter" has no place in it; written corrupt_copy GPU [kind KIND] [after N] [every N])",
      R"(f.toml:14:38: "": it is empty)",
      R"(f.toml:14:42: "write hipMalloc /etc/x 00": "/etc/x" is not a path below the machine's root, such as sys/class/drm; written write CALL PATH HEX [after N])",
      R"(f.toml:14:71: "write hipMalloc x 0": "0" is not bytes in hexadecimal, two digits each; written write CALL PATH HEX [after N])"}},
    {"driver_wrong_options",
     gpu + "driver = [\"corrupt_copy 0 kind rot\", \"corrupt_copy 0 kind\", \"wrong_product 0 every 0\"]\n",
     {R"(f.toml:14:11: "corrupt_copy 0 kind rot": unknown kind of error "rot"; known: bit, bits, warp, periodic, small, nan; written corrupt_copy GPU [kind KIND] [after N] [every N])",
      R"(f.toml:14:38: "corrupt_copy 0 kind": "kind" has no kind behind it; written corrupt_copy GPU [kind KIND] [after N] [every N])",
      R"(f.toml:14:61: "wrong_product 0 every 0": "every" has no number behind it, 1 or more; written wrong_product GPU [kind KIND] [every N])"}},
    {"driver_of_no_gpu",
     whole + "[fault.f]\ndriver = [\"hang cuInit\"]\n",
     {"f.toml:10:11: there is no GPU whose libraries could follow this line"}},
    {"architecture",
     head + "architecture = \"x86_65\"\n[cpu]\ncores = 1\n[[domain]]\ncpus = \"0\"\n",
     {R"(f.toml:5:16: unknown architecture "x86_65"; did you mean "x86_64"?)"}},
    {"launcher",
     whole + "[ranks]\nlauncher = \"srunn\"\n",
     {R"(f.toml:10:12: unknown launcher "srunn"; did you mean "srun"?)"}},
    {"unknown_key",
     gpu + "[limits]\nnofiles = 3\n",
     {R"(f.toml:15:1: unknown key "nofiles" in [limits]; did you mean "nofile"?)"}},
    {"limit",
     gpu + "[limits]\nnofile = \"many\"\n",
     {R"(f.toml:15:10: "nofile" in [limits] must be a whole number or "unlimited", not "many")"}},
};

class MalformedMachine : public testing::TestWithParam<Malformed> {};

}  // namespace

TEST_P(MalformedMachine, IsToldWithItsPlace) {
  Diagnostics diagnostics;
  (void)parse_machine(GetParam().document, "f.toml", diagnostics);
  expect_errors(GetParam().errors, texts(diagnostics));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedMachine, testing::ValuesIn(table), name_of);

TEST(Machines, EveryKindOfLineForTheStandIns) {
  Diagnostics diagnostics;
  const std::string lines =
      "\"set all nccl_network AWS Libfabric\", \"set 0 throttle_bits 0x48\", \"later 0 uncorrected 2 3 after 1\", "
      "\"xid 0 79 after 2\", \"write hipMemcpyAsync ras/umc_err_count 0a0B after 3\", \"fail hipMalloc 2 0 after 4\", "
      "\"fail hipInit 3\", \"hang ncclAllReduce 0\", \"crash rsmi_init\", \"stall ncclCommInitRankConfig 4\", "
      "\"corrupt_copy 0 kind warp after 5 every 0x7\", \"wrong_kernel 0 muster_train_update bit 3 after 6\", \"stuck_bit 0 0x1000 7\", "
      "\"wrong_product 0 kind nan every 3\", \"corrupt_allreduce 15\"";
  const auto machine = parse_machine(gpu + "driver = [" + lines + "]\n", "f.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), Names{});
  EXPECT_EQ(machine.gpus.driver.size(), 15u);
}

TEST(Machines, TheSmallestOneIsEnough) {
  Diagnostics diagnostics;
  const auto machine = parse_machine(gpu, "f.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), Names{});
  ASSERT_EQ(machine.gpus.devices.size(), 1u);
  EXPECT_EQ(machine.gpus.devices[0].near.list(), "0-3") << "the CPUs of its domain";
  EXPECT_EQ(hex(machine.masks), Names{});
}

}  // namespace muster::fake
