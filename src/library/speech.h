// One speech as programs read it: a queue between the engine's thread and its reader, text that
// comes late, and the speed that the model itself does not have.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audio/time_stretch.h"
#include "library/loaded_model.h"
#include "library/syrinx.h"

namespace syrinx {

/// Takes what the engine makes until it is read. Thread-safe.
class SpeechQueue : public Sink {
 public:
  explicit SpeechQueue(int sample_rate);
  ~SpeechQueue() override;
  void audio(std::span<const float> samples) override;
  void words(std::span<const WordMark> words) override;
  void finished(const Outcome& outcome) override;
  double unread_s() const override;

  /// Waits until there is something to take, at most `timeout_s`; below 0: as long as it takes.
  /// False: nothing came. What was there goes to `samples` and `words`, whose memory is used again;
  /// `end` is set when that was all.
  bool take(double timeout_s, std::vector<float>& samples, std::vector<WordMark>& words,
            std::optional<Outcome>& end);
  /// Readable when take() has something; made when it is first asked for. -1: none to be had.
  int fd();

 private:
  bool filled() const { return outcome_ || !samples_.empty() || !words_.empty(); }
  void changed();

  const int sample_rate_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<float> samples_;
  std::vector<WordMark> words_;
  std::optional<Outcome> outcome_;
  int fd_ = -1;
};

/// One speech from its opening to its outcome.
class Speech {
 public:
  /// Opens it. `speed` is what the engine's audio is to be stretched by, 1: not.
  static Result<std::unique_ptr<Speech>> open(std::shared_ptr<LoadedModel> model,
                                              SpeechRequest request, double speed);
  ~Speech();

  /// Any thread.
  Status feed(std::string_view text, bool last);
  void cancel();
  int fd() { return queue_->fd(); }

  /// One thread at a time. Null: at the end (then outcome() is there) or when nothing came in time.
  const syrinx_chunk* read(double timeout_s);
  /// Valid once read() has reported the end.
  const std::optional<Outcome>& outcome() const { return outcome_; }
  const syrinx_outcome* reported_outcome() const { return outcome_ ? &reported_ : nullptr; }

 private:
  Speech(std::shared_ptr<LoadedModel> model, double speed);
  Status submit();
  bool fill_chunk();

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<SpeechQueue> queue_;
  const double speed_;
  std::unique_ptr<TimeStretch> stretch_;  // null at speed 1

  std::mutex mutex_;       // of what feed() and cancel() touch
  SpeechRequest request_;  // text of a model that wants all of it at once gathers here
  bool open_text_ = false, over_ = false;
  std::optional<RequestId> id_;  // once it was submitted

  std::vector<float> samples_, made_;
  std::vector<WordMark> marks_;
  std::vector<syrinx_word> words_;
  int64_t reported_samples_ = 0;
  bool flushed_ = false;
  syrinx_chunk chunk_{};
  std::optional<Outcome> ending_, outcome_;
  syrinx_outcome reported_{};
};

}  // namespace syrinx
