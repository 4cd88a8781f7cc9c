#include "ears/repeated_passes.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace syrinx {
namespace {

constexpr size_t kBetweenPasses = kHearingRate / 2;  // samples

/// State that the listener and its passes share; changed by the recogniser's threads.
class PassedSink final : public TranscriptSink {
 public:
  explicit PassedSink(std::shared_ptr<TranscriptSink> sink) : sink_(std::move(sink)) {}

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
    sink_->finished(std::move(transcript));
  }

  /// A pass begins, over what is behind this many seconds; negative: the one before goes on.
  double begin_pass() {
    const std::lock_guard lock(mutex_);
    return std::exchange(passing_, true) ? -1 : settled_s_;
  }
  /// No text: the pass has failed, and the next one may do better.
  void end_pass(double from_s, const Result<Transcript>& heard) {
    const std::lock_guard lock(mutex_);
    passing_ = false;
    if (heard.ok() && !closed_ && from_s == settled_s_) sink_->partial(heard.value().text());
  }
  /// No hypothesis is wanted any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  const std::shared_ptr<TranscriptSink> sink_;
  std::mutex mutex_;
  double settled_s_ = 0;
  bool passing_ = false, closed_ = false;
};

class PassSink final : public TranscriptSink {
 public:
  PassSink(std::shared_ptr<PassedSink> all, double from_s)
      : all_(std::move(all)), from_s_(from_s) {}
  void segment(const TranscriptSegment&) override {}
  void finished(Result<Transcript> transcript) override { all_->end_pass(from_s_, transcript); }

 private:
  const std::shared_ptr<PassedSink> all_;
  const double from_s_;
};

class PassingListener final : public Listener {
 public:
  PassingListener(std::shared_ptr<Recogniser> recogniser, const ListenOptions& options,
                  std::shared_ptr<PassedSink> sink, std::unique_ptr<Listener> main)
      : recogniser_(std::move(recogniser)),
        options_(options),
        sink_(std::move(sink)),
        main_(std::move(main)) {
    options_.live = options_.scores = options_.word_times = false;
    options_.background = true;
  }
  ~PassingListener() override { sink_->close(); }

  void hear(std::span<const float> samples) override {
    main_->hear(samples);
    kept_.insert(kept_.end(), samples.begin(), samples.end());
    fresh_ += samples.size();
    if (fresh_ >= kBetweenPasses) pass();
  }
  void end() override {
    sink_->close();
    pass_.reset();
    main_->end();
  }
  void cancel() override {
    sink_->close();
    main_->cancel();
  }

 private:
  void pass() {
    const double from_s = sink_->begin_pass();
    if (from_s < 0) return;
    const auto from = static_cast<size_t>(from_s * kHearingRate);
    const size_t gone = std::min(from - std::min(from, kept_from_), kept_.size());
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
    kept_from_ += gone;
    fresh_ = 0;
    const auto sink = std::make_shared<PassSink>(sink_, from_s);
    auto opened = recogniser_->open(options_, sink);
    if (!opened.ok()) return sink->finished(opened.error());
    pass_ = opened.take();
    pass_->hear(kept_);
    pass_->end();
  }

  const std::shared_ptr<Recogniser> recogniser_;
  ListenOptions options_;  // of passes
  const std::shared_ptr<PassedSink> sink_;
  const std::unique_ptr<Listener> main_;
  std::unique_ptr<Listener> pass_;  // the latest
  std::vector<float> kept_;         // what may not be settled yet
  size_t kept_from_ = 0;            // samples before it
  size_t fresh_ = 0;                // samples since a pass began
};

}  // namespace

Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink) {
  if (recogniser->info().streams || !options.live)
    return recogniser->open(options, std::move(sink));
  auto all = std::make_shared<PassedSink>(std::move(sink));
  auto main = recogniser->open(options, all);
  if (!main.ok()) return main;
  return std::unique_ptr<Listener>(std::make_unique<PassingListener>(std::move(recogniser), options,
                                                                     std::move(all), main.take()));
}

}  // namespace syrinx
