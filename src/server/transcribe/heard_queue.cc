#include "server/transcribe/heard_queue.h"

#include <utility>

namespace syrinx {

HeardQueue::HeardQueue(std::function<void()> wake) : box_(std::move(wake)) {}

void HeardQueue::partial(std::string_view text) {
  box_.fill([&](Heard& heard) {
    heard.news.partial = text;
    return true;
  });
}

void HeardQueue::segment(const TranscriptSegment& segment) {
  box_.fill([&](Heard& heard) {
    heard.news.segments.push_back(segment);
    heard.news.partial.reset();
    return true;
  });
}

void HeardQueue::done(bool done) {
  box_.fill([&](Heard& heard) {
    heard.news.done = done;
    return true;
  });
}

void HeardQueue::heard(double seconds) {
  box_.settle([&](Heard& heard) {
    heard.seconds = seconds;
    return true;
  });
}

void HeardQueue::finished(Result<Transcript> transcript) {
  box_.fill([&](Heard& heard) {
    heard.news.result = std::move(transcript);
    return true;
  });
}

HeardQueue::News HeardQueue::take() {
  return box_.with([](Heard& heard) { return std::exchange(heard.news, {}); });
}

double HeardQueue::heard_s() const {
  return box_.with([](const Heard& heard) { return heard.seconds; });
}

void HeardQueue::detach() {
  box_.close([](Heard& heard) { heard.news = {}; });
}

}  // namespace syrinx
