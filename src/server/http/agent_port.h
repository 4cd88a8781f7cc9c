// Reports the server's load to load balancers in HAProxy's agent-check protocol: each connection
// gets one line and is closed. Ignores what a client sends, so a foreign client costs little and
// learns only the load. Has its own io thread, so that it answers while the others are busy. Public
// methods are for the thread that owns the object.
#pragma once

#include <memory>
#include <string>

#include "server/models/model_table.h"

namespace syrinx {

/// Returns the answer. "up 75%": requests are accepted, and 75 % of the capacity is free
/// (ServerLoad::free; never 0 %, which would stop all requests). "down #loading", "down #draining":
/// requests are refused. Never "drain": a balancer keeps that state until it reads "ready", and
/// "ready" would undo what its operator has set by hand.
std::string agent_answer(const ModelTable* models, bool draining);

class AgentPort {
 public:
  /// Answers "down" until open(). `port` 0 means any free port. Throws LoadError on failure.
  AgentPort(const std::string& host, int port);
  ~AgentPort();
  AgentPort(const AgentPort&) = delete;
  AgentPort& operator=(const AgentPort&) = delete;

  int port() const;
  void open(std::shared_ptr<const ModelTable> models);
  /// Reports from now on that the server accepts no new requests.
  void drain();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
