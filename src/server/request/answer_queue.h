// Carries an answer, its text and what is heard of it, from the engine's thread to a connection:
// a TextQueue and an AudioQueue, which say what is whose. Their order is kept: text that came
// behind sound which has not been taken is delivered after it.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/request/audio_queue.h"
#include "server/request/text_queue.h"

namespace syrinx {

class AnswerQueue : public Sink {
 public:
  /// As AudioQueue, whose rate is that of the model.
  AnswerQueue(int sample_rate_hz, const std::function<void()>& wake)
      : text_(wake), audio_(sample_rate_hz, wake) {}

  void audio(std::span<const float> samples) override;
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override;
  void answer_ids(std::span<const int32_t> ids) override { text_.answer_ids(ids); }
  void finished(const Outcome& outcome) override {
    audio_.finished(outcome);
    text_.finished(outcome);
  }
  double unread_s() const override { return audio_.unread_s(); }

  struct News : TextQueue::News {
    std::vector<float> samples;  ///< behind the text
    bool empty() const { return TextQueue::News::empty() && samples.empty(); }
  };
  /// What came since the last call, or the oldest of it; with the outcome, the last of all. Needs
  /// no memory.
  News take();
  /// So many samples that were taken have been given to the client.
  void written(size_t samples) { audio_.written(samples); }
  void detach();

 private:
  TextQueue text_;
  AudioQueue audio_;
  std::mutex order_;
  std::deque<std::vector<float>> sounds_;  // behind each part of the text but the last
  size_t sound_ = 0;                       // samples behind the last
};

}  // namespace syrinx
