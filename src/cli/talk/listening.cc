#include "cli/talk/listening.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cli/line/interrupt.h"
#include "cli/talk/microphone.h"
#include "ears/end_of_turn.h"
#include "ears/repeated_passes.h"
#include "ears/turns.h"
#include "ears/voice_activity.h"

namespace syrinx {
namespace {

/// Collects what a recogniser has recognised so far; the recogniser's thread fills it.
class Hearsay : public TranscriptSink {
 public:
  void partial(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    partial_ = text;
    ++partials_;
  }
  void segment(const TranscriptSegment& segment) override {
    const std::lock_guard lock(mutex_);
    settled_ += segment.text;
    partial_.clear();
  }
  void finished(Result<Transcript> transcript) override {
    const std::lock_guard lock(mutex_);
    result_ = std::move(transcript);
    changed_.notify_all();
  }

  /// Returns the number of hypotheses so far.
  int partials() const {
    const std::lock_guard lock(mutex_);
    return partials_;
  }
  std::string so_far() const {
    const std::lock_guard lock(mutex_);
    return settled_ + (settled_.empty() || partial_.empty() ? "" : " ") + partial_;
  }
  Result<Transcript> wait(const InterruptGuard& guard) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return !!result_; })) {
      guard.check();
    }
    return *std::exchange(result_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string settled_, partial_;
  int partials_ = 0;
  std::optional<Result<Transcript>> result_;
};

/// Returns the end of the recording, from sample `from` on, at which a turn begins.
std::vector<float> since(const std::vector<float>& latest, int64_t heard, int64_t from) {
  const int64_t kept = std::min<int64_t>(std::ssize(latest), std::max<int64_t>(heard - from, 0));
  return {latest.end() - kept, latest.end()};
}

/// The pauses of medium eagerness, but words without punctuation end a turn sooner.
constexpr TurnPauses kPauses = {.complete = 400, .open = 1600, .unknown = 500, .longest = 4000};

/// Returns whether the present pause ends the turn. `words`: all words before the pause; empty if
/// the recogniser is late, or if there was only a noise.
bool is_over(const TurnDetector& detector, const std::string& words) {
  const int64_t pause_ms = detector.pause_ms();
  if (pause_ms == 0) return false;
  if (words.empty()) return pause_ms >= kPauses.unknown;
  return pause_ms >= pause_that_ends_ms(kPauses, words, detector.fell());
}

}  // namespace

std::optional<HeardTurn> Listening::turn(const SoFar& so_far) {
  const InterruptGuard guard;
  TurnDetector detector(
      open_webrtc_activity(strictness_of(TurnRules{}.threshold)),
      {.silence_ms = kPauses.longest, .noticed_ms = kNoticedPauseMs, .melody = true});
  Microphone microphone(recorder_);
  const auto hearsay = std::make_shared<Hearsay>();
  std::unique_ptr<Listener> listener;
  std::vector<float> samples, latest;  // `latest`: the last second, in which a turn may begin
  int64_t heard = 0, partial_ms = 0;  // `partial_ms`: when the last hypothesis arrived
  int partials = 0;
  std::string reported;  // the words of the last call of so_far()
  HeardTurn turn;
  for (bool over = false; !over;) {
    guard.check();
    over = !microphone.read(samples);
    heard += std::ssize(samples);
    if (listener) {
      listener->hear(samples);
    } else {
      latest.insert(latest.end(), samples.begin(), samples.end());
      if (latest.size() > kHearingRate) latest.erase(latest.begin(), latest.end() - kHearingRate);
    }
    std::vector<TurnEvent> events;
    detector.hear(samples, events);
    for (const TurnEvent& event : events) {
      switch (event.kind) {
        case TurnEvent::kStarted:
          if (listener) break;
          listener = open(hearsay);
          listener->hear(since(latest, heard, event.at_ms * kHearingRate / 1000));
          break;
        case TurnEvent::kPaused:
        case TurnEvent::kResumed:
          listener->pause(event.kind == TurnEvent::kPaused);
          break;
        case TurnEvent::kStopped:
          over = true;
      }
    }
    const std::string words = hearsay->so_far();
    if (const int now = hearsay->partials(); now != std::exchange(partials, now)) {
      partial_ms = detector.heard_ms();
    }
    // A recogniser of whole utterances may not have heard the last words.
    const bool all = ears_->info().streams || partial_ms > detector.last_voice_ms();
    over = over || is_over(detector, all ? words : "");
    if (words != reported && !over) {
      reported = words;
      const bool pauses = detector.pause_ms() >= kNoticedPauseMs;
      so_far(words, pauses);
    }
  }
  if (!listener) return std::nullopt;
  turn.turn_end_s = now_s();
  turn.voice_end_s = turn.turn_end_s - 1e-3 * (detector.heard_ms() - detector.last_voice_ms());
  listener->end();
  const Result<Transcript> transcript = hearsay->wait(guard);
  if (!transcript) throw LoadError(transcript.error().message);
  turn.words = transcript.value().text();
  turn.words_s = now_s();
  return turn;
}

/// Opens a listener that transcribes in each pause, so that the words are ready when a turn ends.
std::unique_ptr<Listener> Listening::open(std::shared_ptr<TranscriptSink> sink) const {
  auto opened = listen_in_passes(ears_, {.live = true}, std::move(sink), partials_);
  if (!opened) throw LoadError(opened.error().message);
  return opened.take();
}

}  // namespace syrinx
