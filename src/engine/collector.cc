#include "engine/collector.h"

namespace syrinx {

void Collector::audio(std::span<const float> samples) {
  box_.fill([&](Collected& all) {
    all.samples.insert(all.samples.end(), samples.begin(), samples.end());
    return true;
  });
}

void Collector::finished(const Outcome& outcome) {
  box_.fill([&](Collected& all) {
    all.outcome = outcome;
    return true;
  });
}

const Outcome& Collector::wait() {
  return *box_.wait(
      -1, [](const Collected& all) { return all.outcome.has_value(); },
      [](Collected& all) { return &*all.outcome; });
}

const std::vector<float>& Collector::samples() const {
  return *box_.with([](const Collected& all) { return &all.samples; });
}

std::vector<float> Collector::next(double timeout_s) {
  return box_.wait(
      timeout_s, [](const Collected& all) { return all.outcome || !all.all_taken(); },
      [](Collected& all) {
        const auto from = all.samples.begin() + static_cast<std::ptrdiff_t>(all.taken);
        all.taken = all.samples.size();
        return std::vector<float>(from, all.samples.end());
      });
}

bool Collector::done() const {
  return box_.with([](const Collected& all) { return all.outcome && all.all_taken(); });
}

}  // namespace syrinx
