/// Random numbers of the diagnosis benchmark: the same on every system, and not those of the unit tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace muster::diagnosis {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return (static_cast<double>(engine_() >> 12) + 0.5) * 0x1p-52; }
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  double exponential() { return -std::log(uniform()); }
  /// Marsaglia's polar method.
  double normal() {
    while (true) {
      const double u = 2 * uniform() - 1;
      const double v = 2 * uniform() - 1;
      const double s = u * u + v * v;
      if (s < 1) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }
  /// Student's t with three degrees of freedom.
  double student3() {
    double squares = 0;
    for (int i = 0; i < 3; ++i) {
      const double one = normal();
      squares += one * one;
    }
    return normal() / std::sqrt(squares / 3);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace muster::diagnosis
