#include "server/dialects/dialect.h"

#include "server/dialects/dialects.h"
#include "server/request/fields.h"

namespace syrinx {
namespace {

constexpr std::string_view kNative = "/v1/audio/speech/stream";
constexpr std::string_view kSglang = "/v1/audio/speech/realtime";
constexpr std::string_view kElevenLabs = "/v1/text-to-speech/";
constexpr std::string_view kSingle = "/stream-input", kMulti = "/multi-stream-input";
constexpr std::string_view kCartesia = "/tts/websocket", kDeepgram = "/v1/speak";

/// Returns the voice in /v1/text-to-speech/VOICE/END; empty for another path.
std::string_view voice_in(std::string_view path, std::string_view end) {
  if (!path.starts_with(kElevenLabs) || !path.ends_with(end)) return {};
  const std::string_view rest = path.substr(kElevenLabs.size());
  if (rest.size() <= end.size()) return {};
  const std::string_view voice = rest.substr(0, rest.size() - end.size());
  return voice.find('/') == std::string_view::npos ? voice : std::string_view();
}

}  // namespace

const char* late_text_name(LateText late) {
  if (late == LateText::kToken) return "token";
  return late == LateText::kSentence ? "sentence" : "none";
}

bool is_websocket_path(std::string_view path) {
  return path == kRealtimePath || path == kNative || path == kSglang || path == kCartesia ||
         !voice_in(path, kSingle).empty() || !voice_in(path, kMulti).empty();
}

std::unique_ptr<Dialect> make_dialect(const DialectRequest& request, const Speaker& speaker,
                                      ApiError& error) {
  const Query query(request.query);
  if (request.path == kNative) return make_native_dialect(speaker, request.strict);
  if (request.path == kSglang) return make_sglang_dialect(request.id, speaker, request.strict);
  if (request.path == kCartesia) return make_cartesia_dialect(request.id, speaker);
  if (request.path == kDeepgram) return make_deepgram_dialect(query, request.id, speaker, error);
  for (const std::string_view end : {kSingle, kMulti}) {
    const std::string voice = url_decode(voice_in(request.path, end));
    if (voice.empty()) continue;
    return make_elevenlabs_dialect(voice, query, end == kMulti, speaker, error);
  }
  error = {.status = 404,
           .message = concat("No WebSocket has the path '", request.path, "'."),
           .code = "not_found"};
  return nullptr;
}

}  // namespace syrinx
