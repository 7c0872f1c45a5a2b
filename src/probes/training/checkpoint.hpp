/// A state of training as a file: which training it is of, and its numbers by name, with a checksum over all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probes/training/network.hpp"

namespace muster::training {

/// All that a step changes, with the layout of Layout.
struct State {
  std::vector<float> parameters;
  std::vector<float> velocity;
  friend bool operator==(const State&, const State&) = default;
};

struct Checkpoint {
  State state;
  int epoch = 0;          ///< the next one
  int writer = 0;         ///< rank that wrote it
  std::uint64_t run = 0;  ///< which start of the program wrote it: a random number
};

/// What a checkpoint must be of, to be gone on from.
struct Identity {
  const Settings& settings;
  const Layout& layout;
  std::uint64_t data = 0;  ///< fingerprint of the training data
};

/// Whether the bytes begin as a checkpoint of any training does.
[[nodiscard]] bool is_checkpoint(std::string_view bytes);

/// `prefix` stands before every name of a parameter: `module.` is what PyTorch's DistributedDataParallel puts there.
[[nodiscard]] std::string encode(const Identity& identity, const Checkpoint& checkpoint, std::string_view prefix = {});
/// Names may all carry `module.` or none. Fails with kind `file` and the reason: not a checkpoint, another version, cut
/// short, damaged, of another seed, network, data set or optimiser.
[[nodiscard]] Result<Checkpoint> decode(const Identity& identity, std::string_view bytes);

}  // namespace muster::training
