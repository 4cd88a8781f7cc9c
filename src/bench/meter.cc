#include "bench/meter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace syrinx {

const char* failure_name(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "none";
    case Failure::kConnect:
      return "connect";
    case Failure::kStatus:
      return "status";
    case Failure::kProtocol:
      return "protocol";
    case Failure::kCut:
      return "cut";
    case Failure::kTimeout:
      return "timeout";
    case Failure::kSilent:
      return "silent";
    case Failure::kSkipped:
      return "skipped";
  }
  return "?";
}

Meter::Meter(double due_s, double run_began_s, double audible_level)
    : due_s_(due_s), audible_level_(audible_level) {
  record_.due_s = due_s - run_began_s;
}

void Meter::sent(double now) { record_.lag_s = now - due_s_; }

void Meter::first_byte(double now) {
  if (!record_.first_byte_s) record_.first_byte_s = now - due_s_;
}

template <typename Sample>
void Meter::take(double now, std::span<const Sample> samples, int rate_hz, double full_scale) {
  if (samples.empty()) return;
  first_byte(now);
  if (!record_.first_audio_s) record_.first_audio_s = now - due_s_;
  const double heard_s =
      playback_.arrive(now - due_s_, static_cast<double>(samples.size()) / rate_hz);
  record_.playback = playback_.figures();
  if (record_.audible_s) return;
  const double level = audible_level_ * full_scale;
  const auto loud = std::find_if(samples.begin(), samples.end(), [level](Sample sample) {
    return std::abs(static_cast<double>(sample)) >= level;
  });
  const double quiet_s = static_cast<double>(loud - samples.begin()) / rate_hz;
  record_.silence_s += quiet_s;
  if (loud != samples.end()) record_.audible_s = heard_s + quiet_s;
}

void Meter::audio(double now, std::span<const int16_t> samples, int rate_hz) {
  take(now, samples, rate_hz, 32768);
}

void Meter::audio(double now, std::span<const float> samples, int rate_hz) {
  take(now, samples, rate_hz, 1);
}

void Meter::end(double now, Failure failure, std::string detail, int status) {
  record_.total_s = now - due_s_;
  record_.failure = failure;
  record_.detail = std::move(detail);
  record_.status = status;
  if (failure == Failure::kNone && !record_.first_audio_s) record_.failure = Failure::kSilent;
}

}  // namespace syrinx
