#include "base/text.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "base/loop.hpp"

namespace muster {
namespace {

using Texts = std::vector<std::string>;

TEST(TextTest, TrimTakesBlanksFromBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \n\t"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(TextTest, SplitKeepsEmptyItems) {
  EXPECT_EQ(split("a,,b", ','), (Texts{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Texts{"", ""}));
  EXPECT_EQ(split("a", ','), (Texts{"a"}));
  EXPECT_EQ(split("", ','), Texts{});
}

TEST(TextTest, JoinPutsSeparatorsBetween) {
  EXPECT_EQ(join(Texts{"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join(Texts{}, ", "), "");
}

TEST(TextTest, LinesEndAtNewlinesAndDropCarriageReturns) {
  using Views = std::vector<std::string_view>;
  EXPECT_EQ(lines("a\r\n\nb"), (Views{"a", "", "b"}));
  EXPECT_EQ(lines("a\n"), (Views{"a"}));
  EXPECT_EQ(lines(""), Views{});
}

TEST(TextTest, ClosestFindsMisspellingsAndNothingElse) {
  const Texts known{"bytes", "repetitions", "transport"};
  EXPECT_EQ(closest("byts", known), "bytes");
  EXPECT_EQ(closest("reptitions", known), "repetitions");
  EXPECT_EQ(closest("tranpsort", known), "transport");
  EXPECT_EQ(closest("gb/s", std::vector<std::string>{"B/s", "GB/s", "GiB/s"}), "GB/s");
  EXPECT_EQ(closest("zebra", known), "");
  EXPECT_EQ(closest("", known), "");
  EXPECT_EQ(closest(std::string(1 << 20, 'b'), known), "");
}

TEST(TextTest, ClosestPrefersTheNearer) {
  EXPECT_EQ(closest("size", Texts{"sizes", "size"}), "size");
  EXPECT_EQ(closest("siez", Texts{"sizes", "size"}), "size");
  EXPECT_EQ(closest("MBs", Texts{"MB", "ms", "MB/s"}), "MB/s") << "rather left out than put in";
}

TEST(TextTest, SuggestionNamesTheNearestOrAllThatAreKnown) {
  EXPECT_EQ(suggestion("byts", Texts{"bytes", "ranks"}), "; did you mean \"bytes\"?");
  EXPECT_EQ(suggestion("zebra", Texts{"bytes", "ranks"}), "; known: bytes, ranks");
  EXPECT_EQ(suggestion("zebra", Texts{}), "");
  Texts many;
  for (char c = 'a'; c < 'n'; ++c) many.push_back(std::string(4, c));
  const auto text = suggestion("zebra", many);
  EXPECT_NE(text.find("llll, ..."), std::string::npos) << text;
  EXPECT_EQ(text.find("mmmm"), std::string::npos) << text;
}

struct PrintableCase {
  std::string_view name;
  std::string given;
  std::string expected;
};

TEST(TextTest, PrintableTable) {
  using namespace std::string_literals;
  const std::string bad = "\xef\xbf\xbd";
  const PrintableCase cases[]{
      {"plain", "a b\n\tc~", "a b\n\tc~"},
      {"two, three and four bytes", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"terminal escape", "\x1b[31mred", "\\x1b[31mred"},
      {"NUL", "a\0b"s, "a\\x00b"},
      {"carriage return", "a\rb", "a\\x0db"},
      {"delete", "\x7f", "\\x7f"},
      {"C1, first", "\xc2\x80", "\\x80"},
      {"C1, CSI", "\xc2\x9b", "\\x9b"},
      {"C1, last", "\xc2\x9f", "\\x9f"},
      {"no-break space is text", "\xc2\xa0", "\xc2\xa0"},
      {"raw 0x9b byte", "\x9b", bad},
      {"U+FFFE", "\xef\xbf\xbe", "\\u{fffe}"},
      {"U+FFFF", "\xef\xbf\xbf", "\\u{ffff}"},
      {"U+1FFFF", "\xf0\x9f\xbf\xbf", "\\u{1ffff}"},
      {"bidi override", "\xe2\x80\xae", "\\u{202e}"},
      {"bidi embedding", "\xe2\x80\xaa", "\\u{202a}"},
      {"bidi isolate", "\xe2\x81\xa6", "\\u{2066}"},
      {"pop isolate", "\xe2\x81\xa9", "\\u{2069}"},
      {"left-to-right mark", "\xe2\x80\x8e", "\\u{200e}"},
      {"right-to-left mark", "\xe2\x80\x8f", "\\u{200f}"},
      {"Arabic letter mark", "\xd8\x9c", "\\u{61c}"},
      {"zero width space", "\xe2\x80\x8b", "\\u{200b}"},
      {"word joiner", "\xe2\x81\xa0", "\\u{2060}"},
      {"soft hyphen", "\xc2\xad", "\\xad"},
      {"interlinear mark", "\xef\xbf\xb9", "\\u{fff9}"},
      {"tag letter", "\xf3\xa0\x81\x81", "\\u{e0041}"},
      {"line separator", "\xe2\x80\xa8", "\\u{2028}"},
      {"byte order mark", "\xef\xbb\xbf", "\\u{feff}"},
      {"overlong slash", "\xc0\xaf", bad + bad},
      {"overlong in three", "\xe0\x80\xaf", bad + bad + bad},
      {"overlong in four", "\xf0\x80\x80\xaf", bad + bad + bad + bad},
      {"surrogate", "\xed\xa0\x80", bad + bad + bad},
      {"above U+10FFFF", "\xf4\x90\x80\x80", bad + bad + bad + bad},
      {"five-byte form", "\xf8\x88\x80\x80\x80", bad + bad + bad + bad + bad},
      {"cut short at the end", "a\xe2\x82", "a" + bad + bad},
      {"cut short by a letter", "\xe2\x82z", bad + bad + "z"},
      {"lone continuation", "\x80", bad},
      {"0xff", "\xff", bad},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(printable(one.given), one.expected) << one.name;
    EXPECT_EQ(printable(one.expected), one.expected) << one.name << " twice";
  }
}

TEST(TextTest, PrintableLineIsOneLineOfAtMostSoManyBytes) {
  EXPECT_EQ(printable_line("a\nb\tc"), "a b c");
  EXPECT_EQ(printable_line("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_line("abcdefg", 6), "abc...");
  EXPECT_EQ(printable_line("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 6), "\xc3\xa4...");
  EXPECT_EQ(printable_line("abcdef", 3), "...");
  EXPECT_EQ(printable_line("abcdef", 2), "ab");
  EXPECT_EQ(printable_line("abcdef", 0), "");
}

TEST(TextTest, TailStartsAtALineWherePossible) {
  EXPECT_EQ(tail("one\ntwo\nthree", 100), "one\ntwo\nthree");
  EXPECT_EQ(tail("one\ntwo\nthree", 11), "two\nthree");
  EXPECT_EQ(tail("one\ntwo\nthree", 9), "two\nthree") << "already at the start of a line";
  EXPECT_EQ(tail("one\ntwo\nthree", 8), "three");
  EXPECT_EQ(tail("one long line", 4), "line");
  EXPECT_EQ(tail("one long line\n", 5), "line\n") << "the newline at the end starts no line";
  EXPECT_EQ(tail("abc", 0), "");
}

TEST(TextTest, HumanList) {
  EXPECT_EQ(human_list(Texts{}), "");
  EXPECT_EQ(human_list(Texts{"a"}), "a");
  EXPECT_EQ(human_list(Texts{"a", "b"}), "a and b");
  EXPECT_EQ(human_list(Texts{"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(human_list(Texts{"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(human_list(Texts{"a", "b"}, 0), "2 more");
}

TEST(TextTest, ShellQuoteLeavesPlainWordsAlone) {
  EXPECT_EQ(shell_quote("--nodes=nid001,nid002"), "--nodes=nid001,nid002");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("~"), "'~'");
  EXPECT_EQ(shell_quote("$(reboot)"), "'$(reboot)'");
}

TEST(TextTest, ShellLineQuotesAFirstWordThatWouldBeAnAssignment) {
  EXPECT_EQ(shell_line(Texts{"a=b", "c=d"}), "'a=b' c=d");
  EXPECT_EQ(shell_line(Texts{"muster", "run", "-S", "x=a b"}), "muster run -S 'x=a b'");
  EXPECT_EQ(shell_line(Texts{}), "");
}

/// What a shell makes of the words that printf(1) is given.
Texts words_seen_by_sh(const Texts& words) {
  const auto ran = run_program({"sh", "-c", "printf '%s\\0' " + shell_line(words)}, 20);
  if (!ran || ran->end.shell_status() != 0) return {"sh failed"};
  auto seen = split(ran->out, '\0');
  if (!seen.empty()) seen.pop_back();
  return seen;
}

TEST(TextTest, ShellReadsBackWhatWasQuoted) {
  Texts words{"plain", "",     " ", "a b", "'", "''",    "\"$HOME\"", "`id`",
              "\\",    "a\nb", "*", "!",   "#", "{a,b}", "\xc3\xa4"};
  for (int c = 1; c < 128; ++c) words.push_back(std::string("x") + static_cast<char>(c) + "y");
  EXPECT_EQ(words_seen_by_sh(words), words);
}

#ifdef MUSTER_HAVE_RAPIDCHECK
rc::Gen<std::string> any_bytes() {
  // Mostly bytes that mean something in UTF-8, or on a terminal.
  const auto byte = rc::gen::weightedOneOf<char>(
      {{2, rc::gen::arbitrary<char>()},
       {2, rc::gen::element('\xe2', '\x80', '\xae', '\xed', '\xa0', '\xef', '\xbf', '\xf4', '\xc2', '\x9b')},
       {1, rc::gen::element('a', '\n', '\x1b', '\t')}});
  return rc::gen::container<std::string>(byte);
}

TEST(TextTest, PrintableIsIdempotentAndHarmlessForAnyBytes) {
  const bool good = rc::check([] {
    const auto text = *any_bytes();
    const auto shown = printable(text);
    RC_ASSERT(printable(shown) == shown);
    for (const char c : shown) RC_ASSERT(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
    const auto most = *rc::gen::inRange<std::size_t>(0, 40);
    const auto line = printable_line(text, most);
    RC_ASSERT(line.size() <= most);
    RC_ASSERT(line.find('\n') == std::string::npos);
    RC_ASSERT(printable(line) == line);
  });
  EXPECT_TRUE(good);
}

TEST(TextTest, JoinUndoesSplit) {
  const bool good = rc::check([](const std::string& text) {
    const char separator = *rc::gen::element(',', 'a', '\n');
    RC_ASSERT(join(split(text, separator), std::string(1, separator)) == text);
  });
  EXPECT_TRUE(good);
}

TEST(TextTest, TailIsAnEndOfTheText) {
  const bool good = rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n'));
    const auto most = *rc::gen::inRange<std::size_t>(0, 12);
    const auto end = tail(text, most);
    RC_ASSERT(end.size() <= most);
    RC_ASSERT(text.compare(text.size() - end.size(), end.size(), end) == 0);
    RC_ASSERT(!end.empty() || text.empty() || most == 0);
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
