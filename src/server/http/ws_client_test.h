// A blocking WebSocket client on a bare socket, for tests that need to misbehave. It masks with
// zeros, so that frames can be read in a debugger.
#pragma once

#include <optional>
#include <string>

namespace syrinx {

/// A socket connected to this machine, with a receive timeout of 20 s.
class RawSocket {
 public:
  /// `receive_bytes` > 0: a small receive buffer.
  explicit RawSocket(int port, int receive_bytes = 0);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  /// False when the other side is gone.
  bool send(const std::string& bytes);
  /// Exactly `count` bytes, or fewer at the end of the stream.
  std::string read(size_t count);
  /// Up to and with `end`.
  std::string read_until(const std::string& end);
  void shut_send();
  void close();

 private:
  int fd_ = -1;
  std::string bytes_;  // read, not yet consumed
};

struct WsFrame {
  int opcode = 0;  ///< 1 text, 2 binary, 8 close, 9 ping, 10 pong
  std::string bytes;
  int close_code() const;
};

class WsClient {
 public:
  /// `headers` are whole lines.
  WsClient(int port, const std::string& target, const std::string& headers = "",
           int receive_bytes = 0);
  /// Status of the answer to the upgrade: 101 when all is well.
  int status() const { return status_; }
  const std::string& head() const { return head_; }
  bool send_text(const std::string& text) { return send_frame(1, text); }
  bool send_frame(int opcode, const std::string& bytes);
  /// The next frame, control frames included; nothing at the end of the connection.
  std::optional<WsFrame> read();
  /// Text and close frames only, joined binary bytes go to `audio`.
  std::string read_text(size_t* audio = nullptr);
  RawSocket& socket() { return socket_; }

 private:
  RawSocket socket_;
  std::string head_;
  int status_ = 0;
};

}  // namespace syrinx
