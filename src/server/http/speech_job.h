// One text on its way to bytes: checked, submitted to a model, its audio encoded as it is made.
// Cancelled when destroyed. Inside the server only; one coroutine at a time, on the io thread
// unless said otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "audio/encoder.h"
#include "server/models/backend.h"
#include "server/net/asio.h"
#include "server/request/audio_queue.h"
#include "server/request/speech_call.h"
#include "server/request/timed_words.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

class Wakeup;
struct ServerState;

/// Encoded audio that an answer may keep in memory because its length comes first.
inline constexpr size_t kMaxWholeBytes = size_t{64} << 20;

class SpeechJob {
 public:
  /// `wakeup` hears of new audio and of the end, and also when `gone` would say that the client is
  /// gone: then nothing is waited for any more.
  SpeechJob(ServerState& server, std::shared_ptr<Wakeup> wakeup, uint64_t client,
            std::function<bool()> gone);
  ~SpeechJob();
  SpeechJob(const SpeechJob&) = delete;
  SpeechJob& operator=(const SpeechJob&) = delete;

  using ReadBody = std::function<std::variant<SpeechBody, ApiError>()>;
  /// Reads and checks the body, finds or loads its model, fetches its voice and submits it;
  /// afterwards fault() is set or audio will come. Works on other threads: a body may be large and
  /// its prompt slow to make.
  net::awaitable<void> start(ReadBody read);
  /// The same for a body that was parsed elsewhere.
  net::awaitable<void> start(SpeechBody body);

  /// Encodes what has come meanwhile, on another thread where that takes time; at the end of the
  /// audio, what the encoder holds back too. False when nothing had come: wait for the wakeup.
  net::awaitable<bool> pump();
  /// Encoded audio for the caller, which calls written() once it is on its way.
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }
  void written();

  /// Words whose end is known and that were not taken yet; once there is an outcome, all of them.
  std::vector<TimedWord> take_words();
  /// Once there is an outcome: puts the length into the beginning of `all`, which is everything
  /// that came out of bytes(), where the format has a place for it.
  void state_length(std::string& all) const;

  /// What went wrong before the engine took over or in the encoder. trouble() is for the log.
  const std::optional<ApiError>& fault() const { return fault_; }
  const std::string& trouble() const { return trouble_; }
  /// Set once the engine is done and all of its audio is in bytes().
  const std::optional<Outcome>& outcome() const { return outcome_; }
  /// Why there is no audio in an outcome; for outcomes without any bytes.
  ApiError no_audio();

  /// Valid without a fault.
  const SpeechCall& call() const { return call_; }
  const PipelineInfo& info() const { return backend_->info(); }
  int rate_hz() const { return encoder_->rate_hz(); }

 private:
  bool begun() const { return fault_ || id_ || fetch_; }
  net::awaitable<void> go_on();
  net::awaitable<void> find_model();
  net::awaitable<void> wait_for_voice();
  void check();
  void submit();
  void encode();
  void fail(const Error& error);

  ServerState& server_;
  const std::shared_ptr<Wakeup> wakeup_;
  const uint64_t client_;
  const std::function<bool()> gone_;
  std::optional<SpeechBody> body_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<AudioQueue> queue_;
  std::unique_ptr<Encoder> encoder_;
  SpeechCall call_;
  std::unique_ptr<VoiceFetch> fetch_;
  std::optional<RequestId> id_;
  std::optional<ApiError> fault_;
  std::string trouble_;
  std::optional<Outcome> outcome_;
  std::vector<float> samples_;  // being encoded
  std::string bytes_;
  size_t unwritten_ = 0;  // samples in bytes_
  int64_t taken_ = 0;     // samples so far
  std::vector<WordMark> marks_;
};

/// Whether an outcome is a failure or a cancellation.
bool is_bad(const Outcome& outcome);

}  // namespace syrinx
