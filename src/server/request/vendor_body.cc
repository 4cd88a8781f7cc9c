#include "server/request/vendor_body.h"

#include <utility>
#include <vector>

#include "audio/wav.h"
#include "base/check.h"
#include "server/request/fields.h"

namespace syrinx {
namespace {

constexpr std::string_view kElevenPath = "/v1/text-to-speech/";

void take_model(const JsonIn& message, JsonIn& fields) {
  const std::string model = string_at(message, "model_id").value_or("");
  if (!model.empty()) fields["model"] = model;
}

/// Copies the numbers `names` from the object `settings`.
void take_numbers(const JsonIn& message, const char* settings,
                  std::initializer_list<const char*> names, JsonIn& fields) {
  const auto at = message.find(settings);
  if (at == message.end() || !at->is_object()) return;
  for (const char* name : names) {
    if (const auto number = number_at(*at, name)) fields[name] = *number;
  }
}

std::optional<ApiError> read_elevenlabs(const JsonIn& message, const VendorCall& call,
                                        const Query& query, JsonIn& fields) {
  fields["input"] = string_at(message, "text").value_or("");
  fields["voice"] = call.voice;
  take_model(message, fields);
  take_numbers(message, "voice_settings", {"speed"}, fields);
  if (const auto seed = message.find("seed"); seed != message.end()) fields["seed"] = *seed;
  if (const auto language = string_at(message, "language_code")) {
    fields["language_hint"] = *language;
  }
  const std::string format = query.find("output_format").value_or("mp3_44100_128");
  if (!parse_output_format(format, fields)) {
    return bad_field("output_format", concat("Unknown format '", format,
                                             "'; use a format such as mp3_44100_128, pcm_24000, "
                                             "wav_24000, ulaw_8000 or opus_48000_64."));
  }
  // These APIs use WAV only for whole answers, because a WAV header has the length.
  if (call.answer == VendorCall::kTimes || fields["response_format"] == "wav") {
    fields["stream"] = false;
  }
  return {};
}

std::optional<ApiError> read_cartesia(const JsonIn& message, VendorCall& call, JsonIn& fields) {
  fields["input"] = string_at(message, "transcript").value_or("");
  take_model(message, fields);
  take_numbers(message, "generation_config", {"speed", "volume"}, fields);
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
  call.context_id = string_at(message, "context_id").value_or("");
  call.words = true_at(message, "add_timestamps");
  const bool events = call.answer == VendorCall::kEvents;
  if (container != "raw" && (events || (container != "wav" && container != "mp3"))) {
    return bad_field("output_format.container", events ? "'container' must be raw for events."
                                                       : "'container' must be raw, wav or mp3.");
  }
  fields["response_format"] = container == "raw" ? "pcm" : container;
  if (container == "mp3") return {};
  const std::string encoding = string_at(*format, "encoding").value_or("");
  if (!sample_coding(encoding)) {
    return bad_field("output_format.encoding",
                     "'encoding' must be pcm_s16le, pcm_f32le, pcm_mulaw or pcm_alaw.");
  }
  fields["encoding"] = encoding;
  return {};
}

/// Parses a number in the query: an integer or a fraction, as in JSON.
std::optional<JsonIn> number_in(const std::string& text) {
  const JsonIn number = JsonIn::parse(text, nullptr, false);
  if (!number.is_number()) return {};
  return number;
}

std::optional<ApiError> read_deepgram(const JsonIn& message, const Query& query, JsonIn& fields) {
  fields["input"] = string_at(message, "text").value_or("");
  // Deepgram's field "model" is the name of a voice.
  const std::string model = query.find("model").value_or("");
  if (!model.empty()) fields["voice"] = model;
  for (const char* name : {"sample_rate", "speed"}) {
    const auto given = query.find(name);
    if (!given) continue;
    const auto number = number_in(*given);
    if (!number) return bad_field(name, concat("'", name, "' must be a number."));
    fields[name] = *number;
  }
  const std::string encoding = query.find("encoding").value_or("mp3");
  const std::string container = query.find("container").value_or("");
  if (sample_coding(encoding)) {
    if (!container.empty() && container != "wav" && container != "none") {
      return bad_field("container", concat("'container' must be wav or none for ", encoding, "."));
    }
    fields["response_format"] = container == "none" ? "pcm" : "wav";
    if (encoding != "linear16") {
      fields["encoding"] = encoding;
      if (!fields.contains("sample_rate")) fields["sample_rate"] = 8000;
    }
    return {};
  }
  for (const char* name : {"mp3", "opus", "flac", "aac"}) {
    if (encoding != name) continue;
    fields["response_format"] = encoding;
    return {};
  }
  return bad_field("encoding", "'encoding' must be linear16, mulaw, alaw, mp3, opus, flac or aac.");
}

/// Copies all fields: Kokoro-FastAPI has OpenAI's fields and a few fields of other speech APIs.
void read_kokoro(const JsonIn& message, VendorCall& call, JsonIn& fields) {
  fields = message;
  const auto is = [&](const char* name) {
    const auto at = message.find(name);
    return at == message.end() || !at->is_boolean() || at->get<bool>();
  };
  call.words = is("return_timestamps");
  fields.erase("word_timestamps");
  if (is("stream")) {
    fields["stream_format"] = "sse";
  } else {
    fields.erase("stream_format");
  }
}

using FieldNames = std::vector<std::pair<std::string_view, std::string_view>>;

/// Returns native names of fields, each with the vendor's name.
FieldNames field_names(VendorCall::Vendor vendor) {
  switch (vendor) {
    case VendorCall::kElevenLabs:
      return {{"input", "text"},
              {"model", "model_id"},
              {"voice", "voice_id"},
              {"speed", "voice_settings.speed"}};
    case VendorCall::kCartesia:
      return {{"input", "transcript"},
              {"model", "model_id"},
              {"speed", "generation_config.speed"},
              {"volume", "generation_config.volume"},
              {"sample_rate", "output_format.sample_rate"}};
    case VendorCall::kDeepgram:
      return {{"input", "text"}, {"voice", "model"}};
    case VendorCall::kKokoro:
      return {};
  }
  return {};
}

}  // namespace

std::optional<VendorCall> find_vendor_call(std::string_view path) {
  if (path == "/tts/bytes") return VendorCall{VendorCall::kCartesia};
  if (path == "/tts/sse") return VendorCall{VendorCall::kCartesia, VendorCall::kEvents};
  if (path == "/v1/speak") return VendorCall{VendorCall::kDeepgram};
  if (path == "/dev/captioned_speech") {
    return VendorCall{VendorCall::kKokoro, VendorCall::kCaptions};
  }
  if (!path.starts_with(kElevenPath)) return {};
  path.remove_prefix(kElevenPath.size());
  const auto cut = [&path](std::string_view end) {
    const bool there = path.ends_with(end);
    if (there) path.remove_suffix(end.size());
    return there;
  };
  const bool times = cut("/with-timestamps");
  const bool stream = cut("/stream");
  if (path.empty() || path.find('/') != std::string_view::npos) return {};
  return VendorCall{VendorCall::kElevenLabs,
                    !times   ? VendorCall::kAudio
                    : stream ? VendorCall::kTimesByPiece
                             : VendorCall::kTimes,
                    url_decode(path)};
}

std::variant<std::string, ApiError> native_body(VendorCall& call, std::string_view query,
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
      fault = read_cartesia(*message, call, fields);
      break;
    case VendorCall::kDeepgram:
      fault = read_deepgram(*message, parameters, fields);
      break;
    case VendorCall::kKokoro:
      read_kokoro(*message, call, fields);
      break;
  }
  if (fault) return std::move(*fault);
  if (call.answer == VendorCall::kEvents || call.answer == VendorCall::kTimesByPiece) {
    fields["stream_format"] = "sse";  // JSON for each piece, in the vendor's form
  }
  return dump_json(fields);
}

void name_vendor_fields(const VendorCall& call, ApiError& error) {
  for (const auto& [native, vendors] : field_names(call.vendor)) {
    if (error.param != native) continue;
    error.param = vendors;
    const std::string quoted = concat("'", native, "'");
    const size_t at = error.message.find(quoted);
    if (at != std::string::npos)
      error.message.replace(at, quoted.size(), concat("'", vendors, "'"));
    return;
  }
}

}  // namespace syrinx
