#include "server/models/fake_writer_test.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace syrinx {
namespace {

bool asks(const SpeechRequest& request, const char* what) {
  const std::string& text =
      request.writing.chat ? request.writing.chat->messages : request.say.text;
  return text.find(what) != text.npos;
}

}  // namespace

FakeWriter::FakeWriter() {
  info_.model = "writer";
  info_.family = "llm";
  info_.speaks = false;
  info_.writes = true;
  info_.writing.calls_tools = true;
}

FakeWriter::~FakeWriter() {
  {
    const std::lock_guard lock(mutex_);
    std::fill(cancelled_.begin(), cancelled_.end(), true);
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

Result<RequestId> FakeWriter::submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
  const std::lock_guard lock(mutex_);
  last_ = request;
  if (asks(request, "busy")) return Error{ErrorCode::kOverloaded, "all seats are taken", "", 3};
  const RequestId id = cancelled_.size();
  cancelled_.push_back(false);
  threads_.emplace_back([this, id, request, sink, pieces = pieces_, reason = reason_] {
    run(id, request, pieces, reason, *sink);
  });
  return id;
}

void FakeWriter::run(RequestId id, const SpeechRequest& request, std::vector<std::string> pieces,
                     FinishReason reason, Sink& sink) {
  Outcome outcome;
  outcome.reason = reason;
  outcome.prompt_tokens = 7;
  outcome.completion_tokens = static_cast<int>(pieces.size());
  outcome.cached_tokens = 2;
  if (!asks(request, "fail early")) {
    for (const std::string& piece : pieces) {
      std::vector<ScoredToken> tokens;
      if (request.writing.top_logprobs >= 0) tokens.push_back({{piece, -0.25f}, {{piece, -0.25f}}});
      sink.text(piece, tokens);
      if (!info_.speaks || request.writing.text_only) continue;
      sink.audio(std::vector<float>(kSamplesAPiece, 0.25f));
      ++outcome.frames;
      outcome.audio_s += static_cast<double>(kSamplesAPiece) / info_.speech.sample_rate;
    }
  }
  if (asks(request, "fail")) {
    outcome.reason = FinishReason::kError;
    outcome.error = {ErrorCode::kInternal, "a secret of the inside"};
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !asks(request, "fail told") || fail_now_ || cancelled_[id]; });
  while (asks(request, "endless") && !cancelled_[id]) {
    lock.unlock();
    sink.text("more ", {});
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(5), [&] { return cancelled_[id]; });
    if (cancelled_[id]) outcome.reason = FinishReason::kCancelled;
  }
  lock.unlock();
  sink.finished(outcome);
  lock.lock();
  ++ended_;
}

void FakeWriter::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  cancelled_[id] = true;
  changed_.notify_all();
}

void FakeWriter::raise_priority(RequestId) {
  const std::lock_guard lock(mutex_);
  ++hurried_;
}

int FakeWriter::asked() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(cancelled_.size());
}

int FakeWriter::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

int FakeWriter::hurried() const {
  const std::lock_guard lock(mutex_);
  return hurried_;
}

void FakeWriter::say(std::vector<std::string> pieces, FinishReason reason) {
  const std::lock_guard lock(mutex_);
  pieces_ = std::move(pieces);
  reason_ = reason;
}

void FakeWriter::speak() {
  info_.speaks = true;
  info_.hearing.seconds = 2;
  info_.speech.sample_rate = 24000;
}

void FakeWriter::fail_now() {
  const std::lock_guard lock(mutex_);
  fail_now_ = true;
  changed_.notify_all();
}

SpeechRequest FakeWriter::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

bool FakeWriter::wait_cancelled(int count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
    return std::count(cancelled_.begin(), cancelled_.end(), true) >= count;
  });
}

}  // namespace syrinx
