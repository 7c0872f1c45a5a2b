#include "muster/params.hpp"

#include <cmath>
#include <gtest/gtest.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

ParamSpec spec(ParamType type) {
  return {"name", type, std::nullopt, "help"};
}

/// The value in its text form; or the error's sentence.
std::string read(const ParamSpec& what, std::string_view text) {
  const auto value = parse_param(what, text);
  if (!value) return "error: " + value.error().what;
  EXPECT_EQ(value->type, what.type);
  return to_string(*value);
}

TEST(ParamsTest, ReadsEveryType) {
  struct {
    ParamType type;
    const char* text;
    const char* canonical;
  } const cases[]{
      {ParamType::boolean, "true", "true"},
      {ParamType::boolean, " false ", "false"},
      {ParamType::integer, "42", "42"},
      {ParamType::integer, "-9223372036854775808", "-9223372036854775808"},
      {ParamType::real, "0.25", "0.25"},
      {ParamType::real, "1e3", "1000"},
      {ParamType::text, " as is, with a comma ", " as is, with a comma "},
      {ParamType::text, "", ""},
      {ParamType::text, "a\\,b", "a\\,b"},
      {ParamType::bytes, "16777216", "16MiB"},
      {ParamType::bytes, "1.5KiB", "1536B"},
      {ParamType::duration, "90", "1m30s"},
      {ParamType::duration, "0.5s", "500ms"},
      {ParamType::integer_list, "1, 2,3", "1,2,3"},
      {ParamType::integer_list, "", ""},
      {ParamType::real_list, "0.5,2", "0.5,2"},
      {ParamType::bytes_list, "8B,1024KiB", "8B,1MiB"},
      {ParamType::text_list, "a,,b", "a,,b"},
      {ParamType::text_list, "a\\,b,c\\\\d,e\\f", "a\\,b,c\\\\d,e\\\\f"},
  };
  for (const auto& one : cases) EXPECT_EQ(read(spec(one.type), one.text), one.canonical) << one.text;
}

TEST(ParamsTest, SaysWhatWasExpected) {
  struct {
    ParamType type;
    const char* text;
    const char* sentence;
  } const cases[]{
      {ParamType::boolean, "yes", "expected true or false, not \"yes\""},
      {ParamType::integer, "1.5", "expected a whole number, not \"1.5\""},
      {ParamType::integer, "9223372036854775808", "expected a whole number, not \"9223372036854775808\""},
      {ParamType::integer, "+1", "expected a whole number, not \"+1\""},
      {ParamType::integer, "", "expected a whole number, not \"\""},
      {ParamType::real, "x", "expected a number, not \"x\""},
      {ParamType::real, "nan", "expected a number, not \"nan\""},
      {ParamType::real, "inf", "expected a number, not \"inf\""},
      {ParamType::real, "1e999", "expected a number, not \"1e999\""},
      {ParamType::real, "0.5 ms", "expected a number, not \"0.5 ms\""},
      {ParamType::bytes, "x", "expected a number of bytes such as 16MiB, not \"x\""},
      {ParamType::bytes, "1.5", "expected a number of bytes such as 16MiB, not \"1.5\""},
      {ParamType::duration, "soon", "expected a time such as 500ms, 60s or 1m30s, not \"soon\""},
      {ParamType::integer_list, "1,,2", "expected a whole number, not \"\""},
      {ParamType::bytes_list, "8B,\x1b[2J", "expected a number of bytes such as 16MiB, not \"\\x1b[2J\""},
  };
  for (const auto& one : cases) {
    const auto value = parse_param(spec(one.type), one.text);
    ASSERT_FALSE(value) << one.text;
    EXPECT_EQ(value.error().kind, ErrorKind::usage);
    EXPECT_EQ(value.error().what, one.sentence);
  }
}

TEST(ParamsTest, ChoicesAreTheOnlyTexts) {
  auto buffers = spec(ParamType::text);
  buffers.choices = "rotating|reused";
  EXPECT_EQ(read(buffers, "reused"), "reused");
  EXPECT_EQ(read(buffers, "foo"), "error: \"foo\" is not one of rotating, reused");
  EXPECT_EQ(read(buffers, ""), "error: \"\" is not one of rotating, reused");
  EXPECT_EQ(read(buffers, "rotating|reused"), "error: \"rotating|reused\" is not one of rotating, reused");
  buffers.type = ParamType::text_list;
  EXPECT_EQ(read(buffers, "reused,rotating"), "reused,rotating");
  EXPECT_EQ(read(buffers, "reused,foo"), "error: \"foo\" is not one of rotating, reused");
}

TEST(ParamsTest, LimitsAreInTheWordsOfTheType) {
  auto count = spec(ParamType::integer);
  count.least = 1;
  count.most = 10'000'000;
  EXPECT_EQ(read(count, "1"), "1");
  EXPECT_EQ(read(count, "10000000"), "10000000");
  EXPECT_EQ(read(count, "0"), "error: 0 is below the least allowed, 1");
  EXPECT_EQ(read(count, "10000001"), "error: 10000001 is above the most allowed, 10000000");
  auto size = spec(ParamType::bytes_list);
  size.least = 8;
  size.most = 1 << 30;
  EXPECT_EQ(read(size, "8B,1GiB"), "8B,1GiB");
  EXPECT_EQ(read(size, "8B,4B"), "error: 4B is below the least allowed, 8B");
  EXPECT_EQ(read(size, "2GiB"), "error: 2GiB is above the most allowed, 1GiB");
  auto time = spec(ParamType::duration);
  time.least = 0.001;
  time.most = 3600;
  EXPECT_EQ(read(time, "0"), "error: 0s is below the least allowed, 1ms");
  EXPECT_EQ(read(time, "2h"), "error: 2h is above the most allowed, 1h");
  auto part = spec(ParamType::real);
  part.least = 0;
  part.most = 0.5;
  EXPECT_EQ(read(part, "-0.1"), "error: -0.1 is below the least allowed, 0");
  EXPECT_EQ(read(part, "0.75"), "error: 0.75 is above the most allowed, 0.5");
}

TEST(ParamsTest, AScalarTakesExactlyOneItem) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(to_string(*parse_param(spec(ParamType::integer), Items{"5"})), "5");
  EXPECT_EQ(parse_param(spec(ParamType::integer), Items{"5", "6"}).error().what,
            "expected one integer, not a list of 2");
  EXPECT_EQ(parse_param(spec(ParamType::text), Items{}).error().what, "expected one text, not a list of 0");
  EXPECT_EQ(parse_param(spec(ParamType::text_list), Items{"a,b", ""})->items.size(), 2u);
  EXPECT_EQ(parse_param(spec(ParamType::text_list), Items{})->items.size(), 0u);
}

TEST(ParamsTest, ListsThatDifferReadDifferently) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(parse_param(spec(ParamType::text_list), Items{"a", std::string("b\0c", 3)}).error().what,
            "a text holds no NUL byte");
  auto needed = spec(ParamType::text_list);
  needed.default_text = std::nullopt;
  EXPECT_EQ(parse_param(needed, Items{"", "b"}).error().what, "its first item is empty");
  EXPECT_TRUE(parse_param(needed, Items{"a", ""}));
  const auto one = *parse_param(spec(ParamType::text_list), Items{"a,b"});
  const auto two = *parse_param(spec(ParamType::text_list), Items{"a", "b"});
  EXPECT_NE(to_string(one), to_string(two));
  EXPECT_EQ(parse_param(spec(ParamType::text_list), to_string(one)), one);
  EXPECT_EQ(parse_param(spec(ParamType::text_list), to_string(two)), two);
}

TEST(ParamsTest, TypesHaveItemTypesAndNames) {
  struct {
    ParamType type;
    ParamType item;
    const char* name;
  } const cases[]{
      {ParamType::boolean, ParamType::boolean, "boolean"},
      {ParamType::integer, ParamType::integer, "integer"},
      {ParamType::real, ParamType::real, "real"},
      {ParamType::text, ParamType::text, "text"},
      {ParamType::bytes, ParamType::bytes, "bytes"},
      {ParamType::duration, ParamType::duration, "duration"},
      {ParamType::integer_list, ParamType::integer, "list of integers"},
      {ParamType::real_list, ParamType::real, "list of reals"},
      {ParamType::text_list, ParamType::text, "list of texts"},
      {ParamType::bytes_list, ParamType::bytes, "list of bytes"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(item_type(one.type), one.item) << one.name;
    EXPECT_EQ(to_string(one.type), one.name);
    EXPECT_EQ(is_list(one.type), one.type != one.item) << one.name;
  }
}

TEST(ParamsTest, GettersGiveWhatWasSet) {
  Params params;
  const auto set = [&](const char* name, ParamType type, std::string_view text) {
    params.set(name, *parse_param(spec(type), text));
  };
  set("flag", ParamType::boolean, "true");
  set("count", ParamType::integer, "3");
  set("part", ParamType::real, "0.5");
  set("mode", ParamType::text, "reused");
  set("size", ParamType::bytes, "1KiB");
  set("time", ParamType::duration, "2s");
  set("counts", ParamType::integer_list, "1,2");
  set("parts", ParamType::real_list, "0.5,1");
  set("modes", ParamType::text_list, "a,b");
  set("sizes", ParamType::bytes_list, "8,16");
  EXPECT_TRUE(params.boolean("flag"));
  EXPECT_EQ(params.integer("count"), 3);
  EXPECT_EQ(params.real("part"), 0.5);
  EXPECT_EQ(params.text("mode"), "reused");
  EXPECT_EQ(params.bytes("size"), Bytes{1024});
  EXPECT_EQ(params.duration("time"), Seconds{2});
  EXPECT_EQ(params.integers("counts"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(params.reals("parts"), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(params.texts("modes"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(params.byte_list("sizes"), (std::vector<Bytes>{{8}, {16}}));
  EXPECT_TRUE(params.has("flag"));
  EXPECT_FALSE(params.has("flags"));
  EXPECT_EQ(params.values().size(), 10u);
  set("count", ParamType::integer, "4");
  EXPECT_EQ(params.integer("count"), 4) << "the last one counts";
}

#ifdef MUSTER_HAVE_RAPIDCHECK
ParamSpec optional_spec(ParamType type) {
  auto made = spec(type);
  made.default_text = "";
  return made;
}

void reads_back(const ParamValue& value) {
  const auto text = to_string(value);
  RC_LOG() << text;
  const auto back = parse_param(optional_spec(value.type), text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == value);
}

TEST(ParamsTest, NumbersReadBackExactly) {
  const bool good = rc::check([] {
    const auto real = *rc::gen::suchThat(rc::gen::arbitrary<double>(), [](double x) { return std::isfinite(x); });
    reads_back({ParamType::integer, {*rc::gen::arbitrary<std::int64_t>()}});
    reads_back({ParamType::real, {real}});
    reads_back({ParamType::bytes, {Bytes{*rc::gen::arbitrary<std::uint64_t>()}}});
    reads_back({ParamType::duration, {Seconds{std::fabs(real)}}});
    const auto micros = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
    reads_back({ParamType::duration, {Seconds{static_cast<double>(micros) * 1e-6}}});
  });
  EXPECT_TRUE(good);
}

TEST(ParamsTest, DurationsOfAnySizeReadBackExactly) {
  for (const double value : {1e-300, 5e-324, 1e-9, 0.1234567, 1.0 / 3, 12.345678, 1e6 + 0.25, 1e22, 1.7e308})
    EXPECT_EQ(parse_param(spec(ParamType::duration), to_string(ParamScalar(Seconds{value})))->items.front(),
              ParamScalar(Seconds{value}))
        << value;
}

TEST(ParamsTest, ListsOfTextsReadBackExactly) {
  const bool good = rc::check([] {
    const auto items = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::element('a', ',', '\\', ' ', '\n')));
    if (items == std::vector<std::string>{""}) return;  // as the header says
    const auto value = parse_param(optional_spec(ParamType::text_list), items);
    RC_ASSERT(value.has_value());
    reads_back(*value);
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
