/// A vendor's library, opened at run time: absent, present but unusable, or open. Neither program links one, so that a
/// node without it, or with a broken one, is still reported.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class Library {
 public:
  /// Opens the first of `names` that loads, with its symbols kept to itself; never closed, as drivers do not survive
  /// that. Looked for where the loader looks, then in the folders of vendors. On a simulated machine only in the folder
  /// that MUSTER_DRIVERS names: the real machine's libraries would report the real machine.
  [[nodiscard]] static Library open(std::initializer_list<const char*> names);

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  /// None of the names is there. Otherwise, when it is not open, it is there and does not load: see `error`.
  [[nodiscard]] bool is_absent() const { return handle_ == nullptr && error_.empty(); }
  /// As it was opened: `libcuda.so.1`; the first of the names where it is not.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The file that it came from, links resolved; empty when it is not open.
  [[nodiscard]] const std::string& file() const { return file_; }
  /// The loader's own words, one line.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// nullptr when it is not there. The vendor's headers hide suffixes (`_v2`): they have to be spelt out.
  [[nodiscard]] void* symbol(const char* symbol) const;

  /// Fills a pointer to a function; false when the library lacks it.
  template <typename Function>
  bool fill(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(this->symbol(symbol));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
  std::string file_;
  std::string error_;
};

}  // namespace muster
