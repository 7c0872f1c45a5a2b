/// Files in which `accelerate launch` and `deepspeed` find the numbers of their nodes and processes. Pure, but for
/// read_starter_file. docs/launch-line.md
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// `num_machines` -> `2`: what stands at the left margin of a YAML file as `NAME: VALUE`, without quotes and comments.
/// Without names that have no value there (`null`, or a block that follows).
[[nodiscard]] std::map<std::string, std::string> yaml_settings(std::string_view text);

/// `nid001 slots=8` in a line for each node.
struct StarterHosts {
  int nodes = 0;
  std::optional<int> slots;  ///< on each node; nullopt: not the same on all
};
/// nullopt: deepspeed refuses it, or it names no node.
[[nodiscard]] std::optional<StarterHosts> deepspeed_hosts(std::string_view text);

/// nullopt: there is none, its name has a variable in it, or it has a zero byte.
[[nodiscard]] std::optional<std::string> read_starter_file(const std::string& path);

/// The file that `accelerate launch` reads where the command line names none; empty: there is none.
[[nodiscard]] std::string accelerate_default_file();

}  // namespace muster
