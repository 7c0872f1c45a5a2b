#include "base/hostlist.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::uint64_t most_in_range = 65536;
/// So that a short text can't ask for much memory. Host names end at 253 characters (RFC 1035).
constexpr std::size_t longest_name = 1024;
constexpr std::size_t most_groups = 16;

/// A number with its padding: `007` is 7 in 3 digits.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t width = 1;
  [[nodiscard]] std::uint64_t count() const { return high - low + 1; }
  [[nodiscard]] std::string at(std::uint64_t index) const { return fmt::format("{:0{}}", low + index, width); }
};

/// `nid[1-2]x[3]-int` is prefix `nid`, group, prefix `x`, group, suffix `-int`.
struct Token {
  std::vector<std::string> literals;  ///< one more than groups
  std::vector<std::vector<Range>> groups;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> tokens() {
    std::vector<Token> all;
    while (at_ < text_.size()) {
      if (is_separator(text_[at_])) {
        ++at_;
        continue;
      }
      auto token = read_token();
      if (!token) return tl::unexpected(token.error());
      all.push_back(std::move(*token));
    }
    return all;
  }

 private:
  static bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  [[nodiscard]] tl::unexpected<Error> bad(std::string_view what, std::size_t at) const {
    return fail(ErrorKind::usage, "",
                fmt::format("column {}: {} in host list \"{}\"", at + 1, what, printable_line(text_, 80)));
  }

  Result<Token> read_token() {
    Token token;
    token.literals.emplace_back();
    std::size_t length = 0;
    for (const auto start = at_; at_ < text_.size() && !is_separator(text_[at_]);) {
      const char c = text_[at_];
      if (c == ']') return bad("a ] without its [", at_);
      if (c != '[') {
        if (++length > longest_name) return bad("a name of more than 1024 characters", start);
        token.literals.back() += c;
        ++at_;
        continue;
      }
      if (token.groups.size() == most_groups) return bad("a name with more than 16 brackets", start);
      auto group = read_group();
      if (!group) return tl::unexpected(group.error());
      token.groups.push_back(std::move(*group));
      token.literals.emplace_back();
    }
    return token;
  }

  Result<std::vector<Range>> read_group() {
    const auto open = at_++;
    const auto close = text_.find(']', at_);
    if (close == std::string_view::npos) return bad("a [ that is never closed", open);
    std::vector<Range> ranges;
    while (at_ <= close) {
      const auto end = at_ + std::min(text_.substr(at_, close - at_).find(','), close - at_);
      auto range = read_range(text_.substr(at_, end - at_));
      if (!range) return tl::unexpected(range.error());
      ranges.push_back(*range);
      at_ = end + 1;
    }
    return ranges;
  }

  Result<Range> read_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto low = text.substr(0, dash);
    const auto high = dash == std::string_view::npos ? low : text.substr(dash + 1);
    Range range;
    if (!number(low, range.low) || !number(high, range.high))
      return bad(text.empty() ? "nothing where a number is expected"
                              : fmt::format("\"{}\", which is not a number or range", printable_line(text, 30)),
                 at_);
    if (range.low > range.high) return bad(fmt::format("the range {}, which runs backwards", text), at_);
    if (range.count() > most_in_range)
      return bad(fmt::format("the range {}, which has more than 65536 hosts", text), at_);
    range.width = low.size();
    return range;
  }

  static bool number(std::string_view text, std::uint64_t& value) {
    return text.size() <= 18 && read_number(text, value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::size_t count(const std::vector<Range>& group) {
  std::size_t hosts = 0;
  for (const auto& range : group) hosts += range.count();
  return hosts;
}

std::vector<std::string> numbers(const std::vector<Range>& group) {
  std::vector<std::string> all;
  for (const auto& range : group)
    for (std::uint64_t i = 0; i < range.count(); ++i) all.push_back(range.at(i));
  return all;
}

/// Names of the groups before the last, in Slurm's order: the first turns fastest but one, as
/// `a[1-2]b[1-2]c[1-2]` shows (a1b1, a2b1, a1b2, a2b2); with two brackets this is the plain nesting.
std::vector<std::string> prefixes(const Token& token) {
  std::vector<std::string> all{token.literals.front()};
  for (std::size_t i = 0; i + 1 < token.groups.size(); ++i) {
    std::vector<std::string> next;
    for (const auto& number : numbers(token.groups[i]))
      for (const auto& prefix : all) next.push_back(prefix + number + token.literals[i + 1]);
    all = std::move(next);
  }
  return all;
}

/// Checked before anything is made: a few characters can ask for very many names.
Result<void> check_size(const Token& token, std::size_t already, std::size_t most, std::string_view text) {
  std::size_t starts = 1;
  for (std::size_t i = 0; i + 1 < token.groups.size(); ++i) {
    starts *= std::min(count(token.groups[i]), most + 1);
    if (starts > most_in_range)
      return fail(ErrorKind::usage, "",
                  fmt::format("more than 65536 prefixes in host list \"{}\"", printable_line(text, 80)));
  }
  const auto last = token.groups.empty() ? 1 : std::min(count(token.groups.back()), most + 1);
  if (already + starts * last > most)
    return fail(ErrorKind::usage, "",
                fmt::format("more than {} hosts in host list \"{}\"", most, printable_line(text, 80)));
  return {};
}

Result<void> expand(const Token& token, std::string_view text, std::size_t most, std::vector<std::string>& hosts) {
  if (auto fits = check_size(token, hosts.size(), most, text); !fits) return fits;
  if (token.groups.empty()) {
    hosts.push_back(token.literals.front());
    return {};
  }
  const auto last = numbers(token.groups.back());
  for (const auto& start : prefixes(token))
    for (const auto& number : last) hosts.push_back(start + number + token.literals.back());
  return {};
}

/// A host name taken apart at its last number.
struct Split {
  std::string prefix;
  std::string digits;  ///< empty: no number
  std::string suffix;
};

Split take_apart(const std::string& host) {
  const auto end = host.find_last_of("0123456789");
  if (end == std::string::npos) return {host, "", ""};
  const auto before = host.find_last_not_of("0123456789", end);
  const auto start = before == std::string::npos ? 0 : before + 1;
  // A number too long to count with is just text.
  if (end - start + 1 > 18) return {host, "", ""};
  return {host.substr(0, start), host.substr(start, end - start + 1), host.substr(end + 1)};
}

std::uint64_t value_of(const std::string& digits) {
  return leading_number<std::uint64_t>(digits).value_or(0);
}

/// True when counting on from `a` at a's width writes `b`.
bool follows(const std::string& first, std::uint64_t index, const std::string& b) {
  return Range{value_of(first), 0, first.size()}.at(index) == b;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most_hosts) {
  auto tokens = Reader(text).tokens();
  if (!tokens) return tl::unexpected(tokens.error());
  std::vector<std::string> hosts;
  for (const auto& token : *tokens)
    if (auto expanded = expand(token, text, most_hosts, hosts); !expanded) return tl::unexpected(expanded.error());
  return hosts;
}

std::string compress_hostlist(std::span<const std::string> hosts) {
  std::vector<Split> parts;
  for (const auto& host : hosts) parts.push_back(take_apart(host));
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < parts.size();) {
    if (parts[i].digits.empty()) {
      tokens.push_back(hosts[i++]);
      continue;
    }
    std::vector<std::string> ranges;
    std::size_t taken = 0;
    std::size_t j = i;
    while (j < parts.size() && !parts[j].digits.empty() && parts[j].prefix == parts[i].prefix &&
           parts[j].suffix == parts[i].suffix) {
      std::size_t k = j + 1;
      while (k < parts.size() && k - j < most_in_range && parts[k].prefix == parts[i].prefix &&
             parts[k].suffix == parts[i].suffix && follows(parts[j].digits, k - j, parts[k].digits))
        ++k;
      ranges.push_back(k - j > 1 ? parts[j].digits + "-" + parts[k - 1].digits : parts[j].digits);
      taken += k - j;
      j = k;
    }
    tokens.push_back(taken > 1 ? parts[i].prefix + "[" + join(ranges, ",") + "]" + parts[i].suffix : hosts[i]);
    i = j;
  }
  return join(tokens, ",");
}

std::string why_no_host_name(std::string_view text) {
  constexpr std::size_t longest = 253;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr std::string_view others = "-_.";
  in6_addr address{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1) return "";
  if (text.empty()) return "it is empty";
  if (text.size() > longest)
    return fmt::format("it has {} characters, and a name has at most {}", text.size(), longest);
  if (letters.find(text.front()) == letters.npos)
    return fmt::format("it begins with \"{}\", not with a letter or digit", printable_line(text.substr(0, 1)));
  for (std::size_t i = 0; i < text.size(); ++i)
    if (letters.find(text[i]) == letters.npos && others.find(text[i]) == others.npos)
      return fmt::format("character {} is \"{}\"", i + 1, printable_line(text.substr(i, 1)));
  if (text.find("..") != text.npos) return "it has two dots in succession";
  return "";
}

}  // namespace muster
