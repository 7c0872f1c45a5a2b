/// Ranks that train together as threads of this process, any of which may be given a part that does wrong.
#pragma once

#include <cstring>
#include <filesystem>

#include "base/files.hpp"
#include "probes/judging.hpp"
#include "probes/training/observe.hpp"
#include "run/forwarding_comm.hpp"
#include "run/thread_comm.hpp"

namespace muster::training {

/// The host, but for what a test changes.
class OddExecution final : public Execution {
 public:
  std::function<void(const Product&)> before_product = [](const Product&) {};
  std::function<void(const Product&)> after_product = [](const Product&) {};
  std::function<void(const Classified&)> after_classify = [](const Classified&) {};
  bool is_host = true;     ///< false: memory that is said not to be the host's, and so must be copied
  int finishes_left = -1;  ///< then the device fails; negative: never

  std::string name() const override { return good_->name(); }
  bool is_host_memory() const override { return is_host; }
  Result<std::unique_ptr<ExecutionMemory>> allocate(std::size_t count) override { return good_->allocate(count); }
  void copy_in(std::span<const float> from, float* to) override { good_->copy_in(from, to); }
  void copy_out(const float* from, std::span<float> to) override { good_->copy_out(from, to); }
  void clear(float* memory, std::size_t count) override { good_->clear(memory, count); }
  void multiply(const Product& product) override {
    before_product(product);
    good_->multiply(product);
    after_product(product);
  }
  void add_bias(float* matrix, const float* bias, int rows, int columns, bool is_rectified) override {
    good_->add_bias(matrix, bias, rows, columns, is_rectified);
  }
  void mask(float* gradient, const float* activation, std::size_t count) override {
    good_->mask(gradient, activation, count);
  }
  void sum_rows(const float* matrix, float* sums, int rows, int columns) override {
    good_->sum_rows(matrix, sums, rows, columns);
  }
  void classify(const Classified& output) override {
    good_->classify(output);
    after_classify(output);
  }
  void update(const Update& update) override { good_->update(update); }
  Result<void> finish() override {
    if (finishes_left == 0) return fail(ErrorKind::device, "GPU 0000:01:00.0", "cuLaunchKernel returned 719: lost");
    finishes_left -= finishes_left > 0 ? 1 : 0;
    return good_->finish();
  }

 private:
  std::unique_ptr<Execution> good_ = make_host_execution(Products::plain, 1);
};

/// A communicator whose sums of gradients a test may change.
class OddComm final : public ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;

  using Spoil = std::function<void(std::span<const float> in, std::span<float> sum)>;
  std::function<void(std::span<float> in)> spoil_input = [](std::span<float>) {};
  Spoil spoil_sum = [](std::span<const float>, std::span<float>) {};

  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    std::vector<float> mine(in.size() / sizeof(float));
    std::memcpy(mine.data(), in.data(), in.size());
    spoil_input(mine);
    auto started = good_.start_sum(type, std::as_bytes(std::span(mine)), out);
    spoil_sum(mine, std::span(reinterpret_cast<float*>(out.data()), mine.size()));
    return started;
  }
};

/// Calls a test at each step that the probe tells of.
struct OpenedRecorder final : Recorder {
  std::function<void(std::string_view)> at = [](std::string_view) {};
  void step(std::string_view name) override { at(name); }
  void iteration(std::uint64_t) override {}
  void peer(int) override {}
  void child_group(int) override {}
};

/// What a test may change on one rank.
struct Odd {
  int rank;
  OddExecution& execution;
  OddComm& comm;
  OpenedRecorder& recorder;
  Parts& parts;
  DataSet& data;
};
using Change = std::function<void(Odd&)>;

struct Outcome {
  ProbeJudgement judgement;
  std::vector<Result<Trained>> trained;
  [[nodiscard]] const Trained& first() const { return *trained.front(); }
};

/// A training that takes a moment and still learns.
inline Settings small_settings() {
  Settings settings;
  settings.samples = 1000;
  settings.held_out = 400;
  settings.features = 32;
  settings.hidden = 48;
  settings.batch = 60;
  settings.epochs = 6;
  return settings;
}

inline Outcome train_on(
    int ranks, const Settings& settings, const Change& change = [](Odd&) {}, const std::string& checkpoint = {},
    const std::string& resume = {}) {
  const ProbeSpec& probe = *find_probe("training");
  Outcome outcome;
  outcome.trained.resize(static_cast<std::size_t>(ranks), fail(ErrorKind::internal, "", "did not run"));
  std::vector<Observation> seen(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadComm& good) {
    const auto rank = static_cast<std::size_t>(good.rank());
    OddExecution execution;
    OddComm comm(good);
    OpenedRecorder recorder;
    Parts parts{execution, comm, recorder};
    DataSet data = make_training_data(settings);
    const DataSet held_out = make_held_out_data(settings);
    Odd odd{good.rank(), execution, comm, recorder, parts, data};
    change(odd);
    const Task task{settings, data, held_out, checkpoint, resume, true};
    outcome.trained[rank] = train(parts, task);
    if (outcome.trained[rank]) seen[rank] = observe(*outcome.trained[rank], settings, good.rank());
    if (!outcome.trained[rank]) seen[rank].state = ObservationState::failed;
  });
  MadeCase made(probe, {{"max_loss", "0.2"}, {"min_accuracy", "0.8"}});
  for (const Observation& one : seen) made.rank("here", one);
  outcome.judgement = made.judge();
  return outcome;
}

}  // namespace muster::training
