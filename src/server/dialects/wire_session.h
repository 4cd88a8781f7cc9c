// The protocol of one WebSocket, without its socket: takes messages and returns frames for the
// client in order. One thread at a time, except for read().
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

  /// Handles a message that read() has parsed, on the session's thread. Returns true if work
  /// remains: it must then be called again before the next message.
  using Step = std::function<bool(double now_s)>;
  /// Reads a message, which may take long; on any thread, concurrently with all other methods. The
  /// step borrows from the session, not from `bytes`.
  virtual Step read(std::string_view bytes, bool binary) = 0;
  /// Returns whether messages and steps must wait.
  virtual bool full() const = 0;
  /// Returns the most bytes of a message.
  virtual size_t max_message_bytes() const = 0;

  /// Checks time limits. Ends a quiet session if `stopping`. Call it at least once a second.
  virtual void tick(double now_s, bool stopping) = 0;
  /// Returns the next frame, or null. The frame is valid until the next call.
  virtual const SendMessage* next(double now_s) = 0;
  /// Call it when the socket has sent every frame that next() returned.
  virtual void written() = 0;
  /// Returns how to close the connection, after next() has returned its last frame.
  virtual const std::optional<CloseConnection>& closing() const = 0;

  /// Returns internal faults since the last call, for the log. They contain no texts of clients.
  virtual std::vector<std::string> take_troubles() = 0;
  /// Returns a summary of the session, for the log.
  virtual std::string summary() const = 0;
};

}  // namespace syrinx
