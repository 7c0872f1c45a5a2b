/// Three layers: features -> hidden -> hidden -> classes, rectified, softmax and cross-entropy. Where its numbers lie,
/// and forward and backward over a rank's part of a batch.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/execution.hpp"
#include "probes/training/data.hpp"

namespace muster::training {

/// Parameters, velocities and gradients lie alike, the last layer first: the order in which gradients become known.
/// Behind the tensors of each bucket there is room for a tally, which is added up over ranks with them.
struct Layout {
  struct Tensor {
    std::string name;  ///< `fc1.weight`
    std::size_t offset = 0;
    std::size_t count = 0;
    int rows = 0;
    int columns = 0;
  };
  struct Bucket {
    std::size_t begin = 0;
    std::size_t end = 0;    ///< of what is trained
    std::size_t tally = 0;  ///< offset of `tally_size` floats
    std::size_t next = 0;   ///< one past the tally: the whole bucket is begin to next
  };
  /// In a tally: of the rank's samples the sum of losses, how many are right, how many they are. In every bucket, so
  /// that each shows by itself whom it is a sum of.
  static constexpr std::size_t loss_at = 0;
  static constexpr std::size_t right_at = 1;
  static constexpr std::size_t samples_at = 2;
  static constexpr std::size_t tally_size = 16;  ///< a cache line

  std::vector<Tensor> tensors;  ///< weight and bias of layer 3, 2, 1
  std::vector<Bucket> buckets;
  std::size_t size = 0;        ///< floats in all
  std::size_t parameters = 0;  ///< that are trained

  /// A bucket ends behind the first layer with which it has `bucket_bytes`.
  [[nodiscard]] static Layout of(const Settings& settings);
};

/// He's initialisation, uniform: +-sqrt(6 / inputs) for rectified layers, a tenth of it for the last one, so that
/// training starts from a loss of about ln(classes). Biases 0. Source: He et al., Delving Deep into Rectifiers, 2015.
[[nodiscard]] std::vector<float> initial_parameters(const Settings& settings, const Layout& layout);

/// A rank's room for its part of a batch.
class Network {
 public:
  [[nodiscard]] static Result<Network> make(Execution& execution, const Settings& settings, const Layout& layout,
                                            int most_rows);

  /// Loss and gradients of samples `which` of `data`; gradients are divided by `batch`. After each bucket `on_bucket`
  /// is called with its number; after each further operation `between`. Without samples all gradients are 0.
  void backward(const DataSet& data, std::span<const std::uint32_t> which, int batch, const float* parameters,
                float* gradient, const std::function<void(std::size_t bucket)>& on_bucket,
                const std::function<void()>& between);
  /// Of samples first, ..., first + count - 1, the number classified correctly.
  [[nodiscard]] double count_right(const DataSet& data, std::size_t first, std::size_t count, const float* parameters);

 private:
  Network(Execution& execution, const Settings& settings, const Layout& layout);
  void load(const DataSet& data, std::span<const std::uint32_t> which);
  void forward(const float* parameters, int rows);
  void set_tally(float* tally, int rows);
  [[nodiscard]] const Layout::Tensor& weight(int layer) const;  ///< layer 0, 1, 2 from the input
  [[nodiscard]] const Layout::Tensor& bias(int layer) const;

  static constexpr int layers = 3;
  Execution* execution_;
  const Layout* layout_;
  int most_rows_ = 0;
  std::array<std::unique_ptr<ExecutionMemory>, layers + 1> activations_;  ///< input, hidden, hidden, logits
  std::array<std::unique_ptr<ExecutionMemory>, layers> gradients_;        ///< of what layers 1, 2, 3 put out
  std::unique_ptr<ExecutionMemory> labels_;
  std::unique_ptr<ExecutionMemory> tally_;
  std::vector<float> staged_;
};

}  // namespace muster::training
