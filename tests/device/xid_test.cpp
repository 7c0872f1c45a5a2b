// Every number of NVIDIA's Xid catalogue and every sub-code of NVLink 5, against the verdict that their action demands.
#include "device/nvidia/xid.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "base/files.hpp"
#include "base/text.hpp"
#include "device/nvidia/xid_catalogue.hpp"

namespace muster {
namespace {

constexpr std::string_view reset_required =
    "NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
constexpr std::string_view recovered =
    "NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";

/// Written by hand: what is no fault, and what nothing is known of. All others fail.
const std::set<int> notes = {8,   11,  13,  14,  25,  31,  32,  37,  38,  39,  40,  41,  43,  44,  60,  63,  66,  67,
                             68,  69,  70,  71,  72,  75,  76,  77,  80,  82,  83,  84,  85,  86,  88,  89,  92,  93,
                             94,  96,  97,  98,  99,  100, 101, 102, 103, 104, 105, 106, 107, 108, 121, 126, 127, 128,
                             129, 130, 131, 132, 133, 134, 135, 137, 139, 141, 152, 153, 157, 160, 161};
const std::set<int> faults = {45,  46,  48,  54,  62,  64,  74,  78,  79,  95,  109, 110, 119, 120, 136, 140,
                              142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 154, 155, 156, 158, 159};

TEST(Xid, EachOfTheCatalogueHasItsVerdict) {
  ASSERT_EQ(xid_catalogue().size(), 172u);
  for (int code = 1; code <= 172; ++code) {
    const XidMeaning meaning = xid_meaning(code);
    const Verdict verdict = notes.contains(code)    ? Verdict::pass
                            : faults.contains(code) ? Verdict::fail
                                                    : Verdict::unmeasured;
    EXPECT_EQ(meaning.verdict, verdict) << code << ": " << meaning.words;
    EXPECT_EQ(meaning.code, code);
    EXPECT_FALSE(meaning.words.empty()) << code;
    EXPECT_FALSE(meaning.remedy.empty()) << code;
    EXPECT_EQ(xid_catalogue()[static_cast<std::size_t>(code) - 1].code, code);
  }
  for (const int code : {-1, 0, 173, 9999}) EXPECT_EQ(xid_meaning(code).verdict, Verdict::unmeasured) << code;
}

TEST(Xid, WhatOnlyAccompaniesOthersFailsAlone) {
  const LoggedXid fault{31, "NVRM: Xid (PCI:0000:c1:00): 31, pid=7"};
  for (const int code : {45, 159}) {
    EXPECT_EQ(xid_meaning(code, "", std::span(&fault, 1)).verdict, Verdict::pass) << code;
    const LoggedXid same{code, ""};
    EXPECT_EQ(xid_meaning(code, "", std::span(&same, 1)).verdict, Verdict::fail) << code;
  }
  EXPECT_NE(xid_meaning(45).remedy.find("fabric manager"), std::string::npos);
}

TEST(Xid, AnUncorrectedErrorThatWasContainedIsOfTheProgram) {
  const std::vector<LoggedXid> contained = {{94, ""}};
  EXPECT_EQ(xid_meaning(48, "", contained).verdict, Verdict::pass);
  for (const int worse : {63, 64, 95, 140})
    EXPECT_EQ(xid_meaning(48, "", std::vector<LoggedXid>{{94, ""}, {worse, ""}}).verdict, Verdict::fail) << worse;
  EXPECT_EQ(xid_meaning(48, "", std::vector<LoggedXid>{{94, ""}, {154, reset_required}}).verdict, Verdict::fail);
  EXPECT_EQ(xid_meaning(48, "", std::vector<LoggedXid>{{94, ""}, {154, recovered}}).verdict, Verdict::pass);
}

TEST(Xid, TheRecoveryThatTheDriverAsksFor) {
  EXPECT_EQ(xid_meaning(154, recovered).verdict, Verdict::pass);
  EXPECT_EQ(xid_meaning(154, reset_required).verdict, Verdict::fail);
  EXPECT_NE(xid_meaning(154, "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
                .remedy.find("reboot the node"),
            std::string::npos);
  for (const char* odd : {"154, changed from 0x1 to 0x", "154, changed from 0x1 to 0x77 (Else)", "154", " to 0xzz"})
    EXPECT_EQ(xid_meaning(154, odd).verdict, Verdict::fail) << odd;
}

Verdict of_line(int code, std::string_view unit, std::string_view severity, std::uint32_t info, std::uint32_t status) {
  return xid_meaning(code,
                     fmt::format("NVRM: Xid (PCI:0018:01:00): {}, {} {} XC0 i0 Link 08 ({:#010x} {:#010x} 0x00000000)",
                                 code, unit, severity, info, status))
      .verdict;
}

TEST(Xid, SubcodesOfNvlink) {
  EXPECT_EQ(of_line(149, "NETIR_LINK_EVT", "Fatal  ", 0x004505c6, 0), Verdict::fail);
  EXPECT_EQ(of_line(149, "NETIR_BER_EVENT", "Nonfatal", 0x00000013, 2), Verdict::pass);
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Nonfatal", 0x00000004, 0x100), Verdict::pass);
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Fatal", 0x00000004, 0x40), Verdict::fail);
  // Two bits at once: the worse of both.
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Nonfatal", 0x00000004, 0x300), Verdict::pass);
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Fatal", 0x00000004, 0x140), Verdict::fail);
  // Not in the catalogue: another status, unit, reason, Xid.
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Nonfatal", 0x00000004, 0x1000), Verdict::fail);
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Nonfatal", 0x00000004, 0), Verdict::fail);
  EXPECT_EQ(of_line(145, "RLW_ELSE", "Nonfatal", 0x00000055, 0x100), Verdict::fail);
  EXPECT_EQ(of_line(145, "RLW_REMAP", "Nonfatal", 0x03f00004, 0x100), Verdict::fail);
  EXPECT_EQ(of_line(146, "RLW_REMAP", "Nonfatal", 0x00000004, 0x100), Verdict::fail);
  // What the driver calls fatal there.
  EXPECT_EQ(of_line(145, "RLW_RXPIPE", "Nonfatal", 0x00000006, 1), Verdict::pass);
  EXPECT_EQ(of_line(145, "RLW_RXPIPE", "Fatal", 0x00000006, 1), Verdict::fail);
  for (const char* cut : {"145", "145, RLW_REMAP Nonfatal", "145, (0x", "145, (0x00000004", "145, (0x00000004 zz)"})
    EXPECT_EQ(xid_meaning(145, cut).verdict, Verdict::fail) << cut;
}

TEST(Xid, TheRecoveryDecidesWhereASubcodeLeavesItOpen) {
  const std::string line = "145, RLW_REMAP Nonfatal XC1 i0 Link 00 (0x00000004 0x00000001 0x00000000)";
  const LoggedXid none{154, recovered}, reset{154, reset_required};
  EXPECT_EQ(xid_meaning(145, line).verdict, Verdict::fail);
  EXPECT_EQ(xid_meaning(145, line, std::span(&reset, 1)).verdict, Verdict::fail);
  EXPECT_EQ(xid_meaning(145, line, std::span(&none, 1)).verdict, Verdict::pass);
}

/// Rows of a table of the captures, without its heading; empty: there are no captures.
std::vector<std::vector<std::string>> captured(const char* file) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) return {};
  const auto text = read_file(fs::path(folder) / "nvidia" / file);
  if (!text) return {};
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : lines(*text)) rows.push_back(split(line, '\t'));
  rows.erase(rows.begin());
  return rows;
}

Verdict demanded(const std::string& action, bool is_used) {
  if (action == "IGNORE" || action == "RESTART_APP") return Verdict::pass;
  if (action.empty() || (action == "CONTACT_SUPPORT" && !is_used)) return Verdict::unmeasured;
  return Verdict::fail;
}

TEST(XidCaptures, TheWholeCatalogue) {
  const auto rows = captured("xid-catalogue.tsv");
  if (rows.empty()) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  EXPECT_EQ(rows.size(), 172u);
  for (const auto& row : rows)
    EXPECT_EQ(xid_meaning(std::stoi(row.at(0))).verdict, demanded(row.at(3), row.at(2) != "Unused")) << join(row, " ");
}

/// The word that a pattern (`------000100----------0111000110`) stands for, what is left open being `open`.
std::uint32_t word_of(std::string pattern, char open) {
  for (char& bit : pattern)
    if (bit == '-') bit = open;
  return static_cast<std::uint32_t>(std::stoul(pattern, nullptr, 2));
}

TEST(XidCaptures, AllSubcodesOfNvlink) {
  const auto rows = captured("xid-nvlink5-rules.tsv");
  if (rows.empty()) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  EXPECT_EQ(rows.size(), 94u);
  for (const auto& row : rows)
    for (const std::string& pattern : {row.at(2), row.at(3)})
      for (const char open : {'0', '1'}) {
        const auto status = static_cast<std::uint32_t>(std::stoul(row.at(4), nullptr, 16));
        const Verdict verdict = row.at(5) == "IGNORE" ? Verdict::pass : Verdict::fail;
        EXPECT_EQ(of_line(std::stoi(row.at(0)), row.at(1), "Nonfatal", word_of(pattern, open), status), verdict)
            << join(row, " ");
      }
}

}  // namespace
}  // namespace muster
