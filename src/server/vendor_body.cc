#include "server/vendor_body.h"

#include "base/check.h"
#include "server/ws_fields.h"

namespace syrinx {
namespace {

constexpr std::string_view kElevenPath = "/v1/text-to-speech/";

/// Names of models that only the vendor has mean the server's first one.
void take_model(const JsonIn& message, JsonIn& fields) {
  const std::string model = string_at(message, "model_id").value_or("");
  if (!model.empty() && !is_vendor_model(model)) fields["model"] = model;
}

void take_speed(const JsonIn& message, const char* settings, JsonIn& fields) {
  const auto at = message.find(settings);
  if (at == message.end() || !at->is_object()) return;
  if (const auto speed = number_at(*at, "speed")) fields["speed"] = *speed;
}

std::optional<ApiError> no_g711(SampleCoding coding, const char* param) {
  if (coding == SampleCoding::kS16) return {};
  return bad_field(param,
                   "Over HTTP raw audio is 16-bit; mu-law, A-law and 32-bit float come over the "
                   "WebSocket.");
}

std::optional<ApiError> read_elevenlabs(const JsonIn& message, const VendorCall& call,
                                        const Query& query, JsonIn& fields) {
  fields["input"] = string_at(message, "text").value_or("");
  fields["voice"] = call.voice;
  take_model(message, fields);
  take_speed(message, "voice_settings", fields);
  if (const auto seed = message.find("seed"); seed != message.end()) fields["seed"] = *seed;
  if (const auto language = string_at(message, "language_code")) {
    fields["language_hint"] = *language;
  }
  const std::string format = query.find("output_format").value_or("mp3_44100_128");
  const auto coding = parse_output_format(format, fields);
  if (!coding) {
    return bad_field("output_format", concat("There is no format '", format,
                                             "'; mp3_44100_128, pcm_24000, opus_48000_64 and "
                                             "others of these kinds are."));
  }
  return no_g711(*coding, "output_format");
}

std::optional<ApiError> read_cartesia(const JsonIn& message, JsonIn& fields) {
  fields["input"] = string_at(message, "transcript").value_or("");
  take_model(message, fields);
  take_speed(message, "generation_config", fields);
  if (const auto voice = message.find("voice"); voice != message.end()) {
    if (voice->is_string()) fields["voice"] = *voice;
    if (voice->is_object()) fields["voice"] = string_at(*voice, "id").value_or("");
  }
  if (const auto language = string_at(message, "language")) fields["language_hint"] = *language;
  const auto format = message.find("output_format");
  if (format == message.end() || !format->is_object()) {
    return bad_field("output_format", "'output_format' must be an object with a 'container'.");
  }
  const std::string container = string_at(*format, "container").value_or("");
  if (const auto rate = format->find("sample_rate"); rate != format->end()) {
    fields["sample_rate"] = *rate;
  }
  if (container == "wav" || container == "mp3") {
    fields["response_format"] = container;
    return {};
  }
  if (container != "raw") {
    return bad_field("output_format.container", "'container' must be raw, wav or mp3.");
  }
  fields["response_format"] = "pcm";
  const auto coding = parse_coding(string_at(*format, "encoding").value_or(""));
  if (!coding) {
    return bad_field("output_format.encoding", "'encoding' must be pcm_s16le for raw audio.");
  }
  return no_g711(*coding, "output_format.encoding");
}

/// A number in the query: an integer or a fraction, as JSON writes them.
std::optional<JsonIn> number_in(const std::string& text) {
  const JsonIn number = JsonIn::parse(text, nullptr, false);
  if (!number.is_number()) return {};
  return number;
}

std::optional<ApiError> read_deepgram(const JsonIn& message, const Query& query, JsonIn& fields) {
  fields["input"] = string_at(message, "text").value_or("");
  // Their model is a voice. Names of theirs mean the default one.
  const std::string model = query.find("model").value_or("");
  if (!model.empty() && !is_vendor_model(model)) fields["voice"] = model;
  for (const char* name : {"sample_rate", "speed"}) {
    const auto given = query.find(name);
    if (!given) continue;
    const auto number = number_in(*given);
    if (!number) return bad_field(name, concat("'", name, "' must be a number."));
    fields[name] = *number;
  }
  const std::string encoding = query.find("encoding").value_or("mp3");
  const std::string container = query.find("container").value_or("");
  if (encoding == "linear16") {
    if (!container.empty() && container != "wav" && container != "none") {
      return bad_field("container", "'container' must be wav or none for linear16.");
    }
    fields["response_format"] = container == "none" ? "pcm" : "wav";
    return {};
  }
  for (const char* name : {"mp3", "opus", "flac", "aac"}) {
    if (encoding != name) continue;
    fields["response_format"] = encoding;
    return {};
  }
  if (const auto coding = parse_coding(encoding)) return no_g711(*coding, "encoding");
  return bad_field("encoding", "'encoding' must be linear16, mp3, opus, flac or aac.");
}

}  // namespace

std::optional<VendorCall> find_vendor_call(std::string_view path) {
  if (path == "/tts/bytes") return VendorCall{VendorCall::kCartesia};
  if (path == "/v1/speak") return VendorCall{VendorCall::kDeepgram};
  if (!path.starts_with(kElevenPath)) return {};
  path.remove_prefix(kElevenPath.size());
  constexpr std::string_view stream = "/stream";
  if (path.ends_with(stream)) path.remove_suffix(stream.size());
  if (path.empty() || path.find('/') != std::string_view::npos) return {};
  return VendorCall{VendorCall::kElevenLabs, url_decode(path)};
}

std::variant<std::string, ApiError> native_body(const VendorCall& call, std::string_view query,
                                                std::string_view body) {
  const auto message = parse_object(body);
  if (!message) return bad_field("", "The body must be a JSON object.");
  JsonIn fields = JsonIn::object();
  const Query parameters(query);
  std::optional<ApiError> fault;
  switch (call.vendor) {
    case VendorCall::kElevenLabs:
      fault = read_elevenlabs(*message, call, parameters, fields);
      break;
    case VendorCall::kCartesia:
      fault = read_cartesia(*message, fields);
      break;
    case VendorCall::kDeepgram:
      fault = read_deepgram(*message, parameters, fields);
      break;
  }
  if (fault) return std::move(*fault);
  return dump_json(fields);
}

}  // namespace syrinx
