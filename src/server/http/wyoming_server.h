// Listens for Home Assistant: Wyoming over TCP, which has neither keys nor encryption. One io
// thread of its own. Public methods are for the thread that owns the object.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/models/model_table.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// Where it listens, and for how many.
struct WyomingOptions {
  std::string host = "127.0.0.1";          ///< an IPv4 or IPv6 address
  int port = 10200;                        ///< 0: any free one
  int max_connections = 64;                ///< past it new ones are closed
  double stall_timeout_s = 30;             ///< a client that does not read for this long is cut off
  std::shared_ptr<VoiceDesk> voices = {};  ///< null: none but the model's own
  /// Takes one line per connection, on the io thread; never texts or audio. May be empty.
  std::function<void(const std::string& line)> log = {};
};

class WyomingServer {
 public:
  /// Speaks with all models of the table. Throws LoadError when it cannot listen.
  WyomingServer(WyomingOptions options, std::shared_ptr<ModelTable> models);
  /// Closes every connection; what they speak is cancelled.
  ~WyomingServer();
  WyomingServer(const WyomingServer&) = delete;
  WyomingServer& operator=(const WyomingServer&) = delete;

  int port() const;
  /// Accepts nothing new and waits for what is being spoken; true if all ended in time.
  bool drain(double timeout_s);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
