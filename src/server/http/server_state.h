// State shared by the connections of a server. Inside the server only; io thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "predict/counters.h"
#include "server/access/client_limits.h"
#include "server/chat/kept_answers.h"
#include "server/http/http_server.h"
#include "server/http/routes.h"
#include "server/models/model_table.h"
#include "server/net/byte_stream.h"
#include "server/realtime/turn_times.h"

namespace syrinx {

class Session;

struct ServerState {
  explicit ServerState(ServerOptions server_options);
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  ServerView view() const;
  /// Returns "req_" and 16 hex digits, hard to guess and unlikely to repeat.
  std::string new_request_id();
  uint64_t hash_address(const boost::asio::ip::address& address) const;
  void log(const std::string& line) const;

  const ServerOptions options;
  const double started_s;
  std::shared_ptr<ModelTable> models;  ///< null until the first model is loaded
  const std::shared_ptr<VoiceDesk> voices;
  const std::shared_ptr<PredictionCounters> predictions = std::make_shared<PredictionCounters>();
  const std::shared_ptr<TurnMetrics> turns = std::make_shared<TurnMetrics>();
  std::shared_ptr<TlsContext> tls;  ///< null means plain HTTP
  const std::shared_ptr<KeptAnswers> answers = std::make_shared<KeptAnswers>();
  ApiKeys keys, metrics_keys;
  ClientLimits limits;
  std::unordered_map<uint64_t, int> addresses;  ///< open connections from each address, by its hash
  bool draining = false;
  int streams = 0;
  int uploads = 0;  ///< large bodies in memory
  int64_t requests = 0;
  std::unordered_set<Session*> sessions;
  std::mt19937_64 random;
  uint64_t salt;  ///< salt of client hashes
  // Destroyed first, because its pending handlers own sessions, which use the members above.
  boost::asio::io_context io{1};
  boost::asio::thread_pool worker{4};  ///< checks requests and makes prompts, which may take long
  boost::asio::thread_pool loader{1};  ///< loads models
  /// Encodes audio of costly formats. It has as many threads as cores; the engine has its own.
  boost::asio::thread_pool encoders;
};

}  // namespace syrinx
