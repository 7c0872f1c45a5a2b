/// The command line as plain values, read from the commands' registration with the parser: manual pages and
/// completion are drawn from it, and so know every command and option that there is.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct OptionWords {
  std::vector<std::string> names;    ///< `-n`, `--name`; empty: positional
  std::string place;                 ///< `paths`, of one without names
  std::string value;                 ///< what it takes: `FILE|FOLDER`; empty: a switch
  std::vector<std::string> choices;  ///< of its values, all there are; empty: others than a few
  std::string help;                  ///< one line
  bool is_required = false;
  bool is_list = false;  ///< takes or may be given several
};

struct CommandWords {
  std::string name;  ///< `run`; with those of the commands above it: `muster run`
  std::string path;
  std::string summary;
  std::string footer;
  std::string behind;                ///< `COMMAND`: what stands behind `--`; empty: nothing does
  std::vector<OptionWords> options;  ///< in the order of the help, places first
  std::vector<CommandWords> commands;
};

}  // namespace muster
