#include "server/realtime/beta_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

struct BetaName {
  std::string_view beta, today;
};
constexpr std::array<BetaName, 3> kBetaFormats = {
    {{"pcm16", "audio/pcm"}, {"g711_ulaw", "audio/pcmu"}, {"g711_alaw", "audio/pcma"}}};
constexpr std::array<BetaName, 3> kBetaDeltas = {
    {{"response.audio.", "response.output_audio."},
     {"response.audio_transcript.", "response.output_audio_transcript."},
     {"response.text.", "response.output_text."}}};

struct MovedField {
  const char *beta, *path;
};
constexpr auto kMovedFields = std::to_array<MovedField>({
    {"modalities", "/output_modalities"},
    {"max_response_output_tokens", "/max_output_tokens"},
    {"voice", "/audio/output/voice"},
    {"speed", "/audio/output/speed"},
    {"output_audio_format", "/audio/output/format"},
    {"input_audio_format", "/audio/input/format"},
    {"input_audio_transcription", "/audio/input/transcription"},
    {"input_audio_noise_reduction", "/audio/input/noise_reduction"},
    {"turn_detection", "/audio/input/turn_detection"},
});

/// Moves the beta's field `name` to the JSON pointer `path` in `fields`; makes missing objects.
void move_field(JsonIn& fields, const char* name, const char* path) {
  const auto at = fields.find(name);
  if (at == fields.end()) return;
  JsonIn value = std::move(*at);
  fields.erase(at);
  const JsonIn::json_pointer where(path);
  if (fields.contains(where)) return;
  for (auto above = where.parent_pointer(); !above.empty(); above = above.parent_pointer()) {
    if (fields.contains(above) && !fields.at(above).is_object())
      return;  // the code that reads the field refuses it
  }
  fields[where] = std::move(value);
}

/// Replaces the beta's name of a format by {"type": current name}; does not check the name.
void name_format(JsonIn& fields, const char* name) {
  const auto at = fields.find(name);
  if (at == fields.end() || !at->is_string()) return;
  std::string today = at->get<std::string>();
  for (const BetaName& each : kBetaFormats) {
    if (today == each.beta) today = each.today;
  }
  *at = {{"type", today}};
}

void nest(JsonIn& fields) {
  if (!fields.is_object()) return;
  name_format(fields, "input_audio_format");
  name_format(fields, "output_audio_format");
  for (const MovedField& each : kMovedFields) move_field(fields, each.beta, each.path);
}

/// Returns the value at `path`; null if it is absent.
JsonOut json_at(const JsonOut& json, const char* path) {
  const JsonOut::json_pointer where(path);
  return json.contains(where) ? json.at(where) : JsonOut();
}

JsonOut beta_format(const JsonOut& format) {
  for (const BetaName& each : kBetaFormats) {
    if (format.is_object() && format.value("type", "") == each.today) return each.beta;
  }
  return {};
}

/// Returns the modalities in the beta's form, which lists "text" beside "audio".
JsonOut beta_modalities(const JsonOut& today) {
  return today == JsonOut::array({"audio"}) ? JsonOut::array({"text", "audio"}) : today;
}

void rename_parts(JsonOut& item) {
  if (!item.contains("content")) return;
  for (JsonOut& part : item["content"]) {
    if (part["type"] == "output_text") part["type"] = "text";
    if (part["type"] == "output_audio") part["type"] = "audio";
  }
}

JsonOut flat_session(const JsonOut& session, bool transcribes) {
  JsonOut out = {{"id", session.at("id")},
                 {"object", session.at("object")},
                 {"input_audio_format", beta_format(json_at(session, "/audio/input/format"))},
                 {"input_audio_transcription", json_at(session, "/audio/input/transcription")},
                 {"input_audio_noise_reduction", json_at(session, "/audio/input/noise_reduction")},
                 {"turn_detection", json_at(session, "/audio/input/turn_detection")}};
  if (transcribes) return out;
  out["model"] = session.at("model");
  out["modalities"] = beta_modalities(session.at("output_modalities"));
  out["voice"] = json_at(session, "/audio/output/voice");
  out["speed"] = json_at(session, "/audio/output/speed");
  out["output_audio_format"] = beta_format(json_at(session, "/audio/output/format"));
  for (const char* same : {"instructions", "tools", "tool_choice", "temperature"}) {
    if (session.contains(same)) out[same] = session.at(same);
  }
  out["max_response_output_tokens"] = session.at("max_output_tokens");
  return out;
}

void flatten_response(JsonOut& response) {
  response["modalities"] = beta_modalities(response.at("output_modalities"));
  response["voice"] = json_at(response, "/audio/output/voice");
  response["output_audio_format"] = beta_format(json_at(response, "/audio/output/format"));
  response.erase("output_modalities");
  response.erase("audio");
  for (JsonOut& item : response.at("output")) rename_parts(item);
}

}  // namespace

void from_beta(JsonIn& event) {
  const auto type = event.find("type");
  if (type == event.end()) return;
  const bool transcribes = *type == "transcription_session.update";
  if (transcribes) *type = "session.update";
  const char* inner = *type == "session.update"    ? "session"
                      : *type == "response.create" ? "response"
                                                   : nullptr;
  if (inner == nullptr || !event.contains(inner)) return;
  nest(event[inner]);
  if (transcribes && event[inner].is_object()) event[inner]["type"] = "transcription";
}

std::optional<BetaField> beta_field_in(const JsonIn& fields) {
  for (const MovedField& each : kMovedFields) {
    if (!fields.contains(each.beta)) continue;
    std::string today = each.path + 1;
    std::replace(today.begin(), today.end(), '/', '.');
    return BetaField{each.beta, std::move(today)};
  }
  return {};
}

bool to_beta(JsonOut& event) {
  std::string type = event.at("type");
  if (type == "conversation.item.done") return false;
  if (type == "conversation.item.added") type = "conversation.item.created";
  for (const BetaName& each : kBetaDeltas) {
    if (type.starts_with(each.today)) type = concat(each.beta, type.substr(each.today.size()));
  }
  if (event.contains("item")) rename_parts(event["item"]);
  if (event.contains("response")) flatten_response(event["response"]);
  if (event.contains("session")) {
    const bool transcribes = event["session"].value("type", "") == "transcription";
    event["session"] = flat_session(event["session"], transcribes);
    if (transcribes) type = "transcription_" + type;
  }
  event["type"] = std::move(type);
  return true;
}

}  // namespace syrinx
