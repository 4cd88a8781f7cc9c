// A conversation in a dialect, without its socket: feeds messages to the dialect, carries out what
// it asks for, gives the frames for the client in order. Audio is only made into frames when the
// socket has taken those before, so that a cancel drops everything that was not on its way.
// One thread, but for `wake`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/ws_contexts.h"
#include "server/ws_dialect.h"

namespace syrinx {

struct SessionLimits {
  size_t max_text_bytes = size_t{256} << 10;  ///< of a context, that wait or are spoken
  double max_audio_s = 0;                     ///< of an utterance; 0: no bound but the model's
  uint64_t client = 0;                        ///< as in SpeechRequest
  VoiceDesk* voices = nullptr;                ///< as in ContextLimits
};

class TextSession {
 public:
  /// `now_s`: of the caller's clock, as in tick().
  TextSession(std::shared_ptr<Backend> backend, std::unique_ptr<Dialect> dialect,
              const SessionLimits& limits, std::function<void()> wake, double now_s);

  void message(std::string_view bytes, bool binary, double now_s);
  /// Looks after the idle timeout, and after a server that wants to stop. Call about once a second.
  void tick(double now_s, bool stopping);

  /// The next frame, if there is one. Valid until the next call.
  const SendMessage* next(double now_s);
  /// The socket has taken every frame that next() gave.
  void written();
  /// How to close, once next() has nothing more.
  const std::optional<CloseConnection>& closing() const { return closing_; }

  /// Bytes of replies that wait; past a bound the socket should not be read from.
  size_t backlog_bytes() const { return backlog_bytes_; }
  const SpeechContexts& contexts() const { return contexts_; }
  std::vector<std::string> take_troubles() { return contexts_.take_troubles(); }

 private:
  void carry_out(Actions& actions);

  const std::unique_ptr<Dialect> dialect_;
  SpeechContexts contexts_;
  std::deque<SendMessage> frames_;
  SendMessage current_;
  size_t backlog_bytes_ = 0;
  std::optional<CloseConnection> closing_;
  double active_s_;
};

}  // namespace syrinx
