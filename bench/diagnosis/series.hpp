/// Values with known noise: items that should be alike, histories of one value, pairs of runs. Written independently of
/// the rules that judge them.
#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "diagnosis/random.hpp"

namespace muster::diagnosis {

enum class Spread {
  normal,
  skewed,       ///< exponential losses
  lognormal,    ///< held out from here on
  heavy_tails,  ///< Student's t with 3 degrees of freedom
};
constexpr int spreads = 4;
[[nodiscard]] inline std::string_view name_of(Spread spread) {
  constexpr std::array<std::string_view, spreads> names{"normal", "skewed", "lognormal", "heavy tails"};
  return names[static_cast<std::size_t>(spread)];
}

/// A loss (a logarithm) whose robust standard deviation is 1.
[[nodiscard]] inline double loss(Spread spread, Random& random) {
  switch (spread) {
    case Spread::skewed:
      return random.exponential() / 0.713;
    case Spread::lognormal:
      return 1.35 * (std::exp(0.75 * random.normal()) - 1);
    case Spread::heavy_tails:
      return random.student3() / 1.134;
    default:
      return random.normal();
  }
}

enum class Course {
  independent,
  related,           ///< autocorrelation 0.5
  outliers,          ///< 5 % of the runs lose 10 to 40 %
  strongly_related,  ///< autocorrelation 0.7; held out from here on
  weekly,
  skewed,
  lognormal,
  heavy_tails,
};
constexpr int courses = 8;
[[nodiscard]] inline bool is_held_out(Course course) {
  return course >= Course::strongly_related;
}
[[nodiscard]] inline std::string_view name_of(Course course) {
  constexpr std::array<std::string_view, courses> names{
      "independent", "autocorrelation 0.5", "outliers",   "autocorrelation 0.7", "weekly",
      "skewed",      "lognormal",           "heavy tails"};
  return names[static_cast<std::size_t>(course)];
}

/// Losses of successive runs; the robust standard deviation of one is `noise`.
[[nodiscard]] inline std::vector<double> history(Course course, int runs, double noise, Random& random) {
  const double correlation = course == Course::related ? 0.5 : course == Course::strongly_related ? 0.7 : 0;
  const int week = random.below(7);
  std::vector<double> losses;
  double last = random.normal();
  for (int run = 0; run < runs; ++run) {
    double one = 0;
    if (correlation > 0) {
      last = correlation * last + std::sqrt(1 - correlation * correlation) * random.normal();
      one = noise * last;
    } else if (course == Course::weekly) {
      // Half of the variance is the day of the week.
      one = noise * (std::sin(2 * 3.14159265358979 * (run + week) / 7) + std::sqrt(0.5) * random.normal());
    } else {
      const Spread spread = course == Course::skewed        ? Spread::skewed
                            : course == Course::lognormal   ? Spread::lognormal
                            : course == Course::heavy_tails ? Spread::heavy_tails
                                                            : Spread::normal;
      one = noise * loss(spread, random);
    }
    if (course == Course::outliers && random.uniform() < 0.05) one += 0.1 + 0.3 * random.uniform();
    losses.push_back(one);
  }
  return losses;
}

}  // namespace muster::diagnosis
