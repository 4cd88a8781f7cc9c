// The speech of one text: checks a request, submits it to a model, and encodes its audio while the
// model makes it. The destructor cancels it. Inside the server only; one coroutine at a time, on
// the io thread unless stated otherwise.
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

/// Most encoded audio, in bytes, that is kept for an answer whose length must be sent first.
inline constexpr size_t kMaxWholeBytes = size_t{64} << 20;

class SpeechJob {
 public:
  /// `wakeup` is notified of new audio and of the end. It must also be notified when the client
  /// disconnects (gone() becomes true), so that the job stops waiting.
  SpeechJob(ServerState& server, std::shared_ptr<Wakeup> wakeup, uint64_t client,
            std::function<bool()> gone);
  ~SpeechJob();
  SpeechJob(const SpeechJob&) = delete;
  SpeechJob& operator=(const SpeechJob&) = delete;

  using ReadBody = std::function<std::variant<SpeechBody, ApiError>()>;
  /// Reads and checks the body, finds or loads its model, fetches its voice and submits it.
  /// Afterwards fault() is set or audio will arrive. Works on other threads, because a body may be
  /// large and making its prompt slow.
  net::awaitable<void> start(ReadBody read);
  /// Starts with a parsed body, but otherwise works like the overload above.
  net::awaitable<void> start(SpeechBody body);

  /// Encodes the audio that has arrived, on another thread if that takes time. At the end of the
  /// audio, adds the encoder's last bytes. Returns false if nothing had arrived; then wait for the
  /// wakeup.
  net::awaitable<bool> pump();
  /// Returns encoded audio. The caller takes it, and calls written() when the audio has been sent.
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }
  void written();

  /// Returns the new words whose end is known. After the outcome, returns all remaining words.
  std::vector<TimedWord> take_words();
  /// Writes the audio's length into the header of `all`, if the format has such a field. Call it
  /// after the outcome. `all` must have the audio from its first byte.
  void state_length(std::string& all) const;

  /// Returns the error of the submission or of the encoder. trouble() returns details for the
  /// log.
  const std::optional<ApiError>& fault() const { return fault_; }
  const std::string& trouble() const { return trouble_; }
  /// Returns the outcome once the engine has finished and all of its audio is in bytes().
  const std::optional<Outcome>& outcome() const { return outcome_; }
  /// Returns the error of an outcome without any audio.
  ApiError no_audio();

  /// Returns the checked call; valid only without a fault.
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
  std::vector<float> samples_;  // samples that are being encoded
  std::string bytes_;
  size_t unwritten_ = 0;  // samples in bytes_
  int64_t taken_ = 0;     // samples taken so far
  std::vector<WordMark> marks_;
};

/// Returns whether an outcome is a failure or a cancellation.
bool is_bad(const Outcome& outcome);

}  // namespace syrinx
