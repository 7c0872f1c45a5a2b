// The files that come with muster, held against the probes that come with it; and the examples of the documentation.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "config/config.hpp"
#include "config/machines.hpp"
#include "device/device_models.hpp"

namespace muster {

namespace {

std::vector<std::string> texts(const Diagnostics& diagnostics) {
  std::vector<std::string> all;
  for (const auto& error : diagnostics.errors) all.push_back(to_string(error));
  return all;
}

const fs::path source = MUSTER_SOURCE_DIR;

/// The ```toml blocks of a page.
std::vector<std::string> examples(const fs::path& page) {
  const auto text = read_file(page);
  EXPECT_TRUE(text) << page;
  std::vector<std::string> blocks;
  constexpr std::string_view opening = "```toml\n";
  for (std::size_t at = 0; text && (at = text->find(opening, at)) != std::string::npos;) {
    at += opening.size();
    const auto end = text->find("```", at);
    blocks.push_back(text->substr(at, end - at));
    at = end;
  }
  return blocks;
}

}  // namespace

TEST(Shipped, ChecksAndProfilesAreWellFormed) {
  Diagnostics diagnostics;
  const auto files = find_check_files(std::vector<std::string>{(source / "checks").string()});
  ASSERT_TRUE(files) << to_string(files.error());
  std::vector<Check> checks;
  for (const auto& file : *files)
    for (auto& check : parse_checks(*read_file(file), file.string(), all_probes(), diagnostics))
      checks.push_back(std::move(check));
  EXPECT_EQ(texts(diagnostics), std::vector<std::string>{});
  std::set<std::string> names;
  for (const auto& check : checks) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name << " is there twice";
    EXPECT_EQ(fs::path(check.file).stem(), check.name) << "one name everywhere";
  }
  EXPECT_TRUE(names.count("hello") == 1 && names.count("cpu_affinity") == 1);
  for (const auto& entry : fs::directory_iterator(source / "checks" / "systems")) {
    const auto text = *read_file(entry.path());
    EXPECT_TRUE(is_system_document(text)) << entry.path();
    check_references(parse_system(text, entry.path().string(), diagnostics), checks, all_probes(), diagnostics);
  }
  EXPECT_EQ(texts(diagnostics), std::vector<std::string>{});
}

/// A figure for a model that no reading is ever called by would be judged nowhere, and nobody would see it.
TEST(Shipped, ReferencesAreAboutModelsThatThereAre) {
  std::set<std::string> models;
  for (const DeviceModel& model : device_models()) models.insert(std::string(model.name));
  Diagnostics diagnostics;
  int seen = 0;
  const auto files = find_check_files(std::vector<std::string>{(source / "checks").string()});
  ASSERT_TRUE(files);
  for (const auto& file : *files)
    for (const auto& check : parse_checks(*read_file(file), file.string(), all_probes(), diagnostics))
      for (const auto& asked : check.expects)
        for (const auto& [key, value] : asked.where) {
          if (key != "model") continue;
          ++seen;
          EXPECT_EQ(models.count(value), 1u) << asked.place << ": " << value;
          EXPECT_TRUE(asked.reference && !asked.reference->source.empty()) << asked.place;
        }
  EXPECT_GT(seen, 10);
}

TEST(Shipped, ProfilesAndTheirMachinesAgree) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(source / "checks" / "systems")) {
    Diagnostics diagnostics;
    const auto system = parse_system(*read_file(entry.path()), entry.path().string(), diagnostics);
    for (const auto& partition : system.partitions) {
      if (partition.machine.empty()) continue;
      ++seen;
      SCOPED_TRACE(system.name + ":" + partition.name);
      const auto text = read_file(source / "simulation/machines" / (partition.machine + ".toml"));
      ASSERT_TRUE(text);
      const auto machine = parse_machine(*text, partition.machine, diagnostics);
      const auto& node = partition.node;
      ASSERT_TRUE(node.gpus && node.cpu);
      EXPECT_EQ(node.cores, machine.cores);
      EXPECT_EQ(node.cpu->architecture, machine.architecture);
      EXPECT_EQ(node.cpu->smt, machine.smt);
      EXPECT_TRUE(std::regex_search(machine.cpu_model, std::regex(node.cpu->model)));
      const auto domains = std::count_if(machine.domains.begin(), machine.domains.end(),
                                         [](const DescribedDomain& domain) { return !domain.cpus.empty(); });
      EXPECT_TRUE(node.cpu->domains == 0 || node.cpu->domains == domains);
      EXPECT_EQ(node.reserved_cores, machine.reserved.cpus());
      EXPECT_EQ(node.gpus->vendor, machine.gpus.vendor);
      EXPECT_EQ(static_cast<std::size_t>(node.gpus->count), machine.gpus.devices.size());
      EXPECT_TRUE(std::regex_search(machine.gpus.model, std::regex(node.gpus->name)));
      std::vector<CpuMask> masks;
      for (const auto& mask : node.bind->masks) masks.push_back(*CpuMask::parse_hex(mask));
      EXPECT_TRUE(masks.empty() || masks == machine.masks);
    }
    EXPECT_EQ(texts(diagnostics), std::vector<std::string>{});
  }
  EXPECT_EQ(seen, 10);
}

TEST(Shipped, NoProfileIsDetectedByAHostNameAlone) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(source / "checks" / "systems")) {
    Diagnostics diagnostics;
    const auto system = parse_system(*read_file(entry.path()), entry.path().string(), diagnostics);
    names.insert(system.name);
    EXPECT_EQ(system.detect.empty(), system.name == "generic");
    for (const auto& clue : system.detect) EXPECT_FALSE(clue.env.empty() && clue.file.empty()) << system.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"frontier", "generic", "lumi", "perlmutter", "vista", "zurada"}));
}

TEST(Shipped, GenericIsAFallback) {
  Diagnostics diagnostics;
  const auto system = parse_system(*read_file(source / "checks/systems/generic.toml"), "generic.toml", diagnostics);
  EXPECT_EQ(system.name, "generic");
  EXPECT_TRUE(system.detect.empty());
  ASSERT_EQ(system.partitions.size(), 1u);
  EXPECT_EQ(system.partitions[0].name, "default");
  EXPECT_EQ(system.partitions[0].launcher, "");
}

TEST(Documentation, CheckFileExamplesAreWellFormed) {
  const auto blocks = examples(source / "docs/check-files.md");
  EXPECT_GE(blocks.size(), 3u);
  for (const auto& block : blocks) {
    Diagnostics diagnostics;
    if (is_system_document(block)) (void)parse_system(block, "example.toml", diagnostics);
    if (is_check_document(block)) (void)parse_checks(block, "example.toml", all_probes(), diagnostics);
    EXPECT_EQ(texts(diagnostics), std::vector<std::string>{}) << block;
  }
}

TEST(Documentation, ErrorExampleIsWhatIsSaid) {
  const auto page = read_file(source / "docs/check-files.md");
  ASSERT_TRUE(page);
  Diagnostics diagnostics;
  (void)parse_checks("[check.hello]\nprobe = \"hello\"\nrank = \"one-per-node\"\n", "mychecks/first.toml", all_probes(),
                     diagnostics);
  ASSERT_EQ(diagnostics.errors.size(), 1u);
  EXPECT_NE(page->find(to_string(diagnostics.errors[0])), std::string::npos) << to_string(diagnostics.errors[0]);
}

}  // namespace muster
