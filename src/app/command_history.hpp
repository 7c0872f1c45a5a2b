/// `muster history` and `muster compare`.
#pragma once

#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

struct HistoryOptions {
  std::string file;  ///< empty: the default
  int last = 20;
  std::string check;
  std::string metric;
  std::string item;
  std::vector<std::string> where;  ///< LABEL=VALUE
  bool flaky = false;
  bool lemons = false;
  bool actions = false;
  std::string color = "auto";
};

struct PruneOptions {
  std::string file;
  std::string before;  ///< a day, or RFC 3339
  int keep = 0;        ///< latest runs; 0: not said
};

struct CompareOptions {
  std::string before;
  std::string after;
  std::string file;
};

/// Says it on standard error; the exit status that it makes.
int history_trouble(const Error& error);

// Each returns the exit status.
int history_command(const HistoryOptions& options);
int history_export_command(const std::string& file, const std::string& to);
int history_import_command(const std::string& file, const std::vector<std::string>& from);
int history_accept_command(const std::string& file, const std::string& item, const std::string& metric);
int history_prune_command(const PruneOptions& options);
int compare_command(const CompareOptions& options);

}  // namespace muster
