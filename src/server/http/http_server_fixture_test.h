// A fixture for tests: a server with a real socket and a fake engine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/http/http_server.h"
#include "server/http/test_client_test.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {

class HttpServerTest : public testing::Test {
 protected:
  void start(double step_s = 0, ServerOptions options = {}) {
    options.port = 0;
    backend_ = std::make_shared<FakeBackend>(step_s);
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->open(backend_);
  }
  int port() const { return server_->port(); }
  TestAnswer speak(const std::string& body, const std::string& headers = "") {
    TestClient client(port());
    client.post(body, headers);
    return client.read();
  }
  TestAnswer get(const std::string& path, const std::string& headers = "") {
    TestClient client(port());
    client.get(path, headers);
    return client.read();
  }

  std::shared_ptr<FakeBackend> backend_;
  std::unique_ptr<HttpServer> server_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace syrinx
