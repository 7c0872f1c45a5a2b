#include "base/units.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

TEST(UnitsTest, ParseBytesTable) {
  const std::pair<const char*, std::uint64_t> cases[]{
      {"8B", 8},
      {"8", 8},
      {"0", 0},
      {" 64KiB ", 65536},
      {"16 MiB", 16777216},
      {"2GB", 2000000000},
      {"1.5GiB", 1610612736},
      {"0.5KiB", 512},
      {"1.005KB", 1005},
      {"4.35KB", 4350},
      {"1.0B", 1},
      {"3TB", 3000000000000},
      {"1TiB", 1099511627776},
      {"18446744073709551615B", UINT64_MAX},
      {"16777215TiB", 18446742974197923840u},
  };
  for (const auto& [text, bytes] : cases) {
    const auto parsed = parse_bytes(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_EQ(parsed->count, bytes) << text;
  }
}

TEST(UnitsTest, ParseBytesRefuses) {
  for (const auto* text : {"",
                           "x",
                           "B",
                           "-1",
                           "+1",
                           "1.5",
                           "1.5B",
                           "5.",
                           ".5GiB",
                           "1.5.5GiB",
                           "1..5GiB",
                           "1e3",
                           "1kb",
                           "1KIB",
                           "16 M",
                           "0.1GiB",
                           "1,5GiB",
                           "16 777 216",
                           "1s",
                           "0x10",
                           "18446744073709551616",
                           "16777216TiB",
                           "1.0000000000000000001KB",
                           "99999999999999999999999GiB"}) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text << " gave " << parsed->count;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(parse_bytes("x").error().what, "expected a number of bytes such as 16MiB, not \"x\"");
  EXPECT_EQ(parse_bytes("\x1b[2J").error().what, "expected a number of bytes such as 16MiB, not \"\\x1b[2J\"");
}

TEST(UnitsTest, FormatBytesIsTheShortestExactForm) {
  EXPECT_EQ(format_bytes({0}), "0B");
  EXPECT_EQ(format_bytes({1500}), "1500B");
  EXPECT_EQ(format_bytes({1024}), "1KiB");
  EXPECT_EQ(format_bytes({16u << 20}), "16MiB");
  EXPECT_EQ(format_bytes({1536u << 20}), "1536MiB");
  EXPECT_EQ(format_bytes({std::uint64_t{3} << 40}), "3TiB");
  EXPECT_EQ(format_bytes({UINT64_MAX}), "18446744073709551615B");
}

TEST(UnitsTest, ParseDurationTable) {
  const std::pair<const char*, double> cases[]{
      {"500ms", 0.5},  {"60s", 60},  {"5m", 300},       {"2h", 7200},  {"1m30s", 90},
      {"90", 90},      {"1.5", 1.5}, {" 1h 2m ", 3720}, {"1d", 86400}, {"250us", 250e-6},
      {"10ns", 10e-9}, {"0", 0},     {"1s500ms", 1.5},  {".5s", 0.5},  {"1d2h3m4s5ms", 93784.005},
  };
  for (const auto& [text, seconds] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_DOUBLE_EQ(parsed->value, seconds) << text;
  }
}

TEST(UnitsTest, ParseDurationRefuses) {
  const auto huge = std::string(308, '9') + "d";
  const auto more = std::string(400, '9');
  for (const std::string& text : {std::string(""), std::string(" "), std::string("x"), std::string("s"),
                                  std::string("-5s"), std::string("5 years"), std::string("1e3s"), std::string("1m30"),
                                  std::string("30 5"), std::string("30s1m"), std::string("1m1m"), std::string("inf"),
                                  std::string("nan"), std::string("5sx"), std::string("1,5s"), huge, more}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text << " gave " << parsed->value;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(parse_duration("soon").error().what, "expected a time such as 500ms, 60s or 1m30s, not \"soon\"");
}

TEST(UnitsTest, FormatDurationTable) {
  const std::pair<double, const char*> cases[]{
      {0, "0s"},
      {-0.0, "0s"},
      {0.5, "500ms"},
      {250e-6, "250us"},
      {1, "1s"},
      {1.25, "1.25s"},
      {60, "1m"},
      {90, "1m30s"},
      {3600, "1h"},
      {3661, "1h1m1s"},
      {7260, "2h1m"},
      {90.5, "90.5s"},
      {-90, "-1m30s"},
      {86400, "24h"},
      {1e6 + 0.25, "277h46m40s"},
      {5e9, "1388888h53m20s"},
      {1e300, "1e+300s"},
  };
  for (const auto& [seconds, text] : cases) EXPECT_EQ(format_duration({seconds}), text);
  EXPECT_EQ(format_duration({INFINITY}), "infs");
  EXPECT_EQ(format_duration({std::numeric_limits<double>::quiet_NaN()}), "nans");
}

TEST(UnitsTest, FactorsTurnOneUnitIntoAnother) {
  EXPECT_DOUBLE_EQ(*unit_factor("ms", "s"), 1e-3);
  EXPECT_DOUBLE_EQ(*unit_factor("GB/s", "MB/s"), 1e3);
  EXPECT_DOUBLE_EQ(*unit_factor("Gbit/s", "GB/s"), 0.125);
  EXPECT_DOUBLE_EQ(*unit_factor("GiB/s", "B/s"), 1073741824.0);
  EXPECT_DOUBLE_EQ(*unit_factor("TFLOP/s", "GFLOP/s"), 1e3);
  EXPECT_DOUBLE_EQ(*unit_factor("GHz", "MHz"), 1e3);
  EXPECT_DOUBLE_EQ(*unit_factor("1", "1"), 1);
}

TEST(UnitsTest, FactorsExistOnlyWithinADimension) {
  for (const auto& [from, to] : {std::pair("s", "B"), std::pair("1", "%"), std::pair("cores", "1"),
                                 std::pair("B", "B/s"), std::pair("FLOP/s", "Hz"), std::pair("s", "parsec"),
                                 std::pair("parsec", "parsec"), std::pair("samples/s", "Hz")})
    EXPECT_FALSE(unit_factor(from, to)) << from << " to " << to;
}

TEST(UnitsTest, EveryUnitIsKnownOnceAndIsOneOfItself) {
  auto names = known_units();
  for (const auto& name : names) {
    EXPECT_TRUE(is_known_unit(name)) << name;
    EXPECT_EQ(unit_factor(name, name), 1.0) << name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const auto* promised :
       {"s", "ms",    "us", "ns",     "B",       "KiB", "KB", "B/s", "GB/s", "GiB/s",    "Gbit/s",
        "1", "cores", "%",  "FLOP/s", "TFLOP/s", "W",   "Hz", "GHz", "degC", "samples/s"})
    EXPECT_TRUE(is_known_unit(promised)) << promised;
  for (const auto* unknown : {"", "gb/s", "S", "KHZ", "B /s"}) EXPECT_FALSE(is_known_unit(unknown)) << unknown;
}

TEST(UnitsTest, FormatValueTable) {
  struct {
    double value;
    const char* unit;
    const char* text;
  } const cases[]{
      {71.2, "GB/s", "71.2 GB/s"},
      {12, "us", "12 us"},
      {71.23456, "GB/s", "71.23 GB/s"},
      {0.00123456, "s", "0.001235 s"},
      {0.000123456, "s", "0.0001235 s"},
      {1234567, "1", "1234567"},
      {12345.67, "1", "12346"},
      {1e7, "B", "1e+07 B"},
      {0, "s", "0 s"},
      {-0.0, "s", "0 s"},
      {-3.5, "%", "-3.5 %"},
      {2.5, "", "2.5"},
      {99999.5, "1", "100000"},
      {1.5e20, "B", "1.5e+20 B"},
      {100, "1", "100"},
      {0.9999999, "1", "1"},
  };
  for (const auto& one : cases) EXPECT_EQ(format_value(one.value, one.unit), one.text) << one.value;
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(UnitsTest, BytesReadBackExactly) {
  const bool good = rc::check([] {
    const auto shift = *rc::gen::inRange(0, 64);
    const Bytes bytes{*rc::gen::arbitrary<std::uint64_t>() << shift};
    const auto back = parse_bytes(format_bytes(bytes));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == bytes);
  });
  EXPECT_TRUE(good);
}

TEST(UnitsTest, DurationsReadBackAsWhatWasShown) {
  const bool good = rc::check([] {
    const double value = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000) * *rc::gen::element(1e-6, 1e-3, 1.0);
    const auto back = parse_duration(format_duration({value}));
    RC_ASSERT(back.has_value());
    RC_ASSERT(std::fabs(back->value - value) <= std::max(value * 1e-5, 1e-9));
  });
  EXPECT_TRUE(good);
}

TEST(UnitsTest, AnyTextIsReadOrRefused) {
  const bool good = rc::check([] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::element('0', '1', '9', '.', 'm', 's', 'K', 'i', 'B', ' ', '-', 'e'));
    if (const auto bytes = parse_bytes(text)) RC_ASSERT((parse_bytes(format_bytes(*bytes)) == bytes));
    if (const auto time = parse_duration(text)) RC_ASSERT(time->value >= 0 && std::isfinite(time->value));
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
