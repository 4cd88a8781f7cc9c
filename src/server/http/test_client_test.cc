#include "server/http/test_client_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace syrinx {

std::string TestAnswer::header(const std::string& name) const {
  size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    const size_t begin = at + 2;
    at = head.find("\r\n", begin);
    const std::string line = head.substr(begin, at - begin);
    if (strncasecmp(line.c_str(), (name + ": ").c_str(), name.size() + 2) == 0) {
      return line.substr(name.size() + 2);
    }
  }
  return {};
}

TestClient::TestClient(int port, int window)
    : fd_(socket(AF_INET, SOCK_STREAM, 0)), window_(window) {
  if (window > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

TestClient::~TestClient() { close(); }

void TestClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void TestClient::shut_send() { shutdown(fd_, SHUT_WR); }

void TestClient::send(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return;  // the server has closed the connection; its answer may still be read
    done += static_cast<size_t>(n);
  }
}

void TestClient::post(const std::string& body, const std::string& headers) {
  send("POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers +
       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

void TestClient::get(const std::string& path, const std::string& headers) {
  send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
}

bool TestClient::read_more() {
  pollfd wait{fd_, POLLIN, 0};
  if (poll(&wait, 1, 60'000) <= 0) return false;
  char buffer[65536];
  const ssize_t n =
      recv(fd_, buffer, window_ > 0 ? static_cast<size_t>(window_) : sizeof buffer, 0);
  if (n <= 0) return false;
  bytes_.append(buffer, static_cast<size_t>(n));
  return true;
}

bool TestClient::fill(size_t bytes) {
  while (bytes_.size() < bytes) {
    if (!read_more()) return false;
  }
  return true;
}

TestAnswer TestClient::read_head() {
  TestAnswer answer;
  size_t end = 0;
  while ((end = bytes_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more()) return answer;
  }
  answer.head = bytes_.substr(0, end + 2);
  bytes_.erase(0, end + 4);
  answer.status = std::stoi(answer.head.substr(9, 3));
  return answer;
}

void TestClient::read_body(TestAnswer& answer) {
  if (const std::string length = answer.header("Content-Length"); !length.empty()) {
    answer.whole = fill(std::stoul(length));
    answer.body = bytes_.substr(0, std::stoul(length));
    bytes_.erase(0, answer.body.size());
    return;
  }
  if (answer.header("Transfer-Encoding") != "chunked") {
    while (read_more()) {
    }
    answer.body.swap(bytes_);
    return;
  }
  for (;;) {
    size_t line = 0;
    while ((line = bytes_.find("\r\n")) == std::string::npos) {
      if (!read_more()) return;
    }
    const size_t size = std::stoul(bytes_.substr(0, line), nullptr, 16);
    const std::string end = size == 0 ? "\r\n\r\n" : "";
    if (size == 0) {  // trailers may follow
      while ((line = bytes_.find(end)) == std::string::npos) {
        if (!read_more()) return;
      }
      answer.head += bytes_.substr(3, line - 1);
      bytes_.erase(0, line + 4);
      answer.whole = true;
      return;
    }
    if (!fill(line + 2 + size + 2)) return;
    answer.body += bytes_.substr(line + 2, size);
    bytes_.erase(0, line + 2 + size + 2);
  }
}

TestAnswer TestClient::read() {
  TestAnswer answer = read_head();
  if (answer.status != 0) read_body(answer);
  return answer;
}

bool TestClient::wait_closed(double timeout_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{fd_, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    char buffer[65536];
    if (recv(fd_, buffer, sizeof buffer, 0) <= 0) return true;
  }
}

}  // namespace syrinx
