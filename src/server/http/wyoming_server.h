// Listens for Home Assistant: Wyoming over TCP, which has neither keys nor encryption. Has its own
// io thread. Public methods are for the thread that owns the object.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/models/model_table.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

class Ears;

/// Address and limits.
struct WyomingOptions {
  std::string host = "127.0.0.1";  ///< an IPv4 or IPv6 address
  int port = 10200;                ///< 0 means any free port
  int max_connections = 64;        ///< further connections are closed at once
  double stall_timeout_s = 30;     ///< a client that reads nothing for this long is disconnected
  std::shared_ptr<VoiceDesk> voices = {};  ///< null means only the models' own voices
  std::shared_ptr<const Ears> ears = {};   ///< null means only models that recognise speech
  /// Called on the io thread with a line for each connection, never with texts or audio. May be
  /// empty.
  std::function<void(const std::string& line)> log = {};
};

class WyomingServer {
 public:
  /// Serves all models of the table. Throws LoadError when it cannot listen.
  WyomingServer(WyomingOptions options, std::shared_ptr<ModelTable> models);
  /// Closes every connection and cancels their speech.
  ~WyomingServer();
  WyomingServer(const WyomingServer&) = delete;
  WyomingServer& operator=(const WyomingServer&) = delete;

  int port() const;
  /// Accepts no new requests and waits for the speech in progress; returns true if all ended in
  /// time.
  bool drain(double timeout_s);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
