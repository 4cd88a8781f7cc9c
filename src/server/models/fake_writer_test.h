// A Backend for tests that writes text. say() sets the text. Some texts of the last message (or of
// the prompt) change how the Backend answers:
//   "busy"         submit() returns kOverloaded   "fail early"   kError before any text
//   "fail late"    kError after the text          "endless"      text until it is cancelled
//   "fail told"    kError after the text, as soon as the test has called fail_now()
// Each request has its own thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/models/backend.h"

namespace syrinx {

class FakeWriter : public Backend {
 public:
  FakeWriter();
  ~FakeWriter() override;
  const PipelineInfo& info() const override { return info_; }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override;
  void cancel(RequestId id) override;
  void raise_priority(RequestId) override;
  void append_text(RequestId, std::string, bool) override {}
  EngineStats stats() const override { return {}; }
  /// Returns the number of bytes of the messages' JSON, as if each byte were a token.
  Result<int64_t> prompt_tokens(const SpeechRequest& request) const override {
    return static_cast<int64_t>(request.writing.chat->messages.size());
  }
  std::shared_ptr<Recogniser> recogniser() const override { return recogniser_; }
  const EngineMetrics* metrics() const override { return nullptr; }

  /// Sets the text of the next answers, in the pieces that the sink receives, and how they end.
  void say(std::vector<std::string> pieces, FinishReason reason = FinishReason::kStop);
  void fail_now();
  /// Call before the server starts: makes the model accept audio, and output kSamplesAPiece samples
  /// after each piece of text.
  void speak();
  /// Call before the server starts: limits prompt and answer together to this number of tokens.
  void bound(int64_t positions) { info_.writing.positions = positions; }
  static constexpr int kSamplesAPiece = 480;
  /// Call before the server starts: sets the result of recogniser().
  void write_down(std::shared_ptr<Recogniser> how) { recogniser_ = std::move(how); }
  SpeechRequest last_request() const;
  /// Call before the server starts: makes the model process a recording while it arrives, in pieces
  /// of `each_s` seconds.
  void hear_ahead(double each_s) { info_.hearing.ahead = {.each_s = each_s}; }
  /// Returns the number of requests so far; hurried(): of calls of raise_priority().
  int asked() const;
  int hurried() const;
  /// Returns how many requests have ended: their sinks have received everything.
  int ended() const;
  /// Waits until `count` requests were cancelled; returns false after 10 s.
  bool wait_cancelled(int count) const;

 private:
  void run(RequestId id, const SpeechRequest& request, std::vector<std::string> pieces,
           FinishReason reason, Sink& sink);
  PipelineInfo info_;
  std::shared_ptr<Recogniser> recogniser_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::thread> threads_;
  std::vector<bool> cancelled_;
  std::vector<std::string> pieces_{"Hel", "lo", "."};
  FinishReason reason_ = FinishReason::kStop;
  SpeechRequest last_;
  bool fail_now_ = false;
  int hurried_ = 0, ended_ = 0;
};

}  // namespace syrinx
