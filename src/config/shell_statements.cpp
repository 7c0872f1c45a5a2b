#include "config/shell_statements.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace muster {

namespace {

bool is_letter_of_name(char letter) {
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool is_letter_in(char letter, std::string_view letters) {
  return letters.find(letter) != letters.npos;
}

class StatementScanner {
 public:
  StatementScanner(std::string_view text, ValueOf value_of, char unknown)
      : text_(text), value_of_(std::move(value_of)), unknown_(unknown) {}

  std::vector<ShellStatement> statements() {
    while (at_ < text_.size()) step();
    end_statement();
    return std::move(statements_);
  }

 private:
  void step() {
    const char letter = text_[at_];
    if (letter == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      end_word();
      ++number_;
      at_ += 2;
    } else if (letter == '\n') {
      end_statement();
      joined_by_ += ';';
      ++number_;
      ++at_;
      skip_document();
    } else if (letter == '#' && !is_in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (letter == '<' || letter == '>') {
      redirect();
    } else if (is_letter_in(letter, ";&|()")) {
      end_statement();
      joined_by_ += letter;
      ++at_;
    } else if (is_letter_in(letter, " \t\r")) {
      end_word();
      ++at_;
    } else {
      add_part();
    }
  }

  void begin_word() {
    if (is_in_word_) return;
    is_in_word_ = true;
    word_ = {at_, number_, {}};
  }

  /// One letter, or all that quotes or `$(` hold together.
  void add_part() {
    begin_word();
    const char letter = text_[at_];
    if (letter == '\'' || letter == '"' || letter == '`') return add_quoted(letter);
    if (letter == '$' && add_value()) return;
    const bool is_dollar = letter == '$' || letter == unknown_expansion;
    if (is_dollar && at_ + 1 < text_.size() && is_letter_in(text_[at_ + 1], "({")) return add_nested();
    if (is_dollar) return add_dollar();
    if (letter == '\\') ++at_;
    if (at_ < text_.size()) word_.text += text_[at_++];
  }

  void add_quoted(char quote) {
    ++at_;
    if (quote == '`' && unknown_ != 0) word_.text += unknown_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '$') {
        if (!add_value()) add_dollar();
        continue;
      }
      if (text_[at_] == '\\' && quote != '\'' && at_ + 1 < text_.size()) ++at_;
      add_letter();
      ++at_;
    }
    ++at_;
  }

  /// `$NAME` or `${NAME}` with a value.
  bool add_value() {
    if (!value_of_) return false;
    const bool is_braced = text_.substr(at_, 2) == "${";
    const std::size_t begin = at_ + (is_braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text_.size() && is_letter_of_name(text_[end])) ++end;
    if (end == begin || (is_braced && text_.substr(end, 1) != "}")) return false;
    const auto value = value_of_(std::string(text_.substr(begin, end - begin)));
    if (!value) return false;
    word_.text += *value;
    at_ = end + (is_braced ? 1 : 0);
    return true;
  }

  /// One that no value replaces.
  void add_dollar() {
    word_.text += unknown_ != 0 ? unknown_ : text_[at_];
    ++at_;
  }

  void add_nested() {
    const char open = text_[at_ + 1];
    const char close = open == '(' ? ')' : '}';
    add_dollar();
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      add_letter();
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) break;
    }
    ++at_;
  }

  void add_letter() {
    if (text_[at_] == '\n') ++number_;
    word_.text += text_[at_];
  }

  void end_word() {
    if (is_in_word_ && !is_cut_) statement_.words.push_back(std::move(word_));
    if (is_in_word_ && is_document_) document_ = word_.text;
    is_in_word_ = is_document_ = false;
  }

  void end_statement() {
    end_word();
    if (!is_cut_) statement_.end = at_;
    if (!statement_.words.empty()) {
      statement_.joined_by = std::exchange(joined_by_, {});
      statements_.push_back(std::move(statement_));
    }
    statement_ = {};
    is_cut_ = false;
  }

  /// What follows a redirection is not a part of the launch.
  void redirect() {
    const bool is_document = text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<";
    end_word();
    if (!is_cut_) statement_.end = at_;
    is_cut_ = true;
    at_ = std::min(text_.find_first_not_of("<>&-|", at_), text_.size());
    is_document_ = is_document;
  }

  void skip_document() {
    if (document_.empty()) return;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const bool is_last = trim(text_.substr(at_, end - at_)) == document_;
      at_ = std::min(end + 1, text_.size());
      ++number_;
      if (is_last) break;
    }
    document_.clear();
  }

  std::string_view text_;
  ValueOf value_of_;
  std::size_t at_ = 0;
  int number_ = 1;
  ShellWord word_;
  bool is_in_word_ = false;
  bool is_cut_ = false;       ///< behind a redirection
  bool is_document_ = false;  ///< the next word ends a here-document
  std::string document_;
  char unknown_;
  std::string joined_by_;
  ShellStatement statement_;
  std::vector<ShellStatement> statements_;
};

}  // namespace

std::vector<ShellStatement> shell_statements(std::string_view text, ValueOf value_of, char unknown) {
  return StatementScanner(text, std::move(value_of), unknown).statements();
}

}  // namespace muster
