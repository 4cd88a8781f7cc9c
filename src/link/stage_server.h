// The process at the other end of a link: holds stages of a model and runs what servers push.
// Listens at an address (transport.h); a thread for each server that is connected; batches run one
// at a time on all threads, for any server. What a server sends wrongly ends its connection
// and nothing else; when it goes, its streams go.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "link/message.h"
#include "link/transport.h"
#include "model/pipeline.h"

namespace syrinx {

/// Where it listens, and what it holds.
struct StageServerOptions {
  std::string address;
  StageKeys keys = {};
  Introduction me;  ///< its nodes are those that this process holds
  int threads = 0;  ///< as in ThreadPool
  std::function<void(const std::string&)> log = {};  ///< any thread
  double greeting_s = 5;                    ///< a caller that says less in that time is a stranger
  int max_servers = 16;                     ///< connected at a time
  size_t max_streams = 4096;                ///< of one connection
  size_t most_kv_bytes = size_t{16} << 30;  ///< of the cache of each AR node, for one connection
};

/// Seen at one moment.
struct StageServerState {
  int servers = 0, streams = 0;
  uint64_t batches = 0, refused = 0;
};

/// The listener, its threads and the streams of its peers.
class StageServer {
 public:
  /// Throws LoadError: an unknown node, an address that cannot be listened at.
  StageServer(std::shared_ptr<const Pipeline> pipeline, StageServerOptions options);
  /// Ends all connections.
  ~StageServer();
  StageServer(const StageServer&) = delete;
  StageServer& operator=(const StageServer&) = delete;

  /// Takes no new servers, and asks those that are here to go: each does when none of its streams
  /// is left.
  void leave();
  StageServerState state() const;
  /// As servers call it.
  std::string address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
