// The times at which requests arrive, and the order in which texts are spoken. The same seed gives
// the same values on every machine. Free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace syrinx {

inline constexpr size_t kMostArrivals = 2'000'000;

/// Returns a uniform number in [0, 1), the same with every standard library.
double uniform(std::mt19937_64& random);

/// Computes the arrivals of a Poisson process with `rate` > 0 requests a second: times in [0,
/// duration_s), ascending, at most kMostArrivals of them.
std::vector<double> poisson_arrivals(double rate, double duration_s, uint64_t seed);

/// The numbers of `count` > 0 texts in rounds. Each round has all numbers in a new random order.
class Rounds {
 public:
  Rounds(size_t count, uint64_t seed);
  size_t next();

 private:
  std::mt19937_64 random_;
  std::vector<size_t> order_;
  size_t at_ = 0;
};

}  // namespace syrinx
