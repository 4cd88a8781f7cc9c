#include "server/http/server_view.h"

#include <algorithm>
#include <vector>

#include "tensor/device_health.h"

namespace syrinx {
namespace {

/// Returns whether the first model has a remote stage without any connected process.
bool lacks_stage(const ServerView& server) {
  if (server.models == nullptr) return false;
  const std::shared_ptr<Backend> first = server.models->first();
  if (!first) return false;  // the next request loads the model
  const std::vector<RemoteNode> nodes = first->remote_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const RemoteNode& node) {
    return std::none_of(nodes.begin(), nodes.end(), [&](const RemoteNode& other) {
      return other.node == node.node && other.up;
    });
  });
}

}  // namespace

bool is_ready(const ServerView& server) {
  return server.models != nullptr && !server.draining && !lacks_stage(server) &&
         lost_device().empty();
}

const char* state_name(const ServerView& server) {
  if (server.draining) return "draining";
  if (!lost_device().empty()) return "lost";
  if (lacks_stage(server)) return "waiting";
  return server.models == nullptr ? "loading" : "ready";
}

bool may_clone(const ServerView& server) {
  if (server.models == nullptr) return false;
  const auto models = server.models->list();
  return std::any_of(models.begin(), models.end(), [](const ModelTable::Entry& model) {
    return !model.backend || model.backend->voice_encoder() != nullptr;
  });
}

bool may_hear(const ServerView& server) {
  if (server.models == nullptr) return false;
  const auto models = server.models->list();
  return std::any_of(models.begin(), models.end(), [](const ModelTable::Entry& model) {
    return !model.backend || model.backend->info().hearing.seconds > 0;
  });
}

bool may_transcribe(const ServerView& server) {
  if (server.ears != nullptr && !server.ears->list().empty()) return true;
  if (server.models == nullptr) return false;
  const auto models = server.models->list();
  return std::any_of(models.begin(), models.end(), [](const ModelTable::Entry& model) {
    return !model.backend || model.backend->recogniser() != nullptr;
  });
}

}  // namespace syrinx
