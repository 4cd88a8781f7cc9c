// The process at the other end of a link: holds stages of a model and runs batches for servers. It
// listens at an address (transport.h) and has a thread for each connected server. Batches of all
// servers run one at a time, on all threads. An invalid message ends only the connection of its
// server. The streams of a connection end with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "link/message.h"
#include "link/transport.h"
#include "model/pipeline.h"

namespace syrinx {

/// The address of a stage server, its nodes and its limits.
struct StageServerOptions {
  std::string address;
  StageKeys keys = {};
  Introduction me;  ///< identity of this process, and the nodes that it holds
  int threads = 0;  ///< see ThreadPool
  std::function<void(const std::string&)> log = {};  ///< called on any thread
  double greeting_s = 5;                    ///< time for a peer's Hello before it is disconnected
  int max_servers = 16;                     ///< most connected servers
  size_t max_streams = 4096;                ///< most streams of one connection
  size_t most_kv_bytes = size_t{16} << 30;  ///< most bytes of an AR node's cache, per connection
};

/// The state of a stage server at one moment.
struct StageServerState {
  int servers = 0, streams = 0;
  uint64_t batches = 0, refused = 0;
};

/// The listener, its threads and the streams of its peers.
class StageServer {
 public:
  /// Throws LoadError for an unknown node, or if it cannot listen at the address.
  StageServer(std::shared_ptr<const Pipeline> pipeline, StageServerOptions options);
  /// Ends all connections.
  ~StageServer();
  StageServer(const StageServer&) = delete;
  StageServer& operator=(const StageServer&) = delete;

  /// Accepts no new servers and asks connected servers to leave. Each server leaves when its last
  /// stream has ended.
  void leave();
  StageServerState state() const;
  /// Returns the address to which servers connect.
  std::string address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
