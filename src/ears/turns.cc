#include "ears/turns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ears/recogniser.h"

namespace syrinx {
namespace {

// A voice begins when 12 of the latest 16 frames are voiced: a click is shorter, a word longer.
constexpr size_t kOnsetWindow = 16;
constexpr int kOnsetVoices = 12;
// Frames with a root mean square below this are never a voice, even if the detector errs.
constexpr double kFloor = 0.0015;  // -56 dB relative to full scale

int16_t turn_sample(float sample) {
  if (!std::isfinite(sample)) return 0;
  return static_cast<int16_t>(std::lrintf(std::clamp(sample * 32768.f, -32768.f, 32767.f)));
}

bool is_loud(std::span<const int16_t> frame) {
  double sum = 0;
  for (const int16_t sample : frame) sum += double{1} * sample * sample;
  return std::sqrt(sum / static_cast<double>(frame.size())) > kFloor * 32768;
}

}  // namespace

int strictness_of(double threshold) { return std::clamp(static_cast<int>(threshold * 4), 0, 3); }

TurnDetector::TurnDetector(std::unique_ptr<VoiceActivity> activity, const TurnRules& options)
    : activity_(std::move(activity)), options_(options) {}

void TurnDetector::reset() {
  speaking_ = false;
  recent_.clear();
  turn_end_ms_ = heard_ms();
}

void TurnDetector::hear(std::span<const float> samples, std::vector<TurnEvent>& events) {
  for (const float sample : samples) {
    frame_.push_back(turn_sample(sample));
    if (frame_.size() < kActivityFrame) continue;
    hear_frame(events);
    frame_.clear();
  }
}

void TurnDetector::hear_frame(std::vector<TurnEvent>& events) {
  const bool voice = activity_->speaks(frame_) && is_loud(frame_);
  ++frames_;
  recent_.push_back(voice);
  if (recent_.size() > kOnsetWindow) recent_.pop_front();
  const auto voices = std::count(recent_.begin(), recent_.end(), true);
  if (!speaking_) {
    if (voices < kOnsetVoices) return;
    speaking_ = true;
    last_voice_ = frames_;
    paused_ = false;
    melody_.reset();
    const auto first = std::find(recent_.begin(), recent_.end(), true);
    const int64_t began = frames_ - (recent_.end() - first);
    events.push_back(
        {TurnEvent::kStarted, std::max(began * kFrameMs - options_.prefix_ms, turn_end_ms_)});
    return;
  }
  if (options_.melody && voice) melody_.hear(frame_);
  // A single voiced frame in a pause is a breath or a click. A voice needs two of three frames.
  const auto last = recent_.end() - std::min<std::ptrdiff_t>(3, std::ssize(recent_));
  if (std::count(last, recent_.end(), true) >= 2) last_voice_ = frames_;
  if (pause_ms() < options_.silence_ms) {
    const bool paused = options_.noticed_ms > 0 && pause_ms() >= options_.noticed_ms;
    if (std::exchange(paused_, paused) == paused) return;
    events.push_back({paused ? TurnEvent::kPaused : TurnEvent::kResumed, heard_ms()});
    return;
  }
  speaking_ = false;
  recent_.clear();
  turn_end_ms_ = heard_ms();
  events.push_back({TurnEvent::kStopped, turn_end_ms_});
}

}  // namespace syrinx
