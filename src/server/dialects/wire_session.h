// What is said on one WebSocket, without its socket: messages go in, frames for the client come out
// in order. One thread at a time, but for read().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/dialects/dialect.h"

namespace syrinx {

class WireSession {
 public:
  virtual ~WireSession() = default;

  /// What remains to be done with a message, on the session's thread. True: it was much, and must
  /// be called again before the next message.
  using Step = std::function<bool(double now_s)>;
  /// Reads a message, which takes its time where that is long; on any thread, beside everything.
  /// The step borrows from the session, not from `bytes`.
  virtual Step read(std::string_view bytes, bool binary) = 0;
  /// No further message, nor step, is taken for now.
  virtual bool full() const = 0;
  /// Bytes that a message may have.
  virtual size_t max_message_bytes() const = 0;

  /// Looks after the time, and after a server that wants to stop. Call about once a second.
  virtual void tick(double now_s, bool stopping) = 0;
  /// The next frame, if there is one. Valid until the next call.
  virtual const SendMessage* next(double now_s) = 0;
  /// The socket has taken every frame that next() gave.
  virtual void written() = 0;
  /// How to close, once next() has nothing more.
  virtual const std::optional<CloseConnection>& closing() const = 0;

  /// Inner faults since the last call, for the log; never texts.
  virtual std::vector<std::string> take_troubles() = 0;
  /// What was done, for the log.
  virtual std::string summary() const = 0;
};

}  // namespace syrinx
