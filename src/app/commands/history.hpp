/// `muster history` and `muster compare`.
#pragma once

#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

struct HistoryOptions {
  std::string file;  ///< empty: the default
  int last = 20;
  std::vector<std::string> names;  ///< -n: regular expressions
  std::string since;               ///< parse_moment(); empty: any
  std::string before;
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
  std::string before;  ///< parse_moment()
  int keep = 0;        ///< latest runs; 0: not given
};

struct AcceptOptions {
  std::string file;
  std::string item;    ///< empty: any
  std::string metric;  ///< empty: any
  bool all = false;    ///< needed where neither is named
};

struct CompareOptions {
  std::string before;
  std::string after;
  std::string file;
  std::vector<std::string> names;  ///< -n: regular expressions
  bool json = false;
};

/// Prints it on standard error; returns the exit status: 3 for a usage error, 2 where it can't be
/// done. That the usual history is not there, or damaged, is nothing that was asked for.
int history_trouble(const Error& error);

// Each returns the exit status.
int history_command(const HistoryOptions& options);
int history_export_command(const std::string& file, const std::string& to);
int history_import_command(const std::string& file, const std::vector<std::string>& from);
int history_accept_command(const AcceptOptions& options);
int history_prune_command(const PruneOptions& options);
int compare_command(const CompareOptions& options);

}  // namespace muster
