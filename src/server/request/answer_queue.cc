#include "server/request/answer_queue.h"

#include <limits>

namespace syrinx {

void AnswerQueue::audio(std::span<const float> samples) {
  const std::lock_guard lock(order_);
  audio_.audio(samples);
  sound_ += samples.size();
}

void AnswerQueue::text(std::string_view piece, std::span<const ScoredToken> tokens) {
  {
    const std::lock_guard lock(order_);
    if (sound_ > 0) {
      text_.part();
      audio_.take(sounds_.emplace_back(), std::numeric_limits<size_t>::max());
      sound_ = 0;
    }
  }
  text_.text(piece, tokens);
}

AnswerQueue::News AnswerQueue::take() {
  const std::lock_guard lock(order_);
  News news{text_.take(), {}};
  if (sounds_.empty()) {
    // Takes the audio after the text: once the outcome has arrived, all audio has arrived, too.
    audio_.take(news.samples, std::numeric_limits<size_t>::max());
    sound_ = 0;
  } else {
    news.samples = std::move(sounds_.front());
    sounds_.pop_front();
  }
  return news;
}

void AnswerQueue::detach() {
  text_.detach();
  audio_.detach();
}

}  // namespace syrinx
