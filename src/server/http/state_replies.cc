#include "server/http/state_replies.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/models/server_load.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

ordered_json engine_object(const Backend& backend) {
  const EngineStats stats = backend.stats();
  return {{"requests", stats.requests},
          {"running", stats.running},
          {"capacity_streams", stats.capacity_streams},
          {"seats_limit", stats.seats_limit},
          {"slowdown", stats.slowdown},
          {"accepted", stats.accepted},
          {"finished", stats.finished},
          {"audio_s", stats.audio_s},
          {"ar_steps", stats.ar_steps},
          {"chunk_steps", stats.chunk_steps},
          {"preemptions", stats.preemptions},
          {"pages", stats.pages},
          {"pages_free", stats.pages_free}};
}

/// Returns the stages of a model that run in other processes.
ordered_json stages_object(const std::vector<RemoteNode>& nodes) {
  ordered_json out = ordered_json::array();
  for (const RemoteNode& node : nodes) {
    out.push_back({{"stage", node.node},
                   {"at", node.where},
                   {"up", node.up},
                   {"trouble", node.trouble},
                   {"connections", node.connections},
                   {"batches", node.batches},
                   {"lost_batches", node.lost_batches}});
  }
  return out;
}

void write_stages(const std::vector<ModelTable::Entry>& models, std::string& out) {
  struct Metric {
    const char* name;
    const char* kind;
    const char* help;
    double (*of)(const RemoteNode&);
  };
  constexpr Metric kMetrics[] = {
      {"up", "gauge", "1 while the process of the stage is connected.",
       [](const RemoteNode& n) { return n.up ? 1.0 : 0.0; }},
      {"connections_total", "counter", "Connections to the process of the stage.",
       [](const RemoteNode& n) { return static_cast<double>(n.connections); }},
      {"batches_total", "counter", "Batches that the process ran.",
       [](const RemoteNode& n) { return static_cast<double>(n.batches); }},
      {"lost_batches_total", "counter", "Batches that were lost with a connection to the process.",
       [](const RemoteNode& n) { return static_cast<double>(n.lost_batches); }},
      {"sent_bytes_total", "counter", "Bytes sent to the process.",
       [](const RemoteNode& n) { return static_cast<double>(n.sent_bytes); }},
      {"received_bytes_total", "counter", "Bytes received from the process.",
       [](const RemoteNode& n) { return static_cast<double>(n.received_bytes); }},
  };
  for (const Metric& metric : kMetrics) {
    bool first = true;
    for (const ModelTable::Entry& model : models) {
      if (!model.backend) continue;
      for (const RemoteNode& node : model.backend->remote_nodes()) {
        if (first) {
          out += concat("# HELP syrinx_remote_stage_", metric.name, " ", metric.help,
                        "\n# TYPE syrinx_remote_stage_", metric.name, " ", metric.kind, "\n");
        }
        first = false;
        out += concat("syrinx_remote_stage_", metric.name, "{model=\"", model.name, "\",stage=\"",
                      node.node, "\",at=\"", node.where, "\"} ", metric.of(node), "\n");
      }
    }
  }
}

/// Returns where recordings are decoded, and if in children, their confinement and number so far.
ordered_json decoding_object(const DecodeHelper* decoder) {
  if (decoder == nullptr) return {{"where", "server"}};
  return {{"where", "children"},
          {"confinement", decoder->confinement()},
          {"recordings", decoder->begun()}};
}

ordered_json predictions_object(const PredictionCounters& sum) {
  return {{"turns", sum.turns.value()},
          {"ready", sum.ready.value()},
          {"drafted_tokens", sum.drafted.value()},
          {"accepted_tokens", sum.accepted.value()},
          {"wasted_tokens", sum.wasted.value()},
          {"spoken_ahead", sum.spoken_ahead.value()},
          {"spoken_in_vain", sum.spoken_in_vain.value()},
          {"saved_s", sum.saved_s.value()}};
}

}  // namespace

/// Answers GET /health. "engine" describes the first model while it is loaded; "models" all models.
Reply health_reply(const ServerView& server) {
  ordered_json out = {{"status", "ok"},
                      {"state", state_name(server)},
                      {"uptime_s", server.uptime_s},
                      {"connections", server.connections},
                      {"streams", server.streams},
                      {"requests", server.requests},
                      {"decoding", decoding_object(server.decoder)}};
  if (server.predictions != nullptr) out["predictions"] = predictions_object(*server.predictions);
  if (server.models == nullptr) return json_reply(out);
  if (const auto first = server.models->first()) out["engine"] = engine_object(*first);
  ordered_json models = ordered_json::array();
  for (const ModelTable::Entry& model : server.models->list()) {
    models.push_back({{"id", model.name}, {"loaded", model.backend != nullptr}});
    if (!model.trouble.empty()) models.back()["trouble"] = model.trouble;
    if (!model.backend) continue;
    models.back()["engine"] = engine_object(*model.backend);
    const std::vector<RemoteNode> nodes = model.backend->remote_nodes();
    if (!nodes.empty()) models.back()["remote_stages"] = stages_object(nodes);
  }
  out["models"] = std::move(models);
  return json_reply(out);
}

/// Answers GET /metrics in Prometheus' text format: the server's own counters, then the engine's.
Reply metrics_reply(const ServerView& server) {
  Reply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  const auto add = [&](const char* name, const char* type, const char* help, double value) {
    reply.body += concat("# HELP syrinx_http_", name, " ", help, "\n# TYPE syrinx_http_", name, " ",
                         type, "\nsyrinx_http_", name, " ", value, "\n");
  };
  add("connections", "gauge", "Open connections.", server.connections);
  add("streams", "gauge", "Running speech requests.", server.streams);
  add("requests_total", "counter", "HTTP requests.", static_cast<double>(server.requests));
  add("log_lines_dropped_total", "counter",
      "Log lines that were dropped because the log was not read or not writable.",
      static_cast<double>(server.lost_lines));
  add("uptime_seconds", "gauge", "Seconds since the server began to listen.", server.uptime_s);
  add("ready", "gauge", "1 while speech requests are accepted.", is_ready(server) ? 1 : 0);
  std::vector<LabelledMetrics> lists;
  if (server.predictions != nullptr) lists.push_back({"", &server.predictions->all});
  if (server.turns != nullptr) lists.push_back({"", &server.turns->all});
  if (server.models == nullptr) {
    write_prometheus(lists, reply.body);
    return reply;
  }
  const std::vector<ModelTable::Entry> models = server.models->list();
  const ServerLoad load = load_of(*server.models);  // also updates the predicted wait
  for (const ModelTable::Entry& model : models) {
    if (!model.backend) continue;
    if (const auto* engine = model.backend->metrics()) engine->append_to(lists, model.name);
    if (const auto* voices = model.backend->voice_metrics())
      lists.push_back({metric_label("model", model.name), &voices->all});
  }
  write_prometheus(lists, reply.body);
  write_stages(models, reply.body);
  // Metrics that Kubernetes' inference gateway expects of every server, with the names it uses.
  const auto known = [&](const char* name, const char* help, double value) {
    reply.body += concat("# HELP vllm:", name, " ", help, "\n# TYPE vllm:", name,
                         " gauge\nvllm:", name, " ", value, "\n");
  };
  known("num_requests_running", "Requests of all models that have a seat.", load.running);
  known("num_requests_waiting", "Requests in the queues of all models.", load.waiting);
  known("kv_cache_usage_perc", "Share of the KV pages in use, from 0 to 1.", load.cache_used);
  return reply;
}

Reply live_reply(const ServerView&) { return json_reply({{"status", "ok"}}); }

Reply ready_reply(const ServerView& server) {
  Reply reply = json_reply({{"status", state_name(server)}}, is_ready(server) ? 200 : 503);
  if (!is_ready(server)) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

}  // namespace syrinx
