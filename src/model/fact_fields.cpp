#include "model/fact_fields.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {

void FactWriter::separate() {
  if (!is_separated_) text_ += ' ';
  is_separated_ = false;
}

void FactWriter::operator()(const std::vector<int>& numbers) {
  separate();
  text_ += numbers.empty() ? std::string("-") : fmt::format("{}", fmt::join(numbers, ","));
}

void FactWriter::choice(bool flag, std::string_view if_true, std::string_view if_false) {
  separate();
  text_ += flag ? if_true : if_false;
}

void FactWriter::text(std::string_view words) {
  text_ += words;
  is_separated_ = true;
}

void FactReader::separate() {
  if (!is_separated_) text(" ");
  is_separated_ = false;
}

void FactReader::operator()(std::string& word) {
  separate();
  const auto end = std::min(text_.find_first_of(" \t\n\r\f\v"), text_.size());
  take(end == 0 ? std::nullopt : std::optional(printable_line(text_.substr(0, end))), word);
  text_.remove_prefix(end);
}

void FactReader::operator()(std::vector<int>& numbers) {
  separate();
  numbers.clear();
  if (text_.starts_with('-')) return text_.remove_prefix(1);
  do {
    int number = 0;
    take(take_number<int>(text_), number);
    if (is_good_) numbers.push_back(number);
    if (!text_.starts_with(',')) return;
    text_.remove_prefix(1);
  } while (is_good_);
}

void FactReader::hex(std::uint64_t& number, std::string_view /*form*/) {
  separate();
  take(take_number<std::uint64_t>(text_, 16), number);
}

void FactReader::choice(bool& flag, std::string_view if_true, std::string_view if_false) {
  std::string word;
  (*this)(word);
  is_good_ = is_good_ && (word == if_true || word == if_false);
  if (is_good_) flag = word == if_true;
}

void FactReader::rest(std::string& words) {
  if (!text_.empty()) separate();
  take(std::optional(printable_line(text_)), words);
  text_ = {};
}

void FactReader::text(std::string_view words) {
  is_good_ = is_good_ && text_.starts_with(words);
  if (is_good_) text_.remove_prefix(words.size());
  is_separated_ = true;
}

}  // namespace muster
