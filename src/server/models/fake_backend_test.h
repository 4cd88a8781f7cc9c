// A Backend for tests that makes tones instead of speech. Some texts of a request change how the
// Backend answers:
//   "busy"        submit() returns kOverloaded   "broken"     submit() throws
//   "fail early"  kError before any audio        "fail late"  kError after 0.4 s of audio
//   "warn..."     a warning before the audio
//   "silent"      ends without audio             "endless"    audio until it is cancelled
//   "mute..."     kError of nothing_to_say(), once the text has ended
//   other texts: 0.1 s of audio per byte of text, late text included.
// If info() says that the model reports word times, the sink also receives those of the first text.
// A request with a kept stream also sends the codes n, 7 for frame n.
// Each request has its own thread and gets chunks of 80 ms; the samples depend on the seed. After
// clone(), the toy model's encoder encodes recordings in an engine's VoiceQueue. The encoding of a
// recording with the text "slow" waits until it is cancelled.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/models/backend.h"

namespace syrinx {

class FakeBackend : public Backend {
 public:
  /// `step_s`: how long a request waits before each chunk of 80 ms.
  explicit FakeBackend(double step_s = 0);
  ~FakeBackend() override;
  const PipelineInfo& info() const override { return info_; }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override;
  void cancel(RequestId id) override;
  void append_text(RequestId id, std::string text, bool last) override;
  EngineStats stats() const override;
  const EngineMetrics* metrics() const override { return &metrics_; }
  const VoiceEncoderInfo* voice_encoder() const override;
  Result<uint64_t> encode_voice(Recording recording, uint64_t client, VoiceDone done) override;
  void cancel_voice(uint64_t id) override;
  const VoiceMetrics* voice_metrics() const override;
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override;

  /// Gives the model a voice encoder, so that it can clone and mix voices.
  void clone();
  /// Returns the number of encoded recordings; cancelled(): of failed or cancelled encodings.
  int64_t encoded() const;
  int64_t cancelled() const;
  /// With `refuse`, encoding a recording fails with kOverloaded.
  void refuse_voices(bool refuse) { refuse_voices_ = refuse; }

  /// Returns the result of info(), which a test may change before the first request.
  PipelineInfo& mutable_info() { return info_; }
  /// Returns the texts of all requests so far, late text included, in the order of submit().
  std::vector<std::string> texts() const;
  /// Returns the last request that submit() received.
  SpeechRequest last_request() const;
  /// Returns the number of chunks of all requests so far.
  int64_t steps() const;
  /// Waits until no request runs; returns false after timeout_s.
  bool wait_idle(double timeout_s) const;
  /// Returns the most seconds of audio that a sink held unread so far (Sink::unread_s()).
  double max_unread_s() const;

 private:
  struct Running {
    bool cancelled = false;
    bool open = false;  // more text may follow
    double want_s = 0;  // seconds of audio that the text needs
    std::string text;
  };
  void run(RequestId id, const SpeechRequest& request, Sink& sink);
  /// Waits until there is text to speak; returns false when all text has been spoken.
  bool wants_more(RequestId id, double audio_s);
  /// Waits step_s, and while the sink is full; returns false if the request was cancelled.
  bool pace(RequestId id, const Sink& sink);
  void end(RequestId id, Sink& sink, Outcome outcome);

  PipelineInfo info_;
  EngineMetrics metrics_;
  const double step_s_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<RequestId, Running> running_;
  std::vector<std::thread> threads_;
  SpeechRequest last_;
  std::vector<std::string> texts_;  // element i is the text of request i + 1
  EngineStats stats_;
  double max_unread_s_ = 0;
  std::shared_ptr<const Pipeline> toy_;  // owns the encoder
  std::atomic<bool> refuse_voices_ = false;
  std::atomic<int64_t> cancelled_ = 0;
  std::map<uint64_t, VoiceDone> slow_;  // encodings that wait for cancellation
  uint64_t next_slow_ = uint64_t{1} << 32;
  std::unique_ptr<VoiceQueue> voices_;  // destroyed first
};

}  // namespace syrinx
