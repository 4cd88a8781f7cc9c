// Reports the server's load to load balancers in HAProxy's agent-check protocol: each connection
// gets one line and is closed. Nothing is read, kept or waited for, so a stranger
// costs nothing and learns nothing but the load. One io thread of its own, so that the answer comes
// while the others are busy. Public methods are for the thread that owns the object.
#pragma once

#include <memory>
#include <string>

#include "server/models/model_table.h"

namespace syrinx {

/// "up 75%": requests are taken, and three quarters are free (ServerLoad::free; never 0 %: that
/// would say to send nothing). "down #loading" and "down #draining":
/// they are not. Not "drain", which a balancer keeps until it gets "ready", and that
/// would undo what its operator has set by hand.
std::string agent_answer(const ModelTable* models, bool draining);

class AgentPort {
 public:
  /// Answers "down" until open(). `port` 0: any free one. Throws LoadError when it cannot listen.
  AgentPort(const std::string& host, int port);
  ~AgentPort();
  AgentPort(const AgentPort&) = delete;
  AgentPort& operator=(const AgentPort&) = delete;

  int port() const;
  void open(std::shared_ptr<const ModelTable> models);
  /// The server takes nothing new from now on.
  void drain();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
