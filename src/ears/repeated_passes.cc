#include "ears/repeated_passes.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace syrinx {
namespace {

constexpr size_t kBetweenPasses = kHearingRate / 2;  // samples between the beginnings of two passes
constexpr auto kMostEarly = static_cast<size_t>(kLongestEarlyPass_s * kHearingRate);

/// The state that the listener and its passes share. The recogniser's threads change it.
class PassedSink final : public TranscriptSink {
 public:
  explicit PassedSink(std::shared_ptr<TranscriptSink> sink) : sink_(std::move(sink)) {}

  // The sink of the utterance's own listener:
  void partial(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    sink_->partial(text);
  }
  void segment(const TranscriptSegment& segment) override {
    const std::lock_guard lock(mutex_);
    settled_s_ = std::max(settled_s_, segment.end_s);
    sink_->segment(segment);
  }
  void heard(double seconds) override {
    const std::lock_guard lock(mutex_);
    sink_->heard(seconds);
  }
  void finished(Result<Transcript> transcript) override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (!early_is_all_) sink_->finished(std::move(transcript));
  }

  /// Begins a pass. Returns the time, in seconds, at which its audio begins. Returns a negative
  /// number if the previous pass still runs, so that no pass begins.
  double begin_pass() {
    const std::lock_guard lock(mutex_);
    return std::exchange(passing_, true) ? -1 : settled_s_;
  }
  /// Ends a pass. A failed pass yields no hypothesis; the next pass may succeed.
  void end_pass(double from_s, const Result<Transcript>& heard) {
    const std::lock_guard lock(mutex_);
    passing_ = false;
    if (heard.ok() && !closed_ && from_s == settled_s_) sink_->partial(heard.value().text());
  }
  /// Ignores hypotheses from now on.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  /// Begins an early pass and returns its number. Drops the result of the previous early pass.
  int begin_early() {
    const std::lock_guard lock(mutex_);
    early_.reset();
    return ++earlies_;
  }
  void end_early(int number, Result<Transcript> heard) {
    const std::lock_guard lock(mutex_);
    if (number != earlies_) return;
    if (early_is_all_) return finish_early(heard);
    if (heard.ok() && !closed_) sink_->partial(heard.value().text());
    early_ = std::move(heard);
  }
  /// Returns whether the latest early pass has ended with a transcript.
  bool heard_early() const {
    const std::lock_guard lock(mutex_);
    return early_ && early_->ok();
  }
  /// Makes the early pass the result, now or when it ends. Returns false if the pass has failed.
  bool take_early() {
    const std::lock_guard lock(mutex_);
    if (early_ && !early_->ok()) return false;
    early_is_all_ = closed_ = true;
    if (early_) finish_early(*early_);
    return true;
  }

 private:
  void finish_early(const Result<Transcript>& heard) {
    ++earlies_;  // so that no further result of this pass counts
    if (heard.ok()) {
      for (const TranscriptSegment& segment : heard.value().segments) sink_->segment(segment);
      sink_->heard(heard.value().duration_s);
    }
    sink_->finished(heard);
  }

  const std::shared_ptr<TranscriptSink> sink_;
  mutable std::mutex mutex_;
  double settled_s_ = 0;
  bool passing_ = false, closed_ = false;
  int earlies_ = 0;                          // number of the early pass whose result counts
  std::optional<Result<Transcript>> early_;  // result of the latest early pass; unset after end()
  bool early_is_all_ = false;                // whether the early pass is the result
};

class PassSink final : public TranscriptSink {
 public:
  using End = std::function<void(Result<Transcript>)>;
  explicit PassSink(End end) : end_(std::move(end)) {}
  void segment(const TranscriptSegment&) override {}
  void finished(Result<Transcript> transcript) override { end_(std::move(transcript)); }

 private:
  const End end_;
};

class PassingListener final : public Listener {
 public:
  PassingListener(std::shared_ptr<Recogniser> recogniser, const ListenOptions& options,
                  std::shared_ptr<PassedSink> sink, std::unique_ptr<Listener> main, bool partials)
      : recogniser_(std::move(recogniser)),
        options_(options),
        partials_(partials),
        sink_(std::move(sink)),
        main_(std::move(main)) {}
  ~PassingListener() override { sink_->close(); }

  void hear(std::span<const float> samples) override {
    if (pauses_) {
      silence_.insert(silence_.end(), samples.begin(), samples.end());
      return;
    }
    main_->hear(samples);
    heard_ += samples.size();
    if (!partials_ && heard_ > kMostEarly) return std::vector<float>().swap(kept_);
    kept_.insert(kept_.end(), samples.begin(), samples.end());
    fresh_ += samples.size();
    if (partials_ && fresh_ >= kBetweenPasses && !behind()) pass();
  }
  void pause(bool pauses) override {
    if (std::exchange(pauses_, pauses) == pauses) return;
    if (pauses) return begin_early();
    early_.reset();
    hear(std::exchange(silence_, {}));
  }
  double wait_s() const override { return main_->wait_s(); }
  /// Returns 0 if the early pass has ended, because it then waits for no pass.
  double delay_s() const override {
    if (!early_) return main_->delay_s();
    return sink_->heard_early() ? 0 : early_->delay_s();
  }
  void end() override {
    sink_->close();
    pass_.reset();
    if (early_ && sink_->take_early()) return early_->raise();
    early_.reset();
    main_->end();
  }
  void cancel() override {
    sink_->close();
    if (early_) early_->cancel();
    main_->cancel();
  }

 private:
  bool behind() const { return main_->wait_s() > kMostBehind_s; }

  void pass() {
    const double from_s = sink_->begin_pass();
    if (from_s < 0) return;
    const auto from = static_cast<size_t>(from_s * kHearingRate);
    const size_t gone = std::min(from - std::min(from, heard_ - kept_.size()), kept_.size());
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
    fresh_ = 0;
    ListenOptions how = options_;
    how.live = how.scores = how.word_times = false;
    pass_ = hear_kept(
        how, [sink = sink_, from_s](Result<Transcript> heard) { sink->end_pass(from_s, heard); });
  }

  /// Begins an early pass. Its transcript is the one that the utterance's own listener would give
  /// if no more samples arrived.
  void begin_early() {
    pass_.reset();
    if (kept_.size() != heard_ || heard_ > kMostEarly || behind()) return;
    const int number = sink_->begin_early();
    early_ = hear_kept(options_, [sink = sink_, number](Result<Transcript> heard) {
      sink->end_early(number, std::move(heard));
    });
  }

  std::unique_ptr<Listener> hear_kept(ListenOptions how, PassSink::End end) {
    how.background = true;
    const auto sink = std::make_shared<PassSink>(std::move(end));
    auto opened = recogniser_->open(how, sink);
    if (!opened.ok()) {
      sink->finished(opened.error());
      return nullptr;
    }
    auto listener = opened.take();
    listener->hear(kept_);
    listener->end();
    return listener;
  }

  const std::shared_ptr<Recogniser> recogniser_;
  const ListenOptions options_;
  const bool partials_;
  const std::shared_ptr<PassedSink> sink_;
  const std::unique_ptr<Listener> main_;
  std::unique_ptr<Listener> pass_;   // latest pass for a hypothesis
  std::unique_ptr<Listener> early_;  // pass begun at the start of this pause, before end()
  std::vector<float> kept_;          // samples that are not yet certain to be final
  std::vector<float> silence_;       // samples of this pause, which are held back
  bool pauses_ = false;
  size_t heard_ = 0;  // number of samples, without those in silence_
  size_t fresh_ = 0;  // number of samples since the last pass began
};

}  // namespace

Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink,
                                                   bool partials) {
  if (recogniser->info().streams || !options.live) {
    return recogniser->open(options, std::move(sink));
  }
  auto all = std::make_shared<PassedSink>(std::move(sink));
  auto main = recogniser->open(options, all);
  if (!main.ok()) return main;
  return std::unique_ptr<Listener>(std::make_unique<PassingListener>(
      std::move(recogniser), options, std::move(all), main.take(), partials));
}

}  // namespace syrinx
