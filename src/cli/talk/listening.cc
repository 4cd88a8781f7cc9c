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
  std::optional<Result<Transcript>> result_;
};

/// Returns the end of the recording, from sample `from` on, at which a turn begins.
std::vector<float> since(const std::vector<float>& latest, int64_t heard, int64_t from) {
  const int64_t kept = std::min<int64_t>(std::ssize(latest), std::max<int64_t>(heard - from, 0));
  return {latest.end() - kept, latest.end()};
}

}  // namespace

std::optional<HeardTurn> Listening::turn(const std::function<void(const std::string&)>& so_far) {
  const InterruptGuard guard;
  TurnDetector detector(open_webrtc_activity(strictness_of(TurnRules{}.threshold)), {});
  Microphone microphone(recorder_);
  const auto hearsay = std::make_shared<Hearsay>();
  std::unique_ptr<Listener> listener;
  std::vector<float> samples, latest;  // `latest`: the last second, in which a turn may begin
  int64_t heard = 0;
  std::string told;
  HeardTurn turn;
  for (bool over = false; !over;) {
    guard.check();
    microphone.read(samples);
    over = samples.empty();
    heard += std::ssize(samples);
    if (listener) {
      listener->hear(samples);
    } else {
      latest.insert(latest.end(), samples.begin(), samples.end());
      if (latest.size() > kHearingRate) latest.erase(latest.begin(), latest.end() - kHearingRate);
    }
    std::vector<TurnEvent> events;
    detector.hear(samples, events);
    if (listener && detector.pause_ms() == 0) turn.voice_end_s = now_s();
    for (const TurnEvent& event : events) {
      over = over || event.kind == TurnEvent::kStopped;
      if (event.kind != TurnEvent::kStarted || listener) continue;
      auto opened = ears_->open({.live = true}, hearsay);
      if (!opened) throw LoadError(opened.error().message);
      listener = opened.take();
      listener->hear(since(latest, heard, event.at_ms * kHearingRate / 1000));
    }
    if (std::string now = hearsay->so_far(); now != told) so_far(told = std::move(now));
  }
  if (!listener) return std::nullopt;
  turn.turn_end_s = now_s();
  if (turn.voice_end_s == 0) turn.voice_end_s = turn.turn_end_s;
  listener->end();
  const Result<Transcript> transcript = hearsay->wait(guard);
  if (!transcript) throw LoadError(transcript.error().message);
  turn.words = transcript.value().text();
  turn.words_s = now_s();
  return turn;
}

}  // namespace syrinx
