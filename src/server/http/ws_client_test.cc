#include "server/http/ws_client_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace syrinx {

RawSocket::RawSocket(int port, int receive_bytes) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_bytes > 0) {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  const timeval timeout{300, 0};  // ends a test that hangs; long, because machines may be busy
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawSocket::shut_send() { shutdown(fd_, SHUT_WR); }

bool RawSocket::send(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

std::string RawSocket::read(size_t count) {
  char room[65536];
  while (bytes_.size() < count) {
    const ssize_t got = recv(fd_, room, sizeof room, 0);
    if (got <= 0) break;
    bytes_.append(room, static_cast<size_t>(got));
  }
  std::string out = bytes_.substr(0, count);
  bytes_.erase(0, out.size());
  return out;
}

std::string RawSocket::read_until(const std::string& end) {
  std::string out;
  while (!out.ends_with(end)) {
    const std::string byte = read(1);
    if (byte.empty()) break;
    out += byte;
  }
  return out;
}

int WsFrame::close_code() const {
  if (bytes.size() < 2) return 1005;
  return static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]);
}

WsClient::WsClient(int port, const std::string& target, const std::string& headers,
                   int receive_bytes)
    : socket_(port, receive_bytes) {
  socket_.send("GET " + target +
               " HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
               headers + "\r\n");
  head_ = socket_.read_until("\r\n\r\n");
  status_ = head_.size() > 12 ? std::atoi(head_.c_str() + 9) : 0;
}

bool WsClient::send_frame(int opcode, const std::string& bytes) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (bytes.size() < 126) {
    frame += static_cast<char>(0x80 | bytes.size());
  } else {
    // Uses the shortest form of the length; a longer form is an error (RFC 6455, 5.2).
    const bool large = bytes.size() > 0xffff;
    frame += static_cast<char>(0x80 | (large ? 127 : 126));
    for (int shift = large ? 56 : 8; shift >= 0; shift -= 8) {
      frame += static_cast<char>(static_cast<uint64_t>(bytes.size()) >> shift & 255);
    }
  }
  return socket_.send(frame + std::string(4, '\0') + bytes);
}

std::optional<WsFrame> WsClient::read() {
  const std::string head = socket_.read(2);
  if (head.size() < 2) return {};
  uint64_t size = static_cast<uint8_t>(head[1]) & 127;
  const size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (more > 0) size = 0;
  for (const char c : socket_.read(more)) size = size << 8 | static_cast<uint8_t>(c);
  WsFrame frame{.opcode = head[0] & 15, .bytes = socket_.read(size)};
  if (frame.bytes.size() < size) return {};
  return frame;
}

std::string WsClient::read_text(size_t* audio) {
  while (const auto frame = read()) {
    if (frame->opcode == 1) return frame->bytes;
    if (frame->opcode == 8) return "close " + std::to_string(frame->close_code());
    if (frame->opcode == 2 && audio != nullptr) *audio += frame->bytes.size();
  }
  return "gone";
}

}  // namespace syrinx
