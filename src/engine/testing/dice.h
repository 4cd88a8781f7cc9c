// For tests under random schedules: the number of schedules, and a random generator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace syrinx {

/// Returns the number of schedules that a test runs: the larger of `usual` and SYRINX_SCHEDULES.
inline int schedules(int usual) {
  const char* wanted = std::getenv("SYRINX_SCHEDULES");
  return wanted ? std::max(usual, std::atoi(wanted)) : usual;
}

/// A random generator with a seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  /// Returns a number in [0, n).
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int between(int a, int b) { return a + below(b - a + 1); }
  bool one_in(int n) { return below(n) == 0; }
  double seconds(double most_s) { return most_s * (1 + below(1000)) / 1000; }
  template <typename T, size_t N>
  T of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace syrinx
