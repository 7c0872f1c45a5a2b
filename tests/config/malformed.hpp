// A table of malformed documents, each with all that must be said about it.
#pragma once

#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/probes.hpp"

namespace muster::fake {

struct Malformed {
  std::string name;
  std::string document;
  std::vector<std::string> errors;  ///< one that ends in `...` need only begin like that (words of a library follow)
};

inline void PrintTo(const Malformed& one, std::ostream* out) {
  *out << one.name;
}

inline std::vector<std::string> texts(const Diagnostics& diagnostics) {
  std::vector<std::string> all;
  for (const auto& error : diagnostics.errors) all.push_back(to_string(error));
  return all;
}

inline std::vector<std::string> errors_of_checks(const std::string& document) {
  Diagnostics diagnostics;
  (void)parse_checks(document, "f.toml", probes, diagnostics);
  return texts(diagnostics);
}

inline std::vector<std::string> errors_of_system(const std::string& document) {
  Diagnostics diagnostics;
  (void)parse_system(document, "f.toml", diagnostics);
  return texts(diagnostics);
}

inline void expect_errors(const std::vector<std::string>& wanted, std::vector<std::string> message) {
  for (std::size_t i = 0; i < wanted.size() && i < message.size(); ++i) {
    const auto end = wanted[i].rfind("...");
    if (end != std::string::npos && end + 3 == wanted[i].size()) message[i] = message[i].substr(0, end) + "...";
  }
  EXPECT_EQ(wanted, message);
}

inline std::string name_of(const testing::TestParamInfo<Malformed>& info) {
  return info.param.name;
}

}  // namespace muster::fake
