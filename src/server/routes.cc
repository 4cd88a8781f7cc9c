#include "server/routes.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "server/ws_dialect.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSpeechPath = "/v1/audio/speech";
constexpr std::string_view kModelPrefix = "/v1/models/";

Reply json_reply(const ordered_json& body, int status = 200) {
  const auto replace = ordered_json::error_handler_t::replace;
  return {.status = status, .body = body.dump(-1, ' ', false, replace) + "\n"};
}

bool ready(const ServerView& server) { return server.backend != nullptr && !server.draining; }

const char* state_name(const ServerView& server) {
  if (server.draining) return "draining";
  return server.backend == nullptr ? "loading" : "ready";
}

Reply answer_home(const ServerView& server) {
  Reply reply;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = "Syrinx: a streaming server for speech language models.\n";
  if (server.backend != nullptr) {
    reply.body += concat("Model: ", server.backend->info().model, "\n");
  }
  reply.body +=
      "\n"
      "POST /v1/audio/speech   text in, audio out while it is being made (as OpenAI's)\n"
      "WS   /v1/audio/speech/stream   text in while audio comes out\n"
      "GET  /v1/models         the loaded model\n"
      "GET  /v1/audio/models   the same, for clients that list speech models\n"
      "GET  /v1/audio/voices   its voices\n"
      "GET  /health            alive, and how busy\n"
      "GET  /live              alive\n"
      "GET  /metrics           counters for Prometheus\n"
      "GET  /ready             200 when requests are taken, 503 while loading or stopping\n";
  return reply;
}

Reply answer_health(const ServerView& server) {
  ordered_json out = {{"status", "ok"},
                      {"state", state_name(server)},
                      {"uptime_s", server.uptime_s},
                      {"connections", server.connections},
                      {"streams", server.streams},
                      {"requests", server.requests}};
  if (server.backend != nullptr) {
    const EngineStats stats = server.backend->stats();
    out["engine"] = {{"requests", stats.requests},
                     {"running", stats.running},
                     {"capacity_streams", stats.capacity_streams},
                     {"accepted", stats.accepted},
                     {"finished", stats.finished},
                     {"audio_s", stats.audio_s},
                     {"ar_steps", stats.ar_steps},
                     {"chunk_steps", stats.chunk_steps},
                     {"preemptions", stats.preemptions},
                     {"pages", stats.pages},
                     {"pages_free", stats.pages_free}};
  }
  return json_reply(out);
}

/// In Prometheus' text format: the server's own counters, then the engine's.
Reply answer_metrics(const ServerView& server) {
  Reply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  const auto add = [&](const char* name, const char* type, const char* help, double value) {
    reply.body += concat("# HELP syrinx_http_", name, " ", help, "\n# TYPE syrinx_http_", name, " ",
                         type, "\nsyrinx_http_", name, " ", value, "\n");
  };
  add("connections", "gauge", "Open connections.", server.connections);
  add("streams", "gauge", "Speech requests being answered.", server.streams);
  add("requests_total", "counter", "HTTP requests.", static_cast<double>(server.requests));
  add("uptime_seconds", "gauge", "Since the server began to listen.", server.uptime_s);
  add("ready", "gauge", "1 when speech requests are taken.", ready(server) ? 1 : 0);
  if (server.backend != nullptr) server.backend->write_metrics(reply.body);
  return reply;
}

Reply answer_live(const ServerView&) { return json_reply({{"status", "ok"}}); }

Reply answer_ready(const ServerView& server) {
  Reply reply = json_reply({{"status", state_name(server)}}, ready(server) ? 200 : 503);
  if (!ready(server)) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

ordered_json model_object(const PipelineInfo& info) {
  return {{"id", info.model},
          {"object", "model"},
          {"created", 0},
          {"owned_by", info.family},
          {"late_text", late_text_name(info.late_text)},
          {"word_times", info.word_times},
          {"sample_rate", info.sample_rate}};
}

Reply answer_models(const ServerView& server) {
  const ordered_json model = model_object(server.backend->info());
  return json_reply({{"object", "list"}, {"data", ordered_json::array({model})}});
}

/// GET /v1/models/NAME; names may hold slashes.
Reply answer_model(std::string_view name, const ServerView& server) {
  const PipelineInfo& info = server.backend->info();
  if (name == info.model) return json_reply(model_object(info));
  return reply_of({.status = 404,
                   .message = concat("The model '", name.substr(0, 200), "' is not loaded here."),
                   .param = "model",
                   .code = "model_not_found"});
}

Reply answer_audio_models(const ServerView& server) {
  return json_reply({{"models", {{{"id", server.backend->info().model}}}}});
}

Reply answer_voices(const ServerView& server) {
  const PipelineInfo& info = server.backend->info();
  ordered_json voices = ordered_json::array();
  for (const VoiceInfo& voice : info.voices) {
    voices.push_back({{"id", voice.id},
                      {"name", voice.id},
                      {"description", voice.description},
                      {"default", voice.id == info.default_voice}});
  }
  return json_reply({{"voices", voices}});
}

struct Get {
  std::string_view path;
  Reply (*answer)(const ServerView&);
  bool open;         ///< without a key
  bool needs_model;  ///< 503 while it is being loaded
};
constexpr std::array<Get, 8> kGets = {{
    {"/", answer_home, true, false},
    {"/health", answer_health, true, false},
    {"/live", answer_live, true, false},
    {"/metrics", answer_metrics, true, false},
    {"/ready", answer_ready, true, false},
    {"/v1/models", answer_models, false, true},
    {"/v1/audio/models", answer_audio_models, false, true},
    {"/v1/audio/voices", answer_voices, false, true},
}};

Reply wrong_method(const RequestHead& head, const char* allowed) {
  Reply reply = reply_of(
      {.status = 405,
       .message = concat("'", head.path, "' does not take ", head.method, "; use ", allowed, "."),
       .code = "method_not_allowed"});
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

Reply unauthorized() {
  return reply_of({.status = 401,
                   .message = "This server wants an API key: Authorization: Bearer <key>.",
                   .code = "invalid_api_key"});
}

/// Also keeps web pages of other origins out: a browser sends JSON only after asking, and nobody
/// answers that question with yes.
bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  if (content_type.size() < kJson.size()) return false;
  for (size_t i = 0; i < kJson.size(); ++i) {
    const char c = content_type[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kJson[i]) return false;
  }
  const std::string_view rest = content_type.substr(kJson.size());
  return rest.empty() || rest.front() == ';' || rest.front() == ' ';
}

std::optional<Reply> refuse_speech(const RequestHead& head, const ServerView& server) {
  if (head.method != "POST") return wrong_method(head, "POST");
  if (!is_json(head.content_type)) {
    return reply_of({.status = 415,
                     .message = "Send the request as JSON: Content-Type: application/json.",
                     .code = "unsupported_media_type"});
  }
  if (server.draining) return reply_of(unavailable("The server is stopping."));
  if (server.backend == nullptr) return reply_of(unavailable("The model is still being loaded."));
  return {};
}

}  // namespace

std::variant<Reply, SpeechRoute> route(const RequestHead& head, const ServerView& server) {
  if (server.access != nullptr) {
    if (auto refusal = refuse_access(*server.access, head.browser)) return reply_of(*refusal);
    if (head.method == "OPTIONS") {
      if (auto answer = answer_preflight(*server.access, head.browser)) return std::move(*answer);
    }
  }
  const bool admitted = server.keys == nullptr || server.keys->admits(head.authorization);
  for (const Get& get : kGets) {
    if (head.path != get.path) continue;
    if (!get.open && !admitted) return unauthorized();
    if (head.method != "GET" && head.method != "HEAD") return wrong_method(head, "GET, HEAD");
    if (get.needs_model && server.backend == nullptr) {
      return reply_of(unavailable("The model is still being loaded."));
    }
    return get.answer(server);
  }
  if (!admitted) return unauthorized();
  if (head.path == kSpeechPath) {
    if (auto refusal = refuse_speech(head, server)) return std::move(*refusal);
    return SpeechRoute{};
  }
  if (head.path.starts_with(kModelPrefix) && head.method == "GET" && server.backend != nullptr) {
    return answer_model(head.path.substr(kModelPrefix.size()), server);
  }
  return reply_of({.status = 404,
                   .message = concat("There is nothing at '", head.path.substr(0, 200),
                                     "'; GET / lists what there is."),
                   .code = "not_found"});
}

}  // namespace syrinx
