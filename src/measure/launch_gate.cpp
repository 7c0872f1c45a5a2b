#include "measure/launch_gate.hpp"

namespace muster {

namespace {

/// A look over PCIe takes about a microsecond: some seconds, far more than enqueuing does.
constexpr std::uint64_t most_looks = 4'000'000;
constexpr std::uint64_t short_looks = 20'000;
/// The host may be kept from its processor while one short gate gives up, but not each time.
constexpr int trials = 3;

}  // namespace

Result<void> LaunchGate::make(const Gpus& gpus, int device) {
  gpus_ = &gpus;
  device_ = device;
  auto flags = gpus.pin(device, 4096);
  if (!flags) return tl::unexpected(flags.error());
  flags_ = std::move(*flags);
  auto seen = gpus.device_address(device, flags_.get());
  if (!seen) return tl::unexpected(seen.error());
  seen_ = *seen;
  return {};
}

Result<void> LaunchGate::enqueue(std::uint64_t looks, void* stream) const {
  flags()[0] = 0;
  flags()[1] = 0;
  void* seen = seen_;
  return gpus_->launch(device_, "muster_gate", {.threads = 1}, {&seen, &looks}, stream);
}

Result<void> LaunchGate::close(void* stream) const {
  return enqueue(most_looks, stream);
}

Result<bool> LaunchGate::holds(void* stream) const {
  for (int i = 0; i < trials; ++i) {
    const auto launched = enqueue(short_looks, stream);
    const bool has_given_up = has_expired();
    open();
    if (!launched) return tl::unexpected(launched.error());
    if (auto done = gpus_->synchronize(device_, stream); !done) return tl::unexpected(done.error());
    if (!has_given_up) return true;
  }
  return false;
}

}  // namespace muster
