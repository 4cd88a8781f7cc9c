// A blocking HTTP client on a bare socket, for tests that need to misbehave.
#pragma once

#include <string>

namespace syrinx {

struct TestAnswer {
  int status = 0;
  std::string head;    ///< with the status line
  std::string body;    ///< chunks joined
  bool whole = false;  ///< the body ended as it should
  /// Value of a header, any case; empty when absent.
  std::string header(const std::string& name) const;
};

class TestClient {
 public:
  /// `window`: bytes that the kernel keeps for it and that it reads at a time; 0: as usual.
  explicit TestClient(int port, int window = 0);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(const std::string& bytes);
  /// POST /v1/audio/speech with this body; `headers` are whole lines.
  void post(const std::string& body, const std::string& headers = "");
  void get(const std::string& path, const std::string& headers = "");
  /// Reads up to the end of the head; the rest stays for later.
  TestAnswer read_head();
  /// Reads the body of `answer` to its end or to the end of the connection.
  void read_body(TestAnswer& answer);
  TestAnswer read();
  /// At least one byte more of the stream; false at its end or after 60 s.
  bool read_more();
  /// The server closed the connection (reads and drops what comes before).
  bool wait_closed(double timeout_s);
  void shut_send();
  void close();

 private:
  bool fill(size_t bytes);
  int fd_ = -1;
  int window_ = 0;
  std::string bytes_;  // read, not yet consumed
};

}  // namespace syrinx
