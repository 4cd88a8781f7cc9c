// What the connections of one server share. Inside the server only; io thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>

#include "server/http_server.h"
#include "server/routes.h"

namespace syrinx {

class Session;

struct ServerState {
  explicit ServerState(ServerOptions server_options);
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  ServerView view() const;
  /// "req_" and 16 hex digits, hard to guess and unlikely to repeat.
  std::string new_request_id();
  void log(const std::string& line) const;

  const ServerOptions options;
  const double started_s;
  std::shared_ptr<Backend> backend;  ///< null until the model is loaded
  bool draining = false;
  int streams = 0;
  int64_t requests = 0;
  std::unordered_set<Session*> sessions;
  std::mt19937_64 random;
  // Destroyed first: handlers that never ran hold sessions, which know the members above.
  boost::asio::io_context io{1};
  boost::asio::thread_pool worker{1};
  /// Encodes audio where that takes time. As many threads as cores: streams share them fairly, and
  /// the engine, which they feed on, keeps its own.
  boost::asio::thread_pool encoders;
};

}  // namespace syrinx
