// /tts/websocket of Cartesia's API. Every message names its context and carries all settings; the
// settings of a context's first message apply. The transcripts of a context are concatenated
// unchanged; a transcript without "continue" is the last one.
#include <algorithm>
#include <map>
#include <utility>

#include "server/dialects/context_options.h"
#include "server/dialects/dialects.h"
#include "server/models/vendor_names.h"
#include "server/request/fields.h"
#include "server/request/vendor_body.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr int kMaxCartesiaContexts = 16;

/// Returns the settings of a message as options. Sets `error` if a setting is refused.
std::optional<ContextOptions> read_options(const JsonIn& message, const Speaker& speaker,
                                           ApiError& error) {
  JsonIn fields = JsonIn::object();
  const std::string model = string_at(message, "model_id").value_or("");
  if (!model.empty() && !is_vendor_model(model)) fields["model"] = model;
  if (const auto voice = message.find("voice"); voice != message.end()) {
    if (voice->is_string()) fields["voice"] = *voice;
    if (voice->is_object()) fields["voice"] = string_at(*voice, "id").value_or("");
  }
  if (const auto language = string_at(message, "language")) fields["language_hint"] = *language;
  if (const auto at = message.find("seed"); at != message.end()) fields["seed"] = *at;
  if (const auto format = message.find("output_format");
      format != message.end() && format->is_object()) {
    if (string_at(*format, "container").value_or("raw") != "raw") {
      error = bad_field("output_format.container", "'container' must be raw on a WebSocket.");
      return {};
    }
    if (const auto encoding = string_at(*format, "encoding")) fields["encoding"] = *encoding;
    if (const auto rate = format->find("sample_rate"); rate != format->end()) {
      fields["sample_rate"] = *rate;
    }
  }
  if (const auto config = message.find("generation_config");
      config != message.end() && config->is_object()) {
    for (const char* name : {"speed", "volume"}) {
      if (const auto number = number_at(*config, name)) fields[name] = *number;
    }
  }
  auto options = context_options(fields, speaker);
  if (auto* fault = std::get_if<ApiError>(&options)) {
    error = std::move(*fault);
    name_vendor_fields({VendorCall::kCartesia}, error);
    return {};
  }
  auto& good = std::get<ContextOptions>(options);
  good.words = true_at(message, "add_timestamps");
  good.call.request.terms.phone_times =
      true_at(message, "add_phoneme_timestamps") && speaker.info->speech.phone_times;
  return std::move(good);
}

class CartesiaDialect : public Dialect {
 public:
  CartesiaDialect(std::string id, const Speaker& speaker) : id_(std::move(id)), speaker_(speaker) {}

  void message(std::string_view bytes, bool binary, Actions& out) override {
    const auto parsed = binary ? std::nullopt : parse_object(bytes, LoneHalf::kMark);
    if (!parsed) {
      return fail("", bad_field("", "A message must be a JSON object in a text frame."), out);
    }
    const std::string context = string_at(*parsed, "context_id").value_or("");
    if (context.size() > 200) {
      return fail("", bad_field("context_id", "'context_id' is too long."), out);
    }
    if (true_at(*parsed, "cancel")) return cancel(context, out);
    const auto transcript = string_at(*parsed, "transcript");
    if (!transcript) {
      return fail(context, bad_field("transcript", "'transcript' must be a string."), out);
    }
    if (!open(context, *parsed, out)) return;
    if (!transcript->empty()) out.push_back(AddText{context, *transcript});
    if (true_at(*parsed, "flush")) out.push_back(FlushContext{context});
    if (!true_at(*parsed, "continue")) {
      open_[context].closed = true;
      out.push_back(FinishContext{context});
    }
  }

  void event(const SpeechEvent& event, Actions& out) override {
    const auto at = open_.find(event.context);
    if (at == open_.end()) return;
    Open& state = at->second;
    if (event.kind == SpeechEvent::kStarted) {
      state.stepped_s = event.at_s;
    } else if (event.kind == SpeechEvent::kAudio && !event.bytes.empty()) {
      JsonOut json = named("chunk", 206, false, event.context);
      json["data"] = base64(event.bytes);
      json["step_time"] = 1e3 * (event.at_s - std::exchange(state.stepped_s, event.at_s));
      json["flush_id"] = state.flushed;
      out.push_back(SendMessage{dump_json(json)});
    } else if (event.kind == SpeechEvent::kPhones) {
      say_times("phoneme_timestamps", "phoneme_timestamps", "phonemes", event, state, out);
    } else if (event.kind == SpeechEvent::kWords) {
      say_times("timestamps", "word_timestamps", "words", event, state, out);
    } else if (event.kind == SpeechEvent::kSpoken) {
      state.audio_s += event.audio_s;
    } else if (event.kind == SpeechEvent::kFlushed) {
      JsonOut json = named("flush_done", 206, false, event.context);
      json["flush_done"] = true;
      json["flush_id"] = ++state.flushed;
      out.push_back(SendMessage{dump_json(json)});
    } else if (event.kind == SpeechEvent::kFinished) {
      open_.erase(at);
      done(event.context, out);
    } else if (event.kind == SpeechEvent::kUnspoken) {
      fail(event.context, event.error, out, false);
    } else if (event.kind == SpeechEvent::kFailed) {
      open_.erase(at);
      fail(event.context, event.error, out);
    }
  }

  double idle_timeout_s() const override { return 300; }
  void idle(Actions& out) override { out.push_back(CloseConnection{1000, "idle"}); }
  int max_contexts() const override { return kMaxCartesiaContexts; }

 private:
  struct Open {
    bool closed = false;  ///< the context's last transcript has arrived
    int64_t flushed = 0;
    double audio_s = 0;  ///< seconds of the context's finished utterances
    double stepped_s = 0;
  };

  bool open(const std::string& context, const JsonIn& message, Actions& out) {
    if (const auto at = open_.find(context); at != open_.end()) {
      if (!at->second.closed) return true;
      fail(context,
           bad_field("context_id",
                     "This context has received its last transcript; use another context_id."),
           out, false);
      return false;
    }
    ApiError error;
    if (open_.size() >= kMaxCartesiaContexts) {
      error = bad_field("context_id", "At most 16 contexts may be open at once.");
    } else if (auto options = read_options(message, speaker_.view(), error)) {
      open_[context] = {};
      out.push_back(OpenContext{context, std::move(*options)});
      return true;
    }
    fail(context, error, out);
    return false;
  }

  void cancel(const std::string& context, Actions& out) {
    out.push_back(CancelContext{context});
    if (open_.erase(context) > 0) done(context, out);
  }

  /// Sends the times of words or phones, in seconds from the context's beginning.
  static void say_times(const char* type, const char* field, const char* names,
                        const SpeechEvent& event, const Open& state, Actions& out) {
    JsonOut words = JsonOut::array(), starts = JsonOut::array(), ends = JsonOut::array();
    for (const TimedWord& word : event.words) {
      words.push_back(word.text);
      starts.push_back(state.audio_s + word.begin_s);
      ends.push_back(state.audio_s + word.end_s);
    }
    JsonOut json = named(type, 206, false, event.context);
    json["flush_id"] = state.flushed;
    json[field] = {{names, words}, {"start", starts}, {"end", ends}};
    out.push_back(SendMessage{dump_json(json)});
  }

  static JsonOut named(const char* type, int status, bool done, const std::string& context) {
    return {{"type", type}, {"context_id", context}, {"status_code", status}, {"done", done}};
  }

  static void done(const std::string& context, Actions& out) {
    out.push_back(SendMessage{dump_json(named("done", 200, true, context))});
  }

  void fail(const std::string& context, const ApiError& error, Actions& out,
            bool ends = true) const {
    JsonOut json = named("error", error.status, ends, context);
    json["title"] = error.status >= 500 ? "Server error" : "Invalid request";
    json["message"] = error.message;
    json["error_code"] = error.code;
    json["request_id"] = id_;
    out.push_back(SendMessage{dump_json(json)});
  }

  const std::string id_;
  const OwnSpeaker speaker_;
  std::map<std::string, Open> open_;
};

}  // namespace

std::unique_ptr<Dialect> make_cartesia_dialect(const std::string& id, const Speaker& speaker) {
  return std::make_unique<CartesiaDialect>(id, speaker);
}

}  // namespace syrinx
