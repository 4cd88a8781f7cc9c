#include "bench/arrivals.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace syrinx {

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::vector<double> poisson_arrivals(double rate, double duration_s, uint64_t seed) {
  SYRINX_CHECK(rate > 0, "a rate must be above 0, got ", rate);
  std::mt19937_64 random(seed);
  std::vector<double> times;
  double at = 0;
  while (times.size() < kMostArrivals) {
    at += -std::log1p(-uniform(random)) / rate;
    if (at >= duration_s) break;
    times.push_back(at);
  }
  return times;
}

Rounds::Rounds(size_t count, uint64_t seed) : random_(seed), order_(count), at_(count) {
  SYRINX_CHECK(count > 0, "Rounds needs at least one text");
  std::iota(order_.begin(), order_.end(), size_t{0});
}

size_t Rounds::next() {
  if (at_ == order_.size()) {
    for (size_t i = order_.size() - 1; i > 0; --i) {
      std::swap(order_[i], order_[static_cast<size_t>(uniform(random_) * (i + 1))]);
    }
    at_ = 0;
  }
  return order_[at_++];
}

}  // namespace syrinx
