// A blocking HTTP client on a plain socket, for tests that must break rules of HTTP.
#pragma once

#include <string>

namespace syrinx {

struct TestAnswer {
  int status = 0;
  std::string head;    ///< head of the answer, with the status line
  std::string body;    ///< the body's chunks, joined
  bool whole = false;  ///< the body ended correctly
  /// Returns the value of a header, whose name may have any case; empty if absent.
  std::string header(const std::string& name) const;
};

class TestClient {
 public:
  /// `window`: bytes of the socket's receive buffer and of each read; 0 means the system's default.
  explicit TestClient(int port, int window = 0);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(const std::string& bytes);
  /// Sends POST /v1/audio/speech with this body; `headers` are whole lines.
  void post(const std::string& body, const std::string& headers = "");
  void get(const std::string& path, const std::string& headers = "");
  /// Reads up to the end of the head; leaves the rest for later.
  TestAnswer read_head();
  /// Reads the body of `answer` up to its end or the end of the connection.
  void read_body(TestAnswer& answer);
  TestAnswer read();
  /// Reads at least one more byte of the stream; returns false at its end or after 60 s.
  bool read_more();
  /// Reads and drops everything; returns whether the server closes the connection in time.
  bool wait_closed(double timeout_s);
  void shut_send();
  void close();

 private:
  bool fill(size_t bytes);
  int fd_ = -1;
  int window_ = 0;
  std::string bytes_;  // bytes read but not yet used
};

}  // namespace syrinx
