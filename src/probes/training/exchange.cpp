#include "probes/training/exchange.hpp"

#include <array>
#include <cmath>

namespace muster::training {

namespace {

template <class T>
void put(ByteVector& out, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

ByteVector encode(const EpochOfRank& epoch) {
  const std::uint64_t head[] = {epoch.is_finite ? 1U : 0U, epoch.records.size()};
  ByteVector bytes;
  put<std::uint64_t>(bytes, head);
  put<StepRecord>(bytes, epoch.records);
  put<std::uint32_t>(bytes, epoch.taken);
  return bytes;
}

Result<EpochOfRank> decode(const ByteVector& bytes, std::size_t steps) {
  const std::size_t records_at = 2 * sizeof(std::uint64_t);
  const std::size_t taken_at = records_at + steps * sizeof(StepRecord);
  const std::span all(bytes);
  if (bytes.size() < taken_at || values_of<std::uint64_t>(all.first(records_at))[1] != steps)
    return fail(ErrorKind::system, "all_gather", "a rank reported another number of steps");
  return EpochOfRank{values_of<std::uint64_t>(all.first(records_at))[0] != 0,
                     values_of<StepRecord>(all.subspan(records_at, taken_at - records_at)),
                     values_of<std::uint32_t>(all.subspan(taken_at))};
}

bool updates_rightly(const Parts& parts, const Settings& settings) {
  constexpr std::size_t count = 64;
  std::array<std::array<float, count>, 3> numbers{};  // parameters, velocity, gradient
  for (std::size_t which = 0; which < numbers.size(); ++which)
    for (std::size_t i = 0; i < count; ++i)
      numbers[which][i] = static_cast<float>(random_bits(settings.seed, 5 + which, i) >> 40) / 8388608.0f - 1.0f;
  auto memory = parts.execution.allocate(numbers.size() * count);
  if (!memory) return false;
  float* at = (*memory)->data();
  for (std::size_t which = 0; which < numbers.size(); ++which)
    parts.execution.copy_in(numbers[which], at + which * count);
  parts.update(parts.execution, {at, at + count, at + 2 * count, count, settings.rate, settings.momentum});
  std::array<float, count> got{};
  parts.execution.copy_out(at, got);
  if (!parts.execution.finish()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const float due = numbers[0][i] - settings.rate * (settings.momentum * numbers[1][i] + numbers[2][i]);
    if (!(std::abs(got[i] - due) <= 1e-5f)) return false;
  }
  return true;
}

}  // namespace muster::training
