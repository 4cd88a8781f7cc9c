// ElevenLabs' stream-input (one text) and multi-stream-input (contexts, which Pipecat uses). Audio
// is sent in base64. `alignment` has times of characters: each word's time is divided evenly among
// its characters and those up to the next word. It is sent with an empty "audio" as soon as the
// times are known. Its times count from the end of the previous alignment.
#include <algorithm>
#include <map>
#include <utility>

#include "server/dialects/context_options.h"
#include "server/dialects/dialects.h"
#include "server/request/fields.h"
#include "server/request/vendor_body.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr int kMaxElevenLabsContexts = 5;
constexpr int kRefused = 1008;  // the WebSocket's code for a fault of the client

/// Returns the times of characters, from origin_s on. Leading white space of an utterance has no
/// time and is left out.
JsonOut alignment(const std::vector<TimedWord>& words, double origin_s) {
  JsonOut chars = JsonOut::array(), starts = JsonOut::array(), lengths = JsonOut::array();
  for (const TimedCharacter& character : timed_characters(words)) {
    const int64_t begin_ms = milliseconds(character.begin_s - origin_s);
    chars.push_back(character.text);
    starts.push_back(begin_ms);
    lengths.push_back(milliseconds(character.end_s - origin_s) - begin_ms);
  }
  return {{"chars", chars}, {"charStartTimesMs", starts}, {"charDurationsMs", lengths}};
}

class ElevenLabsDialect : public Dialect {
 public:
  ElevenLabsDialect(ContextOptions options, bool multi, bool auto_mode, double timeout_s)
      : options_(std::move(options)), multi_(multi), auto_mode_(auto_mode), timeout_s_(timeout_s) {}

  void message(std::string_view bytes, bool binary, Actions& out) override {
    const auto parsed = binary ? std::nullopt : parse_object(bytes, LoneHalf::kMark);
    if (!parsed)
      return fail("A message must be a JSON object in a text frame.", "invalid_json", out);
    if (ending_) return;
    if (multi_ && true_at(*parsed, "close_socket")) return close_socket(out);
    std::string context = multi_ ? string_at(*parsed, "context_id").value_or("") : "";
    if (multi_ && context.empty()) context = string_at(*parsed, "contextId").value_or("default");
    if (context.size() > 200) return fail("A context_id is too long.", "invalid_context", out);
    if (multi_ && true_at(*parsed, "close_context")) return close_context(context, out);
    const auto given = parsed->find("text");
    if (given != parsed->end() && !given->is_string() && !given->is_null()) {
      return fail("'text' must be a string.", "invalid_value", out);
    }
    const std::string text = string_at(*parsed, "text").value_or("");
    const bool flush = true_at(*parsed, "flush");
    if (text.empty() && !flush) {
      if (!multi_) end_of_text(out);
      return;  // a message without text keeps a context alive
    }
    if (!open(context, *parsed, out)) return;
    if (!text.empty()) out.push_back(AddText{context, text});
    const bool words = text.find_first_not_of(" \t\r\n") != std::string::npos;
    Open& state = open_[context];
    if (words) state.unflushed = true;
    if (flush || (auto_mode_ && words)) out.push_back(FlushContext{context});
    if (flush) state.unflushed = false;
  }

  void event(const SpeechEvent& event, Actions& out) override {
    if (event.kind == SpeechEvent::kAudio && !event.bytes.empty()) {
      send(event.context, base64(event.bytes), nullptr, out);
    } else if (event.kind == SpeechEvent::kWords && !event.words.empty()) {
      double& reported_s = open_[event.context].reported_s;
      send(event.context, "", alignment(event.words, reported_s), out);
      reported_s = event.words.back().end_s;
    } else if (event.kind == SpeechEvent::kSpoken) {
      open_[event.context].reported_s -=
          event.audio_s;  // times count from the beginning of the next utterance
    } else if (event.kind == SpeechEvent::kFinished) {
      open_.erase(event.context);
      final(event.context, out);
      if (ending_ && open_.empty()) out.push_back(CloseConnection{1000});
    } else if (event.kind == SpeechEvent::kUnspoken) {
      JsonOut json = error_of(event.error.message, event.error.code, kRefused);
      if (multi_) json["contextId"] = event.context;
      out.push_back(SendMessage{dump_json(json)});
    } else if (event.kind == SpeechEvent::kFailed) {
      fail(event.error.message, event.error.code, out, event.error.status >= 500 ? 1011 : kRefused);
    }
  }

  double idle_timeout_s() const override { return timeout_s_; }
  void idle(Actions& out) override {
    fail("No text arrived within the time limit.", "input_timeout_exceeded", out);
  }
  /// Returns the limit, beyond which open() refuses contexts.
  int max_contexts() const override { return multi_ ? kMaxElevenLabsContexts : 1; }

 private:
  struct Open {
    bool unflushed = false;  ///< the context has text that was not flushed
    double reported_s = 0;   ///< end of the last alignment, in the utterance being spoken
  };

  /// Opens the context with its first message; returns false after a refusal.
  bool open(const std::string& context, const JsonIn& message, Actions& out) {
    if (open_.contains(context)) return true;
    if (static_cast<int>(open_.size()) >= max_contexts()) {
      fail("At most 5 contexts may be open; close one of them first.", "max_contexts_exceeded",
           out);
      return false;
    }
    ContextOptions options = options_;
    const auto settings = message.find("voice_settings");
    if (settings != message.end() && settings->is_object()) {
      const double speed = number_at(*settings, "speed").value_or(1);
      options.call.audio.speed = std::clamp(speed, 0.25, 4.0);
    }
    open_[context] = {};
    out.push_back(OpenContext{context, std::move(options)});
    return true;
  }

  void end_of_text(Actions& out) {
    ending_ = true;
    if (!open_.empty()) return out.push_back(FinishContext{""});
    final("", out);
    out.push_back(CloseConnection{1000});
  }

  /// Closes a context. Flushed text is still spoken. Text that was not flushed means an
  /// interruption, so speech stops at once.
  void close_context(const std::string& context, Actions& out) {
    const auto at = open_.find(context);
    if (at == open_.end()) return final(context, out);
    if (!at->second.unflushed) return out.push_back(FinishContext{context});
    out.push_back(CancelContext{context});
    open_.erase(at);
    final(context, out);
  }

  void close_socket(Actions& out) {
    ending_ = true;
    if (open_.empty()) return out.push_back(CloseConnection{1000});
    for (const auto& [context, state] : open_) out.push_back(FinishContext{context});
  }

  void send(const std::string& context, const std::string& audio, const JsonOut& times,
            Actions& out) const {
    JsonOut json = {{"audio", audio}, {"isFinal", nullptr}};
    json["alignment"] = times;
    json["normalizedAlignment"] = times;
    if (multi_) json["contextId"] = context;
    out.push_back(SendMessage{dump_json(json)});
  }

  void final(const std::string& context, Actions& out) const {
    JsonOut json = {{"isFinal", true}};
    if (!multi_) json["audio"] = nullptr;
    if (multi_) json["contextId"] = context;
    out.push_back(SendMessage{dump_json(json)});
  }

  static JsonOut error_of(const std::string& text, const std::string& code, int close) {
    return {{"message", text}, {"error", code}, {"code", close}};
  }

  static void fail(const std::string& text, const std::string& code, Actions& out,
                   int close = kRefused) {
    out.push_back(SendMessage{dump_json(error_of(text, code, close))});
    out.push_back(CloseConnection{close, text});
  }

  const ContextOptions options_;
  const bool multi_, auto_mode_;
  const double timeout_s_;
  bool ending_ = false;
  std::map<std::string, Open> open_;
};

}  // namespace

std::unique_ptr<Dialect> make_elevenlabs_dialect(const std::string& voice, const Query& query,
                                                 bool multi, const Speaker& speaker,
                                                 ApiError& error) {
  JsonIn fields = {{"voice", voice}};
  // The connection already has the model that the query names.
  const std::string format = query.find("output_format").value_or("mp3_44100_128");
  if (!parse_output_format(format, fields)) {
    error = bad_field("output_format", "Unknown output_format '" + format.substr(0, 100) + "'.");
    return nullptr;
  }
  if (const auto language = query.find("language_code")) fields["language_hint"] = *language;
  if (const auto seed = query.find("seed")) {
    fields["seed"] = JsonIn::parse(*seed, nullptr, false);
    if (!fields["seed"].is_number_integer()) {
      error = bad_field("seed", "'seed' must be an integer.");
      return nullptr;
    }
  }
  double timeout_s = 20;
  if (const auto wish = query.find("inactivity_timeout")) {
    const JsonIn number = JsonIn::parse(*wish, nullptr, false);
    if (number.is_number()) timeout_s = std::clamp(number.get<double>(), 1.0, 180.0);
  }
  auto options = context_options(fields, speaker);
  if (auto* fault = std::get_if<ApiError>(&options)) {
    error = std::move(*fault);
    name_vendor_fields({VendorCall::kElevenLabs}, error);
    return nullptr;
  }
  auto& good = std::get<ContextOptions>(options);
  good.words = true;
  if (const auto wish = query.find("enable_ssml_parsing")) {
    good.ssml = good.bare_ssml = *wish == "true";  // this API's tags need no <speak> element
  }
  // With auto_mode, models that take tokens speak text at once; for other models each message is a
  // sentence.
  const bool auto_mode =
      query.find("auto_mode") == "true" && speaker.info->speech.late_text != LateText::kToken;
  return std::make_unique<ElevenLabsDialect>(std::move(good), multi, auto_mode, timeout_s);
}

}  // namespace syrinx
