// Carries an answer, its text and its audio, from the engine's thread to a connection. Keeps the
// order of text and audio. Uses a TextQueue and an AudioQueue, whose headers say on which threads
// the functions may be called.
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
  /// Like AudioQueue(). `sample_rate_hz` is the model's rate.
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
    std::vector<float> samples;  ///< audio after the text
    bool empty() const { return TextQueue::News::empty() && samples.empty(); }
  };
  /// Returns the oldest part of what has arrived: text, then the audio after it. The last part
  /// includes the outcome. Does not allocate memory.
  News take();
  /// Records that `samples` of the taken samples were sent to the client.
  void written(size_t samples) { audio_.written(samples); }
  void detach();

 private:
  TextQueue text_;
  AudioQueue audio_;
  std::mutex order_;
  std::deque<std::vector<float>> sounds_;  // audio after each part of the text except the last
  size_t sound_ = 0;                       // number of samples after the last part
};

}  // namespace syrinx
