#include "server/request/answer_queue.h"

#include <limits>

namespace syrinx {

AnswerQueue::News AnswerQueue::take() {
  News news{text_.take(), {}};
  // Afterwards: no audio follows an outcome.
  audio_.take(news.samples, std::numeric_limits<size_t>::max());
  return news;
}

void AnswerQueue::detach() {
  text_.detach();
  audio_.detach();
}

}  // namespace syrinx
