// One speech of the C API: a queue between the engine's thread and the reader, late text, and
// speeds that the model itself does not support.
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

/// Keeps the engine's audio until it is read. Thread-safe.
class SpeechQueue : public Sink {
 public:
  explicit SpeechQueue(int sample_rate);
  ~SpeechQueue() override;
  void audio(std::span<const float> samples) override;
  void words(std::span<const WordMark> words) override;
  void finished(const Outcome& outcome) override;
  double unread_s() const override;

  /// Waits at most `timeout_s` for audio, words or the end (below 0 means no limit). Returns false
  /// if nothing has arrived. Replaces `samples` and `words` by the new data, reusing their memory.
  /// Sets `end` with the last data.
  bool take(double timeout_s, std::vector<float>& samples, std::vector<WordMark>& words,
            std::optional<Outcome>& end);
  /// Returns a descriptor that is readable when take() has data, or -1 if none is available. The
  /// first call makes the descriptor.
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

/// One speech, from opening it to its outcome.
class Speech {
 public:
  /// Opens a speech. `speed`: factor of speed applied to the engine's audio; 1 changes nothing.
  static Result<std::unique_ptr<Speech>> open(std::shared_ptr<LoadedModel> model,
                                              SpeechRequest request, double speed);
  ~Speech();

  /// Adds text; `last`: no more text follows. Any thread.
  Status feed(std::string_view text, bool last);
  void cancel();
  int fd() { return queue_->fd(); }

  /// Returns the next chunk; one thread at a time. Returns null at the end (then outcome() is set)
  /// or after `timeout_s`.
  const syrinx_chunk* read(double timeout_s);
  /// Returns the outcome after read() has reported the end.
  const std::optional<Outcome>& outcome() const { return outcome_; }
  const syrinx_outcome* reported_outcome() const { return outcome_ ? &reported_ : nullptr; }

 private:
  Speech(std::shared_ptr<LoadedModel> model, double speed);
  Status submit();
  bool fill_chunk();

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<SpeechQueue> queue_;
  const double speed_;
  std::unique_ptr<TimeStretch> stretch_;  // null if the speed is 1

  std::mutex mutex_;       // protects the state of feed() and cancel()
  SpeechRequest request_;  // collects text for a model that needs the whole text
  bool open_text_ = false, over_ = false;
  std::optional<RequestId> id_;  // set after submission

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
