// Whatever happens to a good document, it is read, or refused with a place; nothing is thrown and nothing crashes.
#include <random>
#include <regex>

#include "config/malformed.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster::fake {

namespace {

const std::string good_check = R"([check.a]
probe = "bandwidth"
summary = "x"
tags = ["t"]
ranks = { per_node = 2 }
timeout = "5s"
params.repetitions = 4
[check.a.sweep]
sizes = [["8B"], "1KiB,2KiB"]
[[check.a.expect]]
metric = "busbw"
where = { size = "8B" }
reference = { value = 1, lower = -0.1, unit = "GB/s" }
peers = { max_z = 5.0 }
)";

const std::string good_system = R"([system]
name = "s"
detect = { env = "X", matches = "a+" }
[[environment]]
name = "e"
env = { A = "{local_rank}" }
[[partition]]
name = "p"
[partition.node]
cores = 4
gpus = { count = 1, name = "^A" }
[[partition.reference]]
check = "a"
where = { nodes = 2 }
busbw = { value = 85.0, lower = -0.05, unit = "GB/s" }
)";

bool has_place(const std::string& error) {
  static const std::regex place("f\\.toml:[1-9][0-9]*:[1-9][0-9]*");
  return std::regex_match(error, place);
}

/// Reads `document` as both kinds; false when something is said without a place or sentence, or nothing was read
/// without a word about it.
bool is_handled(const std::string& document) {
  Diagnostics diagnostics;
  const auto checks = parse_checks(document, "f.toml", probes, diagnostics);
  if (checks.empty() && diagnostics.ok()) return false;
  const auto system = parse_system(document, "f.toml", diagnostics);
  if (is_system_document(document)) check_references(system, checks, probes, diagnostics);
  for (const auto& error : diagnostics.errors)
    if (!has_place(error.where) || error.what.empty() || error.what.find('\n') != std::string::npos) return false;
  return true;
}

}  // namespace

TEST(Property, GoodDocumentsAreGood) {
  EXPECT_EQ(errors_of_checks(good_check), std::vector<std::string>{});
  EXPECT_EQ(errors_of_system(good_system), std::vector<std::string>{});
}

TEST(Property, EveryPrefixIsHandled) {
  for (const auto& good : {good_check, good_system})
    for (std::size_t length = 0; length <= good.size(); ++length)
      EXPECT_TRUE(is_handled(good.substr(0, length))) << good.substr(0, length);
}

// Under a sanitizer a third of the replacements at each place, in turn.
#ifdef MUSTER_SANITIZED
constexpr std::size_t share_tried = 3;
#else
constexpr std::size_t share_tried = 1;
#endif

TEST(Property, EveryByteReplacedIsHandled) {
  // All structural characters and a few others at every place.
  using std::string_literals::operator""s;
  const auto replacements = "\0\x01\n\r\"'\\[]{}=.,#-_ a0\x7f\x80\xc3\xff"s;
  for (const auto& good : {good_check, good_system})
    for (std::size_t at = 0; at < good.size(); ++at)
      for (std::size_t i = at % share_tried; i < replacements.size(); i += share_tried) {
        auto changed = good;
        changed[at] = replacements[i];
        ASSERT_TRUE(is_handled(changed)) << changed;
      }
}

TEST(Property, EveryByteRemovedIsHandled) {
  for (const auto& good : {good_check, good_system})
    for (std::size_t at = 0; at < good.size(); ++at) {
      auto changed = good;
      changed.erase(at, 1);
      ASSERT_TRUE(is_handled(changed)) << changed;
    }
}

TEST(Property, LinesInAnyOrderAreHandled) {
  std::mt19937 random(1);
  std::vector<std::string> all;
  for (const auto& good : {good_check, good_system})
    for (std::size_t at = 0, end = 0; (end = good.find('\n', at)) != std::string::npos; at = end + 1)
      all.push_back(good.substr(at, end + 1 - at));
  for (int round = 0; round < 500; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    std::string document;
    for (std::size_t i = 0; i < 12; ++i) document += all[i];
    ASSERT_TRUE(is_handled(document)) << document;
  }
}

#ifdef MUSTER_HAVE_RAPIDCHECK

TEST(Property, AnyTextIsHandled) {
  EXPECT_TRUE(rc::check("any text is read or refused with a place",
                        [] { RC_ASSERT(is_handled(*rc::gen::container<std::string>(rc::gen::arbitrary<char>()))); }));
}

TEST(Property, SweptValuesComeBackAsWritten) {
  EXPECT_TRUE(rc::check("what is swept is what is in the file", [] {
    const auto values = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(1, 1001));
    RC_PRE(!values.empty());
    std::string document = "[check.a]\nprobe = \"bandwidth\"\nsweep.repetitions = [";
    for (const int value : values) document += std::to_string(value) + ",";
    Diagnostics diagnostics;
    const auto checks = parse_checks(document + "]\n", "f.toml", probes, diagnostics);
    RC_ASSERT(diagnostics.ok());
    std::vector<int> read;
    for (const auto& value : checks.at(0).sweep.at("repetitions"))
      read.push_back(static_cast<int>(std::get<std::int64_t>(value.items.at(0))));
    RC_ASSERT(read == values);
  }));
}

#endif

}  // namespace muster::fake
