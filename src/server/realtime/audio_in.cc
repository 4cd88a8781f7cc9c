#include "server/realtime/audio_in.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ears/recogniser.h"
#include "ears/smart_turn.h"

namespace syrinx {
namespace {

constexpr int kSamplesAMillisecond = kHearingRate / 1000;
/// Longest turn, in samples. Without turn detection, the most samples that are kept.
constexpr size_t kMostSamples = size_t{300} * kHearingRate;
/// Samples kept before the prefix of a turn, because the detector reports speech late.
constexpr size_t kSpareSamples = kHearingRate;
/// Longest time in ms to wait for Smart Turn's answer before words and pitch decide instead.
constexpr int kMostAnswerMs = 500;

bool detect_alike(const std::optional<TurnDetection>& a, const std::optional<TurnDetection>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->semantic == b->semantic && a->threshold == b->threshold &&
         a->prefix_ms == b->prefix_ms && a->silence_ms == b->silence_ms &&
         a->eagerness == b->eagerness && a->idle_ms == b->idle_ms;
}

TurnRules rules_of(const TurnDetection& turns) {
  TurnRules out{.threshold = turns.threshold,
                .prefix_ms = turns.prefix_ms,
                .silence_ms = turns.silence_ms,
                .noticed_ms = kNoticedPauseMs,
                .melody = turns.semantic};
  if (turns.semantic) out.silence_ms = pauses_of(eagerness_of(turns)).longest;
  return out;
}

}  // namespace

void AudioIn::set_format(RealtimeFormat format) {
  if (format != input_.format()) input_ = InputAudio(format);
}

bool AudioIn::detect(const std::optional<TurnDetection>& turns) {
  if (detect_alike(turns, turns_)) return false;
  std::unique_ptr<TurnDetector> detector;
  if (turns) {
    if (!open_activity_) throw LoadError("this server has no voice detector");
    const TurnRules rules = rules_of(*turns);
    detector = std::make_unique<TurnDetector>(open_activity_(rules.threshold), rules);
  }
  turns_ = turns;
  detector_ = std::move(detector);
  detector_from_ = samples_;
  given_ = 0;
  return true;
}

void AudioIn::append(std::string bytes) {
  waiting_ = std::move(bytes);
  decoded_ = 0;
}

std::vector<float> AudioIn::next_piece() {
  const RealtimeFormat format = input_.format();
  const auto most = static_cast<size_t>(kPiece_s * format.rate_hz()) *
                    static_cast<size_t>(sample_bytes(format.coding));
  const std::string_view piece = std::string_view(waiting_).substr(decoded_, most);
  decoded_ += piece.size();
  std::vector<float> out;
  input_.push(piece, out);
  if (!waits()) {
    std::string().swap(waiting_);  // clear() would keep the memory
    decoded_ = 0;
  }
  return out;
}

std::optional<TurnEvent> AudioIn::hear(std::span<const float>& samples, std::string_view transcript,
                                       std::optional<bool> done) {
  std::vector<TurnEvent> events;
  while (!samples.empty()) {
    // Ends a slice at a frame of the detector, which finds at most one event in a frame.
    const auto into = static_cast<size_t>((samples_ - detector_from_) % kActivityFrame);
    const auto slice = samples.first(std::min(kActivityFrame - into, samples.size()));
    samples = samples.subspan(slice.size());
    keep_samples(slice, kept_);
    samples_ += std::ssize(slice);
    if (!detector_) continue;
    detector_->hear(slice, events);
    const int64_t now_ms = samples_ / kSamplesAMillisecond;
    ask_in_pause();
    if (!events.empty()) {
      const TurnEvent::Kind kind = events.front().kind;
      if (kind != TurnEvent::kStarted) return TurnEvent{kind, now_ms};
      const int64_t from = detector_from_ + events.front().at_ms * kSamplesAMillisecond;
      begin_turn(from);
      return TurnEvent{TurnEvent::kStarted, from / kSamplesAMillisecond};
    }
    if (speaking() && (kept_.size() >= kMostSamples || pause_is_the_end(transcript, done))) {
      detector_->reset();
      return TurnEvent{TurnEvent::kStopped, now_ms};
    }
  }
  return {};
}

int64_t AudioIn::last_voice_ms() const {
  return detector_from_ / kSamplesAMillisecond + (detector_ ? detector_->last_voice_ms() : 0);
}

/// `from`: number of the turn's first sample, counted from the first sample of the session.
void AudioIn::begin_turn(int64_t from) {
  forget_before(from);
  given_ = 0;
}

void AudioIn::keep_from(int64_t ms) { forget_before(ms * kSamplesAMillisecond); }

void AudioIn::forget_before(int64_t from) {
  const int64_t forgotten = samples_ - std::ssize(kept_);
  const auto before =
      static_cast<std::ptrdiff_t>(std::clamp<int64_t>(from - forgotten, 0, std::ssize(kept_)));
  kept_.erase(kept_.begin(), kept_.begin() + before);
}

/// Calls ask_turn_end_ once in each pause, after SmartTurn::kPauseMs.
void AudioIn::ask_in_pause() {
  if (!ask_turn_end_ || !turns_->semantic) return;
  const int64_t pause_ms = detector_->pause_ms();
  if (pause_ms == 0) turn_end_.reset();
  if (pause_ms < SmartTurn::kPauseMs || turn_end_) return;
  constexpr auto kMost = static_cast<size_t>(SmartTurn::kSeconds * kHearingRate);
  const std::span<const int16_t> kept(kept_);
  turn_end_ = ask_turn_end_(heard_samples(kept.last(std::min(kept.size(), kMost))));
}

/// `done`: as in hear(). The answer of Smart Turn takes precedence.
bool AudioIn::pause_is_the_end(std::string_view transcript, std::optional<bool> done) const {
  if (!turns_->semantic) return false;
  const int64_t pause_ms = detector_->pause_ms();
  if (pause_ms == 0) return false;
  const TurnEnd end = turn_end_ ? turn_end_->load() : TurnEnd::kUnknown;
  const bool waits = turn_end_ && end == TurnEnd::kUnknown;
  if (waits && pause_ms < SmartTurn::kPauseMs + kMostAnswerMs) return false;
  if (end != TurnEnd::kUnknown) done = end == TurnEnd::kDone;
  return pause_ms >= pause_that_ends_ms(pauses_of(eagerness_of(*turns_)), transcript, detector_->fell(), done);
}

std::vector<float> AudioIn::give() {
  const std::span<const int16_t> kept(kept_);
  return heard_samples(kept.subspan(std::exchange(given_, kept.size())));
}

void AudioIn::forget_old() {
  if (speaking()) return;
  const size_t most = detector_ ? static_cast<size_t>(std::max(turns_->prefix_ms, turns_->idle_ms) *
                                                      kSamplesAMillisecond) +
                                      kSpareSamples
                                : kMostSamples;
  if (kept_.size() < most + kSpareSamples) return;
  kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(most));
}

std::vector<int16_t> AudioIn::take() {
  if (detector_) detector_->reset();
  given_ = 0;
  return std::exchange(kept_, {});
}

}  // namespace syrinx
