/// Colours, where they are wanted; else nothing at all.
#pragma once

#include <string>
#include <string_view>

#include "muster/verdict.hpp"

namespace muster {

/// The only place that writes terminal escapes. Give it text that is already padded and printable.
class Ink {
 public:
  explicit Ink(bool is_colored) : is_colored_(is_colored) {}

  [[nodiscard]] std::string of(Verdict verdict, std::string_view text) const;
  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return paint("2", text); }

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;

  bool is_colored_;
};

}  // namespace muster
