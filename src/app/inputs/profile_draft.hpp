/// The text of a first profile: data of the batch system and one node, and gaps for its author. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster {

/// A partition, as the batch system counts its nodes: the least of each figure. 0: unknown.
struct DraftPartition {
  std::string name;
  bool is_default = false;
  int nodes = 0;
  int cores = 0;  ///< physical cores of a node
  int smt = 0;    ///< CPUs of a core
  int gpus = 0;
  std::string gpu_type;   ///< as the batch system calls it: `h100`; empty: unknown
  bool is_mixed = false;  ///< nodes differ in one of these
};

/// The node on which the profile is written.
struct DraftNode {
  std::string host;
  std::string partition;  ///< whose node it is; empty: of none, as a login node
  std::string architecture;
  std::string cpu_model;
  int cores = 0;
  int smt = 0;
  int domains = 0;
  int gpus = 0;
  std::string gpu_vendor;
  std::string gpu_name;
  int nics = 0;
  std::string nic_prefix;  ///< letters that all their names begin with: `hsn`; empty: they differ
};

struct ProfileDraft {
  std::string system;
  std::string cluster;   ///< ClusterName of the batch system; empty: there is none
  std::string launcher;  ///< empty: the one that is found
  std::vector<DraftPartition> partitions;
  DraftNode node;
};

/// A profile that lints clean, for its author to go on with. `variable` has the cluster's name in jobs.
[[nodiscard]] std::string profile_text(const ProfileDraft& draft, const std::string& variable);

}  // namespace muster
