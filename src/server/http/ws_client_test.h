// A blocking WebSocket client on a plain socket, for tests that must break rules of the protocol.
// Its masks are zeros, so that frames can be read in a debugger.
#pragma once

#include <optional>
#include <string>

namespace syrinx {

/// A socket connected to this machine, with a receive timeout of 300 s.
class RawSocket {
 public:
  /// `receive_bytes`: size of the receive buffer if above 0.
  explicit RawSocket(int port, int receive_bytes = 0);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  /// Sends the bytes; returns false when the server has closed the connection.
  bool send(const std::string& bytes);
  /// Reads exactly `count` bytes, or fewer at the end of the stream.
  std::string read(size_t count);
  /// Reads up to the end of `end`.
  std::string read_until(const std::string& end);
  void shut_send();
  void close();

 private:
  int fd_ = -1;
  std::string bytes_;  // bytes read but not yet used
};

struct WsFrame {
  int opcode = 0;  ///< 1 text, 2 binary, 8 close, 9 ping, 10 pong
  std::string bytes;
  int close_code() const;
};

class WsClient {
 public:
  /// Connects and asks for the upgrade; `headers` are whole lines.
  WsClient(int port, const std::string& target, const std::string& headers = "",
           int receive_bytes = 0);
  /// Returns the status of the answer to the upgrade; 101 means success.
  int status() const { return status_; }
  const std::string& head() const { return head_; }
  bool send_text(const std::string& text) { return send_frame(1, text); }
  bool send_frame(int opcode, const std::string& bytes);
  /// Reads the next frame, also control frames. Returns nothing at the end of the connection.
  std::optional<WsFrame> read();
  /// Reads the next text or close frame; counts bytes of binary frames in `audio`.
  std::string read_text(size_t* audio = nullptr);
  RawSocket& socket() { return socket_; }

 private:
  RawSocket socket_;
  std::string head_;
  int status_ = 0;
};

}  // namespace syrinx
