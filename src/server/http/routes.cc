#include "server/http/routes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "server/dialects/dialect.h"
#include "server/http/model_replies.h"
#include "server/http/openapi.h"
#include "server/http/playground.h"
#include "server/http/state_replies.h"
#include "server/net/multipart.h"
#include "server/request/fields.h"
#include "server/voices/vendor_voices.h"
#include "server/voices/voice_objects.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSpeechPath = "/v1/audio/speech";
constexpr std::string_view kBatchPath = "/v1/audio/speech/batch";
constexpr std::string_view kChatPath = "/v1/chat/completions";
constexpr std::string_view kCompletionPath = "/v1/completions";
constexpr std::string_view kTranscriptionPath = "/v1/audio/transcriptions";
constexpr std::string_view kTranslationPath = "/v1/audio/translations";
constexpr std::string_view kModelPrefix = "/v1/models/";
constexpr std::string_view kVoicesPath = "/v1/audio/voices";
constexpr std::string_view kVoicePrefix = "/v1/audio/voices/";
constexpr std::string_view kConsentsPath = "/v1/audio/voice_consents";
constexpr std::string_view kConsentPrefix = "/v1/audio/voice_consents/";

Reply wrong_method(const RequestHead& head, const char* allowed) {
  Reply reply = reply_of(
      {.status = 405,
       .message = concat("'", head.path, "' does not accept ", head.method, "; use ", allowed, "."),
       .code = "method_not_allowed"});
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

/// Returns the first value of `name` in "a=1&b=2".
std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return percent_decoded(pair.substr(equals + 1));
    }
  }
  return {};
}

Reply answer_home(const RequestHead&, const ServerView& server) {
  Reply reply;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = "Syrinx: a streaming server for speech language models.\n";
  if (server.models != nullptr) {
    for (const auto& model : server.models->list())
      reply.body += concat("Model: ", model.name, "\n");
  }
  reply.body +=
      "\n"
      "GET  /                  in a browser: the playground\n"
      "POST /v1/audio/speech   text in, audio out while it is being made (as OpenAI's)\n"
      "WS   /v1/audio/speech/stream   send text while audio is returned\n"
      "WS   /v1/audio/speech/realtime   turns of one conversation (as SGLang-Omni's)\n"
      "WS   /v1/realtime       conversations by voice (as OpenAI's)\n"
      "POST /v1/audio/speech/batch   up to 32 texts, all audio in one answer\n"
      "POST /v1/text-to-speech/{voice}   speech for ElevenLabs' clients\n"
      "POST /tts/bytes         speech for Cartesia's clients (also /tts/sse)\n"
      "POST /v1/speak          speech for Deepgram's clients\n"
      "POST /dev/captioned_speech   speech with word times, for Kokoro-FastAPI's clients\n"
      "POST /v1/chat/completions   messages in, text out, for text models (as OpenAI's)\n"
      "POST /v1/completions    a text in, its continuation out\n"
      "POST /v1/audio/transcriptions   a recording in, its words out (as OpenAI's)\n"
      "POST /v1/audio/translations   a recording in, English text out (as OpenAI's)\n"
      "GET  /v1/voices         the voices, for ElevenLabs' clients (also /v2/voices)\n"
      "GET  /voices            the voices, for Cartesia's clients\n"
      "GET  /v1/models         the models\n"
      "GET  /v1/audio/models   the models, for clients that list speech models\n"
      "GET  /v1/audio/voices   the voices (?model=NAME)\n"
      "POST /v1/audio/voices   store a recording as a voice, if a model can clone\n"
      "GET  /openapi.json      a description of all paths for programs\n"
      "GET  /health            state and load of the server\n"
      "GET  /live              200 while the process runs\n"
      "GET  /metrics           counters for Prometheus\n"
      "GET  /ready             200 while requests are accepted, 503 while loading, stopping or "
      "without a stage\n";
  return reply;
}

Speaker speaker_of(const ServerView& server, const Backend& backend) {
  if (server.voices != nullptr) return server.voices->speaker(backend);
  return {backend.info(), backend.voice_encoder()};
}

/// Lists the voices of the model that the query names, or of the first model.
Reply answer_voices(const RequestHead& head, const ServerView& server) {
  const std::string name = query_value(head.query, "model").value_or("");
  const auto model = server.models->look_up(name);
  if (!model) return no_such_model(name);
  if (!model->backend) return json_reply({{"voices", ordered_json::array()}});
  const Speaker speaker = speaker_of(server, *model->backend);
  const bool names_alone = query_value(head.query, "legacy") == "true";  // Kokoro-FastAPI's option
  ordered_json voices = ordered_json::array(), uploaded = ordered_json::array();
  for (const ListedVoice& voice : list_voices(speaker, false)) {
    if (names_alone) {
      voices.push_back(voice.id);
      continue;
    }
    voices.push_back({{"id", voice.id},
                      {"name", voice.name},
                      {"description", voice.description},
                      {"default", voice.is_default}});
    if (voice.kept) uploaded.push_back(stored_voice_object(*voice.kept));
  }
  ordered_json out = {{"voices", std::move(voices)}};
  if (speaker.store != nullptr && !names_alone) out["uploaded_voices"] = std::move(uploaded);
  return json_reply(out);
}

/// Answers other vendors' clients, for whom the first model speaks.
Reply answer_vendor(const RequestHead& head, const ServerView& server) {
  if (head.method != "GET" && head.method != "HEAD") return wrong_method(head, "GET, HEAD");
  if (server.models == nullptr) return reply_of(unavailable("The model is still being loaded."));
  const std::shared_ptr<Backend> first = server.models->first();
  if (!first) return reply_of(to_api_error(server.models->not_loaded("")));
  return answer_vendor_voices(head.path, head.query, speaker_of(server, *first));
}

Reply answer_consents(const VoiceStore* store) {
  ordered_json list = ordered_json::array();
  if (store != nullptr) {
    for (const StoredConsent& consent : store->consents()) list.push_back(consent_object(consent));
  }
  return json_reply({{"object", "list"}, {"data", list}, {"has_more", false}});
}

Reply answer_consent(const VoiceStore* store, const std::string& id) {
  if (const auto consent = store == nullptr ? std::nullopt : store->find_consent(id)) {
    return json_reply(consent_object(*consent));
  }
  return reply_of({.status = 404,
                   .message = concat("There is no consent '", id.substr(0, 200), "'."),
                   .param = "consent",
                   .code = "consent_not_found"});
}

/// Returns the refusal to store a voice or a consent.
Reply refuse_cloning() {
  return reply_of({.status = 400,
                   .message =
                       "No model of this server can clone a voice, so no voice can be added; "
                       "GET /v1/audio/voices lists the existing voices.",
                   .code = "unsupported_operation"});
}

/// Returns why a voice cannot be deleted, or nothing.
std::optional<Reply> refuse_delete_voice(const std::string& wanted, const ServerView& server) {
  for (const auto& model : server.models->list()) {
    if (!model.backend) continue;
    for (const VoiceInfo& voice : model.backend->info().speech.voices) {
      if (voice.id != wanted) continue;
      return reply_of({.status = 403,
                       .message = concat("The voice '", wanted, "' belongs to the model '",
                                         model.name, "' and cannot be deleted."),
                       .param = "voice",
                       .code = "voice_is_built_in"});
    }
  }
  const VoiceStore* store = server.voices == nullptr ? nullptr : server.voices->store();
  if (store != nullptr && store->find(wanted)) return {};
  return reply_of({.status = 404,
                   .message = concat("There is no voice '", wanted.substr(0, 200), "'."),
                   .param = "voice",
                   .code = "voice_not_found"});
}

Reply answer_openapi(const RequestHead&, const ServerView&) {
  Reply reply;
  reply.body = openapi_document();
  return reply;
}

/// Answers GET /v1/models; ElevenLabs has another list at this path.
Reply answer_models(const RequestHead& head, const ServerView& server) {
  return head.elevenlabs ? elevenlabs_models_reply(server) : models_reply(server);
}

template <Reply (*reply)(const ServerView&)>
Reply of_server(const RequestHead&, const ServerView& server) {
  return reply(server);
}

struct Get {
  std::string_view path;
  Reply (*answer)(const RequestHead&, const ServerView&);
  enum { kOpen, kClients, kMetrics } keys;  ///< which keys are required
  bool needs_model;                         ///< answer 503 while the model is being loaded
};
constexpr std::array<Get, 9> kGets = {{
    {"/", answer_home, Get::kOpen, false},
    {"/health", of_server<health_reply>, Get::kOpen, false},
    {"/live", of_server<live_reply>, Get::kOpen, false},
    {"/metrics", of_server<metrics_reply>, Get::kMetrics, false},
    {"/ready", of_server<ready_reply>, Get::kOpen, false},
    {"/openapi.json", answer_openapi, Get::kOpen, false},
    {"/v1/models", answer_models, Get::kClients, true},
    {"/v1/audio/models", of_server<audio_models_reply>, Get::kClients, true},
    {"/v1/audio/voices", answer_voices, Get::kClients, true},
}};

Reply unauthorized(
    const char* message = "This server requires an API key: Authorization: Bearer <key>.") {
  return reply_of({.status = 401, .message = message, .code = "invalid_api_key"});
}

/// Returns whether the content type is JSON. This keeps out pages of other origins: a browser sends
/// JSON only after a preflight request, which the server refuses.
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

/// Answers "/": browsers get the page, other clients get a list in plain text.
std::optional<Reply> answer_playground(const RequestHead& head) {
  if (head.method != "GET" && head.method != "HEAD") return {};
  if (head.path == "/" && head.accept.find("text/html") == std::string_view::npos) return {};
  return playground_reply(head.path);
}

std::optional<Reply> refuse_speech(const RequestHead& head, const ServerView& server) {
  if (head.method != "POST") return wrong_method(head, "POST");
  if (!is_json(head.content_type)) {
    return reply_of({.status = 415,
                     .message = "Send the request as JSON: Content-Type: application/json.",
                     .code = "unsupported_media_type"});
  }
  if (server.draining) return reply_of(unavailable("The server is stopping."));
  if (server.models == nullptr) return reply_of(unavailable("The model is still being loaded."));
  return {};
}

std::optional<Reply> refuse_transcription(const RequestHead& head, const ServerView& server) {
  if (head.method != "POST") return wrong_method(head, "POST");
  if (!may_transcribe(server)) {
    if (server.models == nullptr) return reply_of(unavailable("The model is still being loaded."));
    return reply_of({.status = 400,
                     .message =
                         "This server has no recogniser: start it with --ears NAME or with a "
                         "model that accepts recordings.",
                     .param = "model",
                     .code = "unsupported_operation"});
  }
  if (!is_multipart(head.content_type)) {
    return reply_of({.status = 415,
                     .message = "Send the recording as a form: Content-Type: multipart/form-data.",
                     .code = "unsupported_media_type"});
  }
  if (server.draining) return reply_of(unavailable("The server is stopping."));
  return {};
}

Reply refuse_voice_change() {
  return reply_of({.status = 403,
                   .message = "Clients of this server may not add or remove voices.",
                   .code = "voice_uploads_are_off"});
}

/// Routes a request whose path belongs to stored voices or consents.
Route route_voices(const RequestHead& head, const ServerView& server) {
  const VoiceStore* store = server.voices == nullptr ? nullptr : server.voices->store();
  const bool consents = head.path.starts_with(kConsentsPath);
  const bool adds = head.path == kVoicesPath || head.path == kConsentsPath;
  if (server.models == nullptr) return reply_of(unavailable("The model is still being loaded."));
  if (adds && head.method == "POST") {
    if (!may_clone(server)) return refuse_cloning();
    if (store == nullptr) {
      return reply_of({.status = 400,
                       .message = "This server stores no voices: it has no directory for them "
                                  "(syrinx serve --voice-store).",
                       .code = "unsupported_operation"});
    }
    if (!server.voice_uploads) return refuse_voice_change();
    if (server.draining) return reply_of(unavailable("The server is stopping."));
    if (!is_multipart(head.content_type)) {
      return reply_of({.status = 415,
                       .message = "Send the recording as a form: Content-Type: "
                                  "multipart/form-data.",
                       .code = "unsupported_media_type"});
    }
    return VoiceRoute{.kind = consents ? VoiceRoute::kAddConsent : VoiceRoute::kAdd};
  }
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (adds) {  // kGets has answered GET of the voices
    return reads ? answer_consents(store) : wrong_method(head, "GET, HEAD, POST");
  }
  const std::string_view prefix = consents ? kConsentPrefix : kVoicePrefix;
  const std::string name = percent_decoded(head.path.substr(prefix.size()));
  if (consents && reads) return answer_consent(store, name);
  if (head.method != "DELETE") {
    return wrong_method(head, consents ? "GET, HEAD, DELETE" : "DELETE");
  }
  if (consents && (store == nullptr || !store->find_consent(name))) {
    return answer_consent(store, name);
  }
  if (!consents) {
    if (auto refusal = refuse_delete_voice(name, server)) return std::move(*refusal);
  }
  if (!server.voice_uploads) return refuse_voice_change();
  return VoiceRoute{.kind = consents ? VoiceRoute::kRemoveConsent : VoiceRoute::kRemove,
                    .name = name};
}

}  // namespace

Route route(const RequestHead& head, const ServerView& server) {
  if (server.access != nullptr) {
    if (auto refusal = refuse_access(*server.access, head.browser)) return reply_of(*refusal);
    if (head.method == "OPTIONS") {
      if (auto answer = answer_preflight(*server.access, head.browser)) return std::move(*answer);
    }
  }
  if (auto page = answer_playground(head)) return std::move(*page);
  const bool admitted = server.keys == nullptr || server.keys->admits(head.authorization);
  for (const Get& get : kGets) {
    if (head.path != get.path || (head.method == "POST" && head.path == kVoicesPath)) continue;
    if (get.keys == Get::kClients && !admitted) return unauthorized();
    if (get.keys == Get::kMetrics && server.metrics_keys != nullptr &&
        !server.metrics_keys->admits(head.authorization)) {
      return unauthorized("/metrics requires a separate key: Authorization: Bearer <key>.");
    }
    if (head.method != "GET" && head.method != "HEAD") {
      return wrong_method(head, head.path == kVoicesPath ? "GET, HEAD, POST" : "GET, HEAD");
    }
    if (get.needs_model && server.models == nullptr) {
      return reply_of(unavailable("The model is still being loaded."));
    }
    return get.answer(head, server);
  }
  if (!admitted) return unauthorized();
  if (head.path == kSpeechPath || head.path == kBatchPath) {
    if (auto refusal = refuse_speech(head, server)) return std::move(*refusal);
    return SpeechRoute{.batch = head.path == kBatchPath};
  }
  if (head.path == kChatPath || head.path == kCompletionPath) {
    if (auto refusal = refuse_speech(head, server)) return std::move(*refusal);
    return SpeechRoute{.chat = head.path == kChatPath ? ChatKind::kChat : ChatKind::kCompletion};
  }
  if (head.path == kTranscriptionPath || head.path == kTranslationPath) {
    if (auto refusal = refuse_transcription(head, server)) return std::move(*refusal);
    return TranscriptionRoute{.translate = head.path == kTranslationPath};
  }
  if (auto vendor = find_vendor_call(head.path)) {
    if (auto refusal = refuse_speech(head, server)) return std::move(*refusal);
    return SpeechRoute{.vendor = std::move(vendor)};
  }
  if (is_vendor_voices(head.path)) return answer_vendor(head, server);
  if (head.path == kVoicesPath || head.path == kConsentsPath ||
      head.path.starts_with(kVoicePrefix) || head.path.starts_with(kConsentPrefix)) {
    return route_voices(head, server);
  }
  if (head.path.starts_with(kModelPrefix)) {
    if (head.method != "GET" && head.method != "HEAD") return wrong_method(head, "GET, HEAD");
    if (server.models == nullptr) return reply_of(unavailable("The model is still being loaded."));
    return model_reply(percent_decoded(head.path.substr(kModelPrefix.size())), server);
  }
  if (is_websocket_path(head.path)) {
    // Some proxies forward a WebSocket request without its upgrade.
    Reply reply = reply_of({.status = 426,
                            .message = concat("'", head.path.substr(0, 200),
                                              "' is a WebSocket, and this request came without "
                                              "'Upgrade: websocket' (a proxy must pass it on)."),
                            .code = "upgrade_required"});
    reply.headers.emplace_back("Upgrade", "websocket");
    return reply;
  }
  return reply_of({.status = 404,
                   .message = concat("There is no path '", head.path.substr(0, 200),
                                     "'; GET / lists all paths."),
                   .code = "not_found"});
}

}  // namespace syrinx
