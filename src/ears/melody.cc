#include "ears/melody.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ears/recogniser.h"

namespace syrinx {
namespace {

constexpr size_t kQuarter = 4;  // number of input samples averaged to one sample
constexpr double kMelodyRate = static_cast<double>(kHearingRate) / kQuarter;
constexpr size_t kWindow = 160, kCompared = 98;  // samples in 40 ms; sample pairs compared
constexpr size_t kLeastLag = 9, kMostLag = 62;   // samples: 440 to 65 Hz
constexpr double kVoiced = 0.7;                  // smallest autocorrelation of a frame with a pitch
constexpr double kOctave = 0.9;     // the pitch is the shortest lag with this share of the maximum
constexpr double kLoudEnough = 50;  // smallest root mean square of a voiced frame of 16-bit samples
constexpr size_t kEnd = 12;         // number of frames at the end whose pitch is compared
constexpr size_t kLeastBody = 20;
constexpr size_t kMostSaid = 3000;  // limit of stored frames: 30 s
constexpr double kFall = -1.5;      // semitones; an ending below this is a fall
constexpr double kSlip = -9;        // semitones; a lower ending is an octave error, not a fall

double median(std::vector<float> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Melody::reset() {
  recent_.clear();
  said_.clear();
}

void Melody::hear(std::span<const int16_t> frame) {
  for (size_t at = 0; at + kQuarter <= frame.size(); at += kQuarter) {
    float sum = 0;
    for (size_t i = 0; i < kQuarter; ++i) sum += frame[at + i];
    recent_.push_back(sum / kQuarter);
  }
  if (recent_.size() < kWindow) return;
  recent_.erase(recent_.begin(), recent_.end() - kWindow);
  const auto found = pitch();
  if (!found) return;
  if (said_.size() == kMostSaid) said_.erase(said_.begin(), said_.begin() + kMostSaid / 2);
  said_.push_back(*found);
}

/// Returns the pitch of recent_, in semitones above 100 Hz.
std::optional<float> Melody::pitch() const {
  double mean = 0, power = 0;
  for (const float x : recent_) mean += x / kWindow;
  for (const float x : recent_) power += (x - mean) * (x - mean) / kWindow;
  if (std::sqrt(power) < kLoudEnough) return std::nullopt;
  const auto at = [&](size_t i) { return recent_[i] - mean; };
  std::array<double, kMostLag + 1> alike{};
  double best = 0;
  for (size_t lag = kLeastLag; lag <= kMostLag; ++lag) {
    double both = 0, here = 1e-9, there = 1e-9;
    for (size_t i = 0; i < kCompared; ++i) {
      both += at(i) * at(i + lag);
      here += at(i) * at(i);
      there += at(i + lag) * at(i + lag);
    }
    alike[lag] = both / std::sqrt(here * there);
    best = std::max(best, alike[lag]);
  }
  if (best < kVoiced) return std::nullopt;
  size_t lag = kLeastLag;
  while (alike[lag] < kOctave * best) ++lag;
  while (lag < kMostLag && alike[lag + 1] > alike[lag]) ++lag;
  double exact = static_cast<double>(lag);
  if (lag > kLeastLag && lag < kMostLag) {  // the vertex of the parabola through three lags
    const double before = alike[lag - 1], after = alike[lag + 1];
    const double bend = before - 2 * alike[lag] + after;
    if (bend < 0) exact += 0.5 * (before - after) / bend;
  }
  return static_cast<float>(12 * std::log2(kMelodyRate / exact / 100));
}

std::optional<double> Melody::ending() const {
  if (said_.size() < kLeastBody + kEnd) return std::nullopt;
  const auto end = said_.end() - kEnd;
  return median({end, said_.end()}) - median({said_.begin(), end});
}

bool Melody::fell() const {
  const auto moved = ending();
  return moved && *moved <= kFall && *moved > kSlip;
}

}  // namespace syrinx
