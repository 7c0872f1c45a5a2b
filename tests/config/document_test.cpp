// What no check file may be, whatever it says: bytes that are no text, nesting without end; and where places count
// from.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

using Texts = std::vector<std::string>;
using std::string_literals::operator""s;

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

const std::string check = "[check.a]\nprobe = \"bandwidth\"\n";
const std::string too_deep = "nested too deeply: at most 32 open brackets and 32 parts in a key";

}  // namespace

TEST(Document, EmptyIsAnError) {
  for (const auto& document : {""s, "\n"s, " \t\r\n\n"s})
    EXPECT_EQ(errors_of_checks(document), Texts{"f.toml:1:1: the file is empty"});
  EXPECT_EQ(errors_of_checks("# nothing\n"),
            Texts{"f.toml:1:1: there is no check in this file; write for example [check.hello]"});
}

TEST(Document, BytesThatAreNotUtf8AreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> table{
      {check + "summary = \"\xff\"\n", "f.toml:3:12: byte 0xff"},
      {"# \xc3\xa4\xc3\xb6\xc3(\n", "f.toml:1:5: byte 0xc3"},
      {"# \xc0\x80", "f.toml:1:3: byte 0xc0"},
      {"# \xe0\x80\x80", "f.toml:1:3: byte 0xe0"},
      {"# \xf0\x80\x80\x80", "f.toml:1:3: byte 0xf0"},
      {"# \xed\xa0\x80", "f.toml:1:3: byte 0xed"},
      {"# \xf4\x90\x80\x80", "f.toml:1:3: byte 0xf4"},
      {"# \xe2\x82", "f.toml:1:3: byte 0xe2"},
      {"\n\n \x80", "f.toml:3:2: byte 0x80"},
  };
  for (const auto& [document, error] : table)
    EXPECT_EQ(errors_of_checks(document), Texts{error + " is not UTF-8; save the file as UTF-8"}) << error;
  EXPECT_EQ(errors_of_checks(check + "summary = \"\xe2\x82\xac \xf0\x9f\x99\x82\"\n"), Texts{});
}

TEST(Document, NulIsAnError) {
  EXPECT_EQ(errors_of_checks("[check.a]\nprobe = \"x\0\"\n"s), Texts{"f.toml:2:11: NUL byte; this is not text file"});
  EXPECT_EQ(errors_of_system("\0"s), Texts{"f.toml:1:1: NUL byte; this is not text file"});
}

TEST(Document, NestingHasAnEnd) {
  EXPECT_EQ(errors_of_checks("a = " + repeated("[", 33) + repeated("]", 33)), Texts{"f.toml:1:37: " + too_deep});
  EXPECT_EQ(errors_of_checks("a = " + repeated("{a=", 33)), Texts{"f.toml:1:101: " + too_deep});
  EXPECT_EQ(errors_of_checks("[" + repeated("a.", 33) + "a]"), Texts{"f.toml:1:67: " + too_deep});
  EXPECT_EQ(errors_of_checks(repeated("\"=\".", 33) + "a = 1"), Texts{"f.toml:1:132: " + too_deep});
}

TEST(Document, LettersBeyondAsciiAreFineInTextsAndComments) {
  // A letter, a combining mark, a no-break and an ideographic space, one beyond the first plane.
  for (const auto& letter : {"\xc3\xa4"s, "\xcd\x80"s, "\xc2\xa0"s, "\xe3\x80\x80"s, "\xf0\x9f\x99\x82"s}) {
    EXPECT_EQ(errors_of_checks(check + "# " + letter + "\nsummary = \"" + letter + "\" # " + letter), Texts{});
    EXPECT_EQ(errors_of_checks(check + "summary = \"\"\"" + letter + "\\\n  " + letter + "\"\"\""), Texts{});
    expect_errors({"f.toml:3:14: not TOML: ..."}, errors_of_checks(check + "summary = \"a\\" + letter + "\""));
    EXPECT_EQ(errors_of_checks(check + " " + letter).size(), 1u);
    EXPECT_EQ(errors_of_checks(check + "timeout = 4" + letter).size(), 1u);
  }
}

TEST(Document, PromisesOfTheParserThatAFileBreaksHaveAPlace) {
  EXPECT_EQ(errors_of_checks(check + "tags = [\"\xc3\xa4\", }\n# \xc3\xa4\n"),
            Texts{"f.toml:3:14: not TOML: not allowed here"});
  EXPECT_EQ(errors_of_checks("a = [1,\n  }]"), Texts{"f.toml:2:3: not TOML: not allowed here"});
  EXPECT_EQ(errors_of_checks(check + "[.a]"), Texts{"f.toml:3:2: not TOML: not allowed here"});
  EXPECT_EQ(errors_of_checks(check + "[[ #"), Texts{"f.toml:3:4: not TOML: not allowed here"});
  EXPECT_FALSE(is_system_document("system = [1, }"));
}

TEST(Document, TenMegabytesOfNestingDoNotCrash) {
  constexpr int count = 10 << 20;
  EXPECT_EQ(errors_of_checks("a = " + repeated("[", count)), Texts{"f.toml:1:37: " + too_deep});
  EXPECT_EQ(errors_of_checks("\n[" + repeated("a.", count / 2) + "a]\n"), Texts{"f.toml:2:67: " + too_deep});
  EXPECT_FALSE(is_system_document("system = " + repeated("{a=", count / 3)));
}

TEST(Document, BracketsAndDotsInTextAndCommentsDoNotNest) {
  const auto brackets = repeated("[{.", 50);
  EXPECT_EQ(errors_of_checks(check + "summary = \"" + brackets + "\\\"" + brackets + "\"\n"), Texts{});
  EXPECT_EQ(errors_of_checks(check + "summary = '" + brackets + "\"'\n"), Texts{});
  EXPECT_EQ(errors_of_checks(check + "summary = '''\n" + brackets + "'\n" + brackets + "''''\n"), Texts{});
  EXPECT_EQ(errors_of_checks(check + "summary = \"\"\"\n" + brackets + "\\\"\"\"" + brackets + "\"\"\"\n"), Texts{});
  EXPECT_EQ(errors_of_checks(check + "# " + brackets + "\nsummary = \"x\" # " + brackets + "\n"), Texts{});
  EXPECT_EQ(errors_of_checks(check + "sweep.share = [0.1" + repeated(", 0.1", 40) + "]\n").size(), 40u)
      << "twice, not deep";
}

TEST(Document, ColumnsCountCharacters) {
  expect_errors({"f.toml:4:16: not TOML: ..."},
                errors_of_checks(check + "timeout = 4 # \xc3\xa4\nsummary = \"\xc3\xa4\xc3\xa4\xc3\xa4\"; rank = 4\n"));
  EXPECT_EQ(
      errors_of_checks(check + "tags = [\"\xe2\x82\xac\", \"a\"]\n"),
      (Texts{"f.toml:3:9: tag \"\xe2\x82\xac\" must be at most 64 letters, digits, _ and -, beginning with a letter"}));
  EXPECT_EQ(errors_of_checks(check + "params = { type = \"half\", \"\xc3\xa4\" = 1, typ = 1 }\n"),
            (Texts{"f.toml:3:27: unknown parameter \"\xc3\xa4\" of probe bandwidth; known: sizes, type, repetitions, "
                   "share, cap, verify",
                   "f.toml:3:36: unknown parameter \"typ\" of probe bandwidth; did you mean \"type\"?"}));
}

TEST(Document, LineEndingsAndByteOrderMarkDoNotShiftPlaces) {
  const std::string error = "f.toml:3:1: unknown key \"rank\" in [check.a]; did you mean \"ranks\"?";
  EXPECT_EQ(errors_of_checks("[check.a]\r\nprobe = \"bandwidth\"\r\nrank = 4\r\n"), Texts{error});
  EXPECT_EQ(errors_of_checks("\xef\xbb\xbf" + check + "rank = 4"), Texts{error});
}

TEST(Document, TextFromFilesIsHarmlessInMessages) {
  const auto message = errors_of_checks("[check.a]\nprobe = \"\\u001b[31mred\"\n\"\\u0007\" = 1\n");
  EXPECT_EQ(
      message,
      (Texts{
          R"(f.toml:2:9: unknown probe "\x1b[31mred"; known: bandwidth, program)",
          R"(f.toml:3:1: unknown key "\x07" in [check.a]; known: probe, summary, tags, ranks, bind, launch, nodes, timeout, params, sweep, metrics, expect)"}));
}

TEST(Document, ErrorsAreOfKindFile) {
  Diagnostics diagnostics;
  (void)parse_checks("a", "f.toml", probes, diagnostics);
  ASSERT_EQ(diagnostics.errors.size(), 1u);
  EXPECT_EQ(diagnostics.errors[0].kind, ErrorKind::file);
  EXPECT_FALSE(diagnostics.ok());
}

TEST(Document, DiagnosticsOfSeveralFilesAddUp) {
  Diagnostics diagnostics;
  (void)parse_checks("", "a.toml", probes, diagnostics);
  (void)parse_checks(check, "b.toml", probes, diagnostics);
  (void)parse_system("", "c.toml", diagnostics);
  EXPECT_EQ(texts(diagnostics), (Texts{"a.toml:1:1: the file is empty", "c.toml:1:1: the file is empty"}));
}

}  // namespace muster::fake
