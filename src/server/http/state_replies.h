// Replies about the server's state: liveness, readiness, load and counters. Free functions; any
// thread.
#pragma once

#include "server/http/server_view.h"
#include "server/request/reply.h"

namespace syrinx {

/// Answers GET /health, /metrics (for Prometheus), /live and /ready.
Reply health_reply(const ServerView& server);
Reply metrics_reply(const ServerView& server);
Reply live_reply(const ServerView& server);
Reply ready_reply(const ServerView& server);

}  // namespace syrinx
