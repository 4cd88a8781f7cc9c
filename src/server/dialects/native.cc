// /v1/audio/speech/stream of vLLM-Omni and SGLang: session.config, then input.text and input.done
// repeatedly. Syrinx adds session.configured, which has the configuration in effect, and
// input.clear, which drops the present speech.
#include <utility>

#include "base/check.h"
#include "server/dialects/context_options.h"
#include "server/dialects/dialects.h"
#include "server/request/fields.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr const char* kNativeContext = "speech";
constexpr size_t kMaxTextBytes = size_t{128} << 10;  // most bytes of a message

class NativeDialect : public Dialect {
 public:
  NativeDialect(const Speaker& speaker, bool strict) : speaker_(speaker), strict_(strict) {}

  void message(std::string_view bytes, bool binary, Actions& out) override {
    const auto parsed = binary ? std::nullopt : parse_object(bytes, LoneHalf::kMark);
    const std::string type = parsed ? string_at(*parsed, "type").value_or("") : "";
    if (!parsed) {
      say_error("A message must be a JSON object in a text frame.", out);
      if (!options_) out.push_back(CloseConnection{1008, "no session.config"});
    } else if (type == "session.config") {
      configure(*parsed, out);
    } else if (type == "session.close") {
      out.push_back(CloseConnection{1000});
    } else if (!options_) {
      say_error("The first message must be session.config.", out);
      out.push_back(CloseConnection{1008, "no session.config"});
    } else if (type == "input.text") {
      add_text(*parsed, out);
    } else if (type == "input.done") {
      open(out);
      ++flushes_;
      dirty_ = false;
      out.push_back(FlushContext{kNativeContext});
    } else if (type == "input.clear") {
      out.push_back(CancelContext{kNativeContext});
      reset();
      send({{"type", "input.cleared"}}, out);
    } else {
      say_error("Unknown message type '" + type.substr(0, 100) + "'.", out);
    }
  }

  void event(const SpeechEvent& event, Actions& out) override {
    switch (event.kind) {
      case SpeechEvent::kStarted:
        return start(event, out);
      case SpeechEvent::kAudio:
        return audio(event, out);
      case SpeechEvent::kWords:
        for (const TimedWord& word : event.words) {
          words_.push_back({{"word", word.text},
                            {"start_ms", milliseconds(word.begin_s)},
                            {"end_ms", milliseconds(word.end_s)}});
        }
        return;
      case SpeechEvent::kPhones:
        for (const TimedWord& phone : event.words) {
          phones_.push_back({{"phone", phone.text}, {"start_ms", milliseconds(phone.begin_s)}});
        }
        return;
      case SpeechEvent::kSpoken:
        return spoken(event, out);
      case SpeechEvent::kUnspoken:
        return say_error(event.error.message, out, event.error.code);
      case SpeechEvent::kFlushed:
        return end_flush(out);
      case SpeechEvent::kFailed:
        if (started_) end_audio(true, out);
        say_error(event.error.message, out, event.error.code);
        while (flushes_ > 0) end_flush(out);  // no further event answers them
        reset();
        return;
      case SpeechEvent::kFinished:
        return;
    }
  }

  double idle_timeout_s() const override { return options_ ? 30 : 10; }
  void idle(Actions& out) override {
    say_error(options_ ? "No message arrived for 30 s." : "No session.config arrived for 10 s.",
              out);
    out.push_back(CloseConnection{1000, "idle"});
  }

 private:
  void configure(const JsonIn& message, Actions& out) {
    if (dirty_ || flushes_ > 0) {
      return say_error("session.config cannot change while text is spoken.", out);
    }
    JsonIn fields = message;
    for (const char* ours :
         {"type", "input", "stream_format", "word_timestamps", "phone_timestamps"})
      fields.erase(ours);
    const std::string split = string_at(message, "split_granularity").value_or("none");
    auto options = context_options(fields, speaker_.view(), strict_);
    if (auto* error = std::get_if<ApiError>(&options)) {
      say_error(error->message, out, error->code);
    } else if (split != "none" && split != "sentence" && split != "clause") {
      say_error("'split_granularity' must be none, sentence or clause.", out, "invalid_value");
    } else if (true_at(message, "word_timestamps") && !speaker_.info.speech.word_times) {
      say_error("This model does not report the times of its words.", out, "unsupported_value");
    } else if (true_at(message, "phone_timestamps") && !speaker_.info.speech.phone_times) {
      say_error("This model does not report the times of its phones.", out, "unsupported_value");
    } else {
      if (std::exchange(open_, false)) out.push_back(CancelContext{kNativeContext});
      options_ = std::move(std::get<ContextOptions>(options));
      options_->by_sentence = split != "none";
      options_->words = true_at(message, "word_timestamps");
      options_->call.request.terms.phone_times = true_at(message, "phone_timestamps");
      format_ = string_at(fields, "response_format").value_or("pcm");
      JsonOut configured = {{"type", "session.configured"},
                            {"model", speaker_.info.model},
                            {"format", format_},
                            {"late_text", late_text_name(speaker_.info.speech.late_text)},
                            {"word_timestamps", options_->words},
                            {"seed", options_->call.request.sampling.seed}};
      if (!options_->call.warnings.empty()) configured["warnings"] = options_->call.warnings;
      return send(configured, out);
    }
    if (!options_) out.push_back(CloseConnection{1008, "no usable session.config"});
  }

  void add_text(const JsonIn& message, Actions& out) {
    auto text = string_at(message, "text");
    if (!text) return say_error("input.text needs a string 'text'.", out);
    if (text->size() > kMaxTextBytes) {
      return say_error("input.text may have at most 131072 bytes of text.", out);
    }
    if (text->empty()) return;
    open(out);
    dirty_ = true;
    out.push_back(AddText{kNativeContext, std::move(*text)});
  }

  void open(Actions& out) {
    if (std::exchange(open_, true)) return;
    out.push_back(OpenContext{kNativeContext, *options_});
  }

  void start(const SpeechEvent& event, Actions& out) {
    JsonOut json = named("audio.start");
    if (!event.text.empty() && options_->by_sentence) json["sentence_text"] = event.text;
    json["format"] = format_;
    json["sample_rate"] = event.rate_hz;
    json["channels"] = 1;
    if (options_->words) json["word_timestamps"] = true;
    if (!event.warnings.empty()) json["warnings"] = event.warnings;
    started_ = true;
    total_bytes_ = 0;
    chunk_ = 0;
    send(json, out);
  }

  void audio(const SpeechEvent& event, Actions& out) {
    if (event.bytes.empty()) return;
    total_bytes_ += event.bytes.size();
    if (options_->words) {
      JsonOut json = named("audio.chunk");
      json["chunk_id"] = chunk_++;
      json["audio_b64"] = base64(event.bytes);
      json["timestamps"] = nullptr;
      return send(json, out);
    }
    out.push_back(SendMessage{event.bytes, true});
  }

  void spoken(const SpeechEvent& event, Actions& out) {
    if (!started_) return;
    for (const TimedWord& mark : event.marks) {
      marks_.push_back({{"name", mark.text}, {"start_ms", milliseconds(mark.begin_s)}});
    }
    if (options_->words) {
      JsonOut json = named("audio.chunk");
      json["chunk_id"] = chunk_++;
      json["audio_b64"] = "";
      json["timestamps"] = std::exchange(words_, JsonOut::array());
      send(json, out);
    }
    end_audio(false, out);
    ++sentence_;
  }

  void end_audio(bool error, Actions& out) {
    started_ = false;
    JsonOut json = named("audio.done");
    json["total_bytes"] = total_bytes_;
    json["error"] = error;
    if (!phones_.empty()) json["phones"] = std::exchange(phones_, JsonOut::array());
    if (!marks_.empty()) json["marks"] = std::exchange(marks_, JsonOut::array());
    send(json, out);
  }

  /// Answers the oldest input.done that is not answered yet.
  void end_flush(Actions& out) {
    send({{"type", "session.done"},
          {"utterance_index", utterance_++},
          {"total_sentences", std::exchange(sentence_, 0)}},
         out);
    --flushes_;
  }

  JsonOut named(const char* type) const {
    return {{"type", type}, {"utterance_index", utterance_}, {"sentence_index", sentence_}};
  }

  void reset() {
    open_ = dirty_ = started_ = false;
    flushes_ = sentence_ = 0;
    words_ = phones_ = marks_ = JsonOut::array();
  }

  static void send(const JsonOut& json, Actions& out) {
    out.push_back(SendMessage{dump_json(json)});
  }

  static void say_error(const std::string& text, Actions& out,
                        const std::string& code = "invalid_value") {
    send({{"type", "error"}, {"message", text}, {"code", code}}, out);
  }

  const OwnSpeaker speaker_;
  const bool strict_;
  std::optional<ContextOptions> options_;
  std::string format_;
  bool open_ = false;
  bool dirty_ = false;    // text has arrived after the last input.done
  bool started_ = false;  // audio.start was sent, but not audio.done
  int flushes_ = 0;       // flushes that are not answered yet
  int64_t utterance_ = 0, sentence_ = 0, chunk_ = 0;
  size_t total_bytes_ = 0;
  // Times of the utterance, sent at its end, words in vLLM-Omni's form:
  JsonOut words_ = JsonOut::array(), phones_ = JsonOut::array(), marks_ = JsonOut::array();
};

}  // namespace

std::unique_ptr<Dialect> make_native_dialect(const Speaker& speaker, bool strict) {
  return std::make_unique<NativeDialect>(speaker, strict);
}

}  // namespace syrinx
