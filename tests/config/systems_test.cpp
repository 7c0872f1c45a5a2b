// Profiles that are right, and references held against checks.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

using Texts = std::vector<std::string>;

const std::string lumi = R"([system]
name = "lumi"
detect = [{ env = "LUMI_STACK_NAME", matches = "^LUMI" }, { file = "/appl/lumi", host = "^nid" }]
login = { host = "^uan", gpus = 1 }
[[variable]]
name = "NCCL_NET"
must = "equal"
value = ["Socket", "OFI"]
nodes = 2
verdict = "note"
why = "it hangs"
source = "a guide"
[[variable]]
name = "BAD"
must = "unset"
why = "it hangs"
source = "a guide"
[[unverified]]
key = "cpu.domains"
why = "nobody tells"
[[environment]]
name = "container"
modules = ["LUMI", "rocm/6.0"]
wrapper = ["singularity", "exec", "{image}", "{\"a\": {}}"]
env = { ROCR_VISIBLE_DEVICES = "{local_rank}", EMPTY = "" }
[[partition]]
name = "standard-g"
launcher = "srun"
scheduler_options = ["--account={account}"]
scheduler_refuses = ["--mem"]
launcher_options = ["--mpi=pmi2"]
[partition.node]
cores = 64
cpu = { architecture = "x86_64", model = "EPYC", smt = 2, domains = 4 }
reserved_cores = [0, 8]
gpus = { count = 8, vendor = "amd", name = "^AMD Instinct MI250X" }
machine = "lumi-g"
bind = { policy = "gpu", smt = true, select = "map_gpu", masks = ["0xfe", "fe00"] }
[[partition.reference]]
check = "a"
where = { nodes = 2, ranks = 16, size = "8B" }
busbw = { value = 85.0, lower = -0.05, unit = "GB/s", source = "a test" }
[[partition.reference]]
check = "a"
busbw = { value = 80, lower = -0.05, upper = 0.1, unit = "GB/s" }
[[partition]]
name = "small"
[[partition]]
name = "dev"
like = "standard-g"
default = true
scheduler_options = ["--qos=dev"]
[[partition]]
name = "fat"
like = "dev"
launcher = "mpirun"
[partition.node]
cores = 128
)";

const std::string head = "[system]\nname = \"s\"\n[[partition]]\nname = \"p\"\n[[partition.reference]]\n";
const std::string figures = "{ value = 85.0, lower = -0.05, unit = \"GB/s\" }\n";

/// Check `a` judges busbw by the profile.
std::vector<Check> checks() {
  Diagnostics diagnostics;
  return parse_checks(
      "[check.a]\nprobe = \"bandwidth\"\nnodes = 2\nranks = { per_node = 8 }\n[[check.a.expect]]\nmetric = "
      "\"busbw\"\nreference = \"profile\"\n",
      "c.toml", probes, diagnostics);
}

Texts errors_of_references(const std::string& document) {
  Diagnostics diagnostics;
  const auto system = parse_system(document, "f.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), Texts{});
  check_references(system, checks(), probes, diagnostics);
  return texts(diagnostics);
}

}  // namespace

TEST(Systems, TakeEveryKey) {
  Diagnostics diagnostics;
  const auto system = parse_system(lumi, "lumi.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), Texts{});
  EXPECT_EQ(system.name, "lumi");
  EXPECT_EQ(system.file, "lumi.toml");
  EXPECT_EQ(system.detect,
            (std::vector<DetectClue>{{"LUMI_STACK_NAME", "^LUMI", "", ""}, {"", "", "/appl/lumi", "^nid"}}));
  EXPECT_EQ(system.environments,
            (std::vector<EnvironmentProfile>{{"container",
                                              {"LUMI", "rocm/6.0"},
                                              {"singularity", "exec", "{image}", "{\"a\": {}}"},
                                              {{"ROCR_VISIBLE_DEVICES", "{local_rank}"}, {"EMPTY", ""}}}}));
  ASSERT_EQ(system.partitions.size(), 4u);
  const auto& partition = system.partitions[0];
  EXPECT_EQ(partition.name, "standard-g");
  EXPECT_EQ(partition.launcher, "srun");
  EXPECT_EQ(partition.scheduler_options, Argv{"--account={account}"});
  EXPECT_EQ(partition.launcher_options, Argv{"--mpi=pmi2"});
  EXPECT_EQ(partition.node.cores, 64);
  EXPECT_EQ(partition.node.reserved_cores, (std::vector<int>{0, 8}));
  EXPECT_EQ(partition.node.gpus, (GpuExpectation{8, "amd", "^AMD Instinct MI250X"}));
  EXPECT_EQ(partition.machine, "lumi-g");
  EXPECT_EQ(system.places.at("machine of standard-g"), "lumi.toml:37:11");
  EXPECT_EQ(partition.scheduler_refuses, std::vector<std::string>{"--mem"});
  EXPECT_EQ(partition.node.bind, (BindExpectation{"gpu", true, "map_gpu", {"0xfe", "fe00"}}));
  EXPECT_EQ(partition.node.cpu, (CpuExpectation{"x86_64", "EPYC", 2, 4}));
  EXPECT_EQ(partition.node.login, (LoginExpectation{"^uan", 1}));
  EXPECT_EQ(partition.node.variables, (std::vector<VariableExpectation>{
                                          {"NCCL_NET", Must::equal, {"Socket", "OFI"}, 2, true, "it hangs", "a guide"},
                                          {"BAD", Must::unset, {}, 1, false, "it hangs", "a guide"}}));
  EXPECT_EQ(partition.node.unverified, (std::map<std::string, std::string>{{"cpu.domains", "nobody tells"}}));
  EXPECT_FALSE(system.partitions[1].node.bind);
  ASSERT_EQ(partition.references.size(), 2u);
  EXPECT_EQ(partition.references[0], (ProfileReference{"a",
                                                       {{"nodes", "2"}, {"ranks", "16"}, {"size", "8B"}},
                                                       "busbw",
                                                       {85, -0.05, std::nullopt, "GB/s", "a test", "lumi.toml:42:1"}}));
  EXPECT_EQ(partition.references[1].reference.place, "lumi.toml:45:1");
  EXPECT_EQ(system.partitions[1].name, "small");
  EXPECT_EQ(system.partitions[1].launcher, "") << "the one that is found";
  EXPECT_FALSE(system.partitions[1].node.gpus);
  EXPECT_TRUE(system.partitions[1].references.empty());
}

TEST(Systems, NicsAndPluginsOfANode) {
  const std::string start = "[system]\nname = \"s\"\n[[partition]]\nname = \"p\"\n[partition.node]\n";
  Diagnostics diagnostics;
  const auto system = parse_system(start + "nics = { count = 4, name = \"^hsn\", rate = \"200 Gbit/s\" }\n" +
                                       "plugins = [\"ofi\"]\nplugins_from = \"module load x\"\n",
                                   "f.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), Texts{});
  EXPECT_EQ(system.partitions.at(0).node.nics, (NicExpectation{4, "^hsn", 200}));
  EXPECT_EQ(system.partitions.at(0).node.plugins, Texts{"ofi"});
  EXPECT_EQ(system.partitions.at(0).node.plugins_from, "module load x");
  EXPECT_EQ(errors_of_system(start + "nics = { count = 1, rate = \"25GB/s\" }\n").size(), 1u);
  EXPECT_EQ(errors_of_system(start + "nics = { rate = \"25Gbit/s\" }\n").size(), 1u);
  EXPECT_EQ(errors_of_system(start + "plugins = [\"ofl\"]\n"),
            Texts{"f.toml:6:11: unknown plugin \"ofl\"; did you mean \"ofi\"?"});
}

TEST(Systems, APartitionIsLikeAnother) {
  Diagnostics diagnostics;
  const auto system = parse_system(lumi, "lumi.toml", diagnostics);
  ASSERT_EQ(system.partitions.size(), 4u);
  const auto& first = system.partitions[0];
  const auto& dev = system.partitions[2];
  EXPECT_EQ(dev.name, "dev");
  EXPECT_TRUE(dev.is_default);
  EXPECT_EQ(dev.scheduler_options, Argv{"--qos=dev"});
  EXPECT_EQ(dev.launcher, "srun");
  EXPECT_EQ(dev.node, first.node);
  EXPECT_EQ(dev.references, first.references);
  EXPECT_EQ(dev.machine, "lumi-g");
  const auto& fat = system.partitions[3];
  EXPECT_FALSE(fat.is_default) << "one is enough";
  EXPECT_EQ(fat.launcher, "mpirun");
  EXPECT_EQ(fat.node.cores, 128);
  EXPECT_FALSE(fat.node.gpus) << "a [partition.node] of its own replaces the whole of the other's";
  EXPECT_EQ(fat.node.variables, first.node.variables) << "those are the system's";
  EXPECT_TRUE(fat.node.unverified.empty()) << "it says nothing of domains";
}

TEST(Systems, ANetworkWithoutANameIsRefused) {
  const std::string document = "[system]\nname = \"s\"\n[[partition]]\nname = \"p\"\nnetworks = ";
  const std::string said = "a network has an interface, such as \"hsn*\", or an address, such as \"10.1.0.0/16\"";
  EXPECT_EQ(errors_of_system(document + R"(["hsn*", "", "  "])"),
            (Texts{"f.toml:5:21: " + said, "f.toml:5:25: " + said}));
  EXPECT_EQ(errors_of_system(document + R"(["hsn*", "10.1.0.0/16"])"), Texts{});
}

TEST(Systems, ARegularExpressionOfAnyLengthIsReadWithoutRecursion) {
  const auto document = "[system]\nname = \"s\"\ndetect = { env = \"X\", matches = \"" + std::string(100'000, '(') +
                        "\" }\n" + "[[partition]]\nname = \"p\"\n";
  const auto message = errors_of_system(document);
  ASSERT_EQ(message.size(), 1u);
  EXPECT_EQ(message[0].substr(0, 13), "f.toml:3:33: ");
  EXPECT_NE(message[0].find("is not a valid regular expression: "), std::string::npos);
}

TEST(Systems, AreToldFromCheckFiles) {
  EXPECT_TRUE(is_system_document(lumi));
  EXPECT_TRUE(is_system_document("[system]\n")) << "incomplete, but a profile";
  EXPECT_TRUE(is_system_document("[[partition]]\nname = \"p\"\n")) << "so that the missing [system] is what is said";
  EXPECT_FALSE(is_system_document("[check.a]\nsummary = \"a file system\"\n"));
  EXPECT_FALSE(is_system_document("[check.system]\nprobe = \"x\"\n"));
  EXPECT_FALSE(is_system_document("# [system]\n"));
  EXPECT_TRUE(is_system_document("[system]\n[check.a]\n")) << "both";
  EXPECT_TRUE(is_check_document("[system]\n[check.a]\n")) << "both";
  EXPECT_FALSE(is_check_document(lumi));
  for (const char* text : {"[check.a]\n", "[check.system]\n", "# [system]\n", "[system\n", "", "title = 1\n"})
    EXPECT_TRUE(is_check_document(text)) << text;
  EXPECT_FALSE(is_system_document("[system\n"));
  EXPECT_FALSE(is_system_document(""));
}

TEST(References, ThatMatchAreFine) {
  EXPECT_EQ(errors_of_references(lumi), Texts{});
  EXPECT_EQ(errors_of_references(
                head + "check = \"a\"\nwhere = { size = \"16777216B\", ranks_per_node = 8, link = \"x\" }\nbusbw = " +
                "{ value = 85000, lower = -0.05, unit = \"MB/s\" }\n"),
            Texts{});
}

TEST(References, UnknownCheck) {
  const auto document = head + "check = \"b\"\nbusbw = " + figures;
  EXPECT_EQ(errors_of_references(document),
            Texts{"f.toml:6:9: check \"b\" is neither among the given files nor one of "
                  "muster's; did you mean \"a\"?; name the file of the check, too: muster lint PROFILE CHECKS"});
}

TEST(References, UnknownMetric) {
  EXPECT_EQ(errors_of_references(head + "check = \"a\"\nbusb = " + figures),
            Texts{"f.toml:7:1: check a has no metric \"busb\"; did you mean \"busbw\"?"});
}

TEST(References, MetricThatTheCheckDoesNotJudgeByTheProfile) {
  EXPECT_EQ(errors_of_references(head + "check = \"a\"\nlatency = { value = 1, upper = 1.0, unit = \"us\" }\n"),
            Texts{"f.toml:7:1: check a never uses this: no [[check.a.expect]] of latency has reference = \"profile\""});
}

TEST(References, UnitThatCannotBeConverted) {
  EXPECT_EQ(errors_of_references(head + "check = \"a\"\nbusbw = { value = 1, lower = -0.1, unit = \"us\" }\n"),
            Texts{"f.toml:7:43: \"us\" can't be converted to GB/s, the unit of busbw"});
}

TEST(References, WhereThatNoCaseCanMatch) {
  const auto errors = [](const std::string& where) {
    return errors_of_references(head + "check = \"a\"\nwhere = " + where + "\nbusbw = " + figures);
  };
  EXPECT_EQ(errors("{ node = 2 }"),
            Texts{"f.toml:7:11: \"node\" is not a label or parameter of probe bandwidth; did you mean \"nodes\"?"});
  EXPECT_EQ(errors("{ nodes = 2, size = \"32MiB\" }"),
            Texts{"f.toml:7:29: no case matches \"32MiB\": sizes is 8B and 16MiB here"});
  EXPECT_EQ(errors("{ ranks_per_node = 0 }"),
            Texts{"f.toml:7:28: \"ranks_per_node\" must be a whole number from 1, not \"0\""});
  EXPECT_EQ(errors("{ binding = \"mask\" }"), Texts{"f.toml:7:21: unknown binding \"mask\"; did you mean \"masks\"?"});
  EXPECT_EQ(errors("{ nodes = 1 }"), Texts{"f.toml:7:19: no case matches nodes = 1: check a needs at least 2 nodes"});
  EXPECT_EQ(errors("{ nodes = 2, ranks_per_node = 4 }"),
            Texts{"f.toml:7:39: no case matches ranks_per_node = 4: check a has 8 per node"});
  EXPECT_EQ(errors("{ ranks = 17 }"), Texts{"f.toml:7:19: no case matches ranks = 17: check a has 8 per node"});
  EXPECT_EQ(errors("{ ranks = 8 }"), Texts{"f.toml:7:19: no case matches ranks = 8: check a has at least 16"});
  EXPECT_EQ(errors("{ type = \"half\", verify = false }"),
            (Texts{"f.toml:7:18: no case matches \"half\": type is float here",
                   "f.toml:7:35: no case matches \"false\": verify is true here"}));
}

}  // namespace muster::fake
