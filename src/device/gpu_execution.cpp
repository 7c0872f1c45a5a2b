#include "device/gpu_execution.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "device/gpu_blas.hpp"

namespace muster {

namespace {

/// Of pinned memory, by way of which all copies from and to the host go: what the host gives may be written again at
/// once, and the vendors' copies from memory that is not pinned wait when they like.
constexpr std::size_t room_floats = std::size_t{1} << 20;

unsigned blocks_for(std::size_t count, unsigned threads, unsigned most) {
  return static_cast<unsigned>(std::clamp<std::size_t>((count + threads - 1) / threads, 1, most));
}

class GpuMemory final : public ExecutionMemory {
 public:
  explicit GpuMemory(GpuHandle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] float* data() const override { return static_cast<float*>(handle_.get()); }

 private:
  GpuHandle handle_;
};

class GpuExecution final : public Execution {
 public:
  GpuExecution(const Gpus& gpus, int device) : gpus_(gpus), device_(device), name_(about().label()) {}
  GpuExecution(const GpuExecution&) = delete;
  GpuExecution& operator=(const GpuExecution&) = delete;
  /// Waits: what is under way uses memory that goes.
  ~GpuExecution() override {
    if (stream_) static_cast<void>(gpus_.synchronize(device_, stream_.get()));
  }

  [[nodiscard]] Result<void> prepare(Products products, const CallWatch& watch) {
    if (auto loaded = gpus_.load_kernels(device_); !loaded) return loaded;
    auto stream = gpus_.stream(device_);
    if (!stream) return tl::unexpected(stream.error());
    stream_ = std::move(*stream);
    auto room = gpus_.pin(device_, room_floats * sizeof(float));
    if (!room) return tl::unexpected(room.error());
    room_ = std::move(*room);
    find_blas(products, watch);
    return {};
  }

  std::string name() const override { return name_; }
  bool is_host_memory() const override { return false; }

  Result<std::unique_ptr<ExecutionMemory>> allocate(std::size_t count) override {
    auto memory = gpus_.allocate(device_, std::max<std::size_t>(count, 1) * sizeof(float));
    if (!memory) return tl::unexpected(memory.error());
    if (auto cleared = gpus_.set(device_, memory->get(), 0, std::max<std::size_t>(count, 1), stream_.get()); !cleared)
      return tl::unexpected(cleared.error());
    return std::make_unique<GpuMemory>(std::move(*memory));
  }

  void copy_in(std::span<const float> from, float* to) override {
    while (!from.empty()) {
      if (used_ == room_floats) wait();
      const std::size_t count = std::min(from.size(), room_floats - used_);
      float* at = room() + used_;
      std::copy_n(from.data(), count, at);
      used_ += count;
      keep([&] { return gpus_.copy(device_, to, at, count * sizeof(float), stream_.get()); });
      from = from.subspan(count);
      to += count;
    }
  }

  void copy_out(const float* from, std::span<float> to) override {
    // What is on its way in lies in the room.
    if (used_ > 0) wait();
    while (!to.empty()) {
      const std::size_t count = std::min(to.size(), room_floats);
      keep([&] { return gpus_.copy(device_, room(), from, count * sizeof(float), stream_.get()); });
      wait();
      if (error_)
        std::fill_n(to.data(), count, 0.0f);
      else
        std::copy_n(room(), count, to.data());
      to = to.subspan(count);
      from += count;
    }
  }

  void clear(float* memory, std::size_t count) override {
    if (count > 0) keep([&] { return gpus_.set(device_, memory, 0, count, stream_.get()); });
  }

  void multiply(const Product& product) override {
    if (product.rows == 0 || product.columns == 0) return;
    if (blas_ == nullptr) return multiply_by_kernel(product);
    keep([&] {
      return blas_->multiply({product.a, product.b, product.c, product.rows, product.columns, product.inner,
                              product.is_a_transposed, product.is_b_transposed, NumberType::float32},
                             stream_.get());
    });
  }

  void add_bias(float* matrix, const float* bias, int rows, int columns, bool is_rectified) override {
    auto count = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
    int rectifies = is_rectified ? 1 : 0;
    launch("muster_train_bias", {.blocks = blocks_for(count, 256, most_blocks())},
           {&matrix, &bias, &count, &columns, &rectifies});
  }

  void mask(float* gradient, const float* activation, std::size_t count) override {
    std::uint64_t all = count;
    launch("muster_train_mask", {.blocks = blocks_for(count, 256, most_blocks())}, {&gradient, &activation, &all});
  }

  void sum_rows(const float* matrix, float* sums, int rows, int columns) override {
    launch("muster_train_sum_rows",
           {.blocks = blocks_for(static_cast<std::size_t>(columns), 32, ~0U), .threads = 32, .thread_rows = 8},
           {&matrix, &sums, &rows, &columns});
  }

  void classify(const Classified& output) override {
    Classified all = output;
    const auto rows = static_cast<std::size_t>(output.rows);
    if (rows > results_rows_) {
      auto results = allocate(2 * rows);
      if (!results) return keep([&]() -> Result<void> { return tl::unexpected(results.error()); });
      results_ = std::move(*results);
      results_rows_ = rows;
    }
    float* results = results_->data();
    launch("muster_train_classify", {.blocks = blocks_for(rows, 128, ~0U), .threads = 128},
           {&all.logits, &all.labels, &all.gradient, &results, &all.rows, &all.classes, &all.scale});
    launch("muster_train_tally", {.threads = 256}, {&results, &all.tally, &all.rows});
  }

  void update(const Update& update) override {
    Update u = update;
    std::uint64_t count = u.count;
    launch("muster_train_update", {.blocks = blocks_for(u.count, 256, most_blocks())},
           {&u.parameters, &u.velocity, &u.gradient, &count, &u.rate, &u.momentum});
  }

  Result<void> finish() override {
    wait();
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  [[nodiscard]] const GpuDevice& about() const { return gpus_.devices()[static_cast<std::size_t>(device_)]; }
  [[nodiscard]] float* room() const { return static_cast<float*>(room_.get()); }
  /// Enough to fill the device several times.
  [[nodiscard]] unsigned most_blocks() const {
    return static_cast<unsigned>(std::max(about().multiprocessors, 1)) * 16;
  }

  void find_blas(Products products, const CallWatch& watch) {
    name_ += ", own kernels";
    if (products == Products::plain) return;
    const GpuBlasLibrary library = open_gpu_blas(gpus_.vendor(), watch);
    auto blas = GpuBlas::make(library, gpus_, device_, watch);
    if (blas) {
      blas_ = std::move(*blas);
      name_ = about().label() + ", " + blas_->name();
    } else if (library.report.state == LibraryState::absent) {
      name_ += fmt::format(" ({} is absent)", library.report.name);
    } else {
      name_ += fmt::format(" ({} is unusable: {})", library.report.name, blas.error().what);
    }
  }

  /// Unless something failed before.
  template <class Call>
  void keep(Call call) {
    if (error_) return;
    if (auto done = call(); !done) error_ = done.error();
  }

  void wait() {
    keep([&] { return gpus_.synchronize(device_, stream_.get()); });
    used_ = 0;
  }

  void launch(const char* kernel, const GpuLaunch& shape, std::initializer_list<void*> arguments) {
    keep([&] { return gpus_.launch(device_, kernel, shape, arguments, stream_.get()); });
  }

  void multiply_by_kernel(const Product& product) {
    Product p = product;
    int is_a_transposed = p.is_a_transposed ? 1 : 0;
    int is_b_transposed = p.is_b_transposed ? 1 : 0;
    launch("muster_train_product",
           {.blocks = blocks_for(static_cast<std::size_t>(p.columns), 16, ~0U),
            .block_rows = blocks_for(static_cast<std::size_t>(p.rows), 16, ~0U),
            .threads = 16,
            .thread_rows = 16},
           {&p.a, &p.b, &p.c, &p.rows, &p.columns, &p.inner, &is_a_transposed, &is_b_transposed});
  }

  const Gpus& gpus_;
  int device_;
  std::string name_;
  std::optional<Error> error_;
  GpuHandle stream_;
  GpuHandle room_;
  std::size_t used_ = 0;  ///< floats of the room that a copy in still reads
  std::unique_ptr<ExecutionMemory> results_;
  std::size_t results_rows_ = 0;
  std::unique_ptr<GpuBlas> blas_;
};

}  // namespace

Result<std::unique_ptr<Execution>> make_gpu_execution(const Gpus& gpus, int device, Products products,
                                                      const CallWatch& watch) {
  auto made = std::make_unique<GpuExecution>(gpus, device);
  if (auto prepared = made->prepare(products, watch); !prepared) return tl::unexpected(prepared.error());
  return made;
}

}  // namespace muster
