// Carries an answer, its text and what is heard of it, from the engine's thread to a connection:
// a TextQueue and an AudioQueue, which say what is whose.
#pragma once

#include <functional>
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

  void audio(std::span<const float> samples) override { audio_.audio(samples); }
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override {
    text_.text(piece, tokens);
  }
  void answer_ids(std::span<const int32_t> ids) override { text_.answer_ids(ids); }
  void finished(const Outcome& outcome) override {
    audio_.finished(outcome);
    text_.finished(outcome);
  }
  double unread_s() const override { return audio_.unread_s(); }

  struct News : TextQueue::News {
    std::vector<float> samples;
    bool empty() const { return TextQueue::News::empty() && samples.empty(); }
  };
  /// What came since the last call; with the outcome, the last of all. Needs no memory.
  News take();
  /// So many samples that were taken have been given to the client.
  void written(size_t samples) { audio_.written(samples); }
  void detach();

 private:
  TextQueue text_;
  AudioQueue audio_;
};

}  // namespace syrinx
