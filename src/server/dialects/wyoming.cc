#include "server/dialects/wyoming.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "server/dialects/context_options.h"
#include "server/dialects/wyoming_hearing.h"
#include "server/dialects/wyoming_voices.h"

namespace syrinx {
namespace {

constexpr const char* kWyomingContext = "speech";

}  // namespace

// ---------------------------------------------------------------------------- frames

void WyomingParser::push(std::string_view bytes) {
  const size_t skipped = std::min(skip_, bytes.size());
  skip_ -= skipped;
  bytes_ += bytes.substr(skipped);
}

std::optional<WyomingEvent> WyomingParser::next() {
  while (error_.empty()) {
    if (!in_data_) {
      const size_t end = bytes_.find('\n', seen_);
      const size_t length = end == std::string::npos ? bytes_.size() : end;
      if (length > kMaxHeaderBytes) {
        error_ = concat("a header has more than ", kMaxHeaderBytes, " bytes");
        break;
      }
      seen_ = length;
      if (end == std::string::npos) break;
      const bool read = read_header(std::string_view(bytes_).substr(0, end));
      bytes_.erase(0, end + 1);
      seen_ = 0;
      if (!read) break;
      in_data_ = true;
    }
    if (bytes_.size() < data_bytes_) break;
    if (data_bytes_ > 0) {
      auto data = parse_object(std::string_view(bytes_).substr(0, data_bytes_), LoneHalf::kMark);
      if (!data) {
        error_ = "the data of an event is not a JSON object";
        break;
      }
      event_.data.update(*data);
      bytes_.erase(0, std::exchange(data_bytes_, 0));
    }
    const bool audio = event_.type == "audio-chunk";
    if (audio && bytes_.size() < payload_bytes_) break;
    skip_ = payload_bytes_;
    const size_t here = std::min(skip_, bytes_.size());
    if (audio) event_.payload = bytes_.substr(0, here);
    bytes_.erase(0, here);
    skip_ -= here;
    in_data_ = false;
    return std::exchange(event_, {});
  }
  if (!error_.empty()) bytes_.clear();
  return {};
}

bool WyomingParser::read_header(std::string_view line) {
  const auto header = parse_object(line, LoneHalf::kMark);
  const auto type = header ? string_at(*header, "type") : std::nullopt;
  if (!type) {
    error_ = "a header is not a JSON object with a 'type'";
    return false;
  }
  const double data = number_at(*header, "data_length").value_or(0);
  const double payload = number_at(*header, "payload_length").value_or(0);
  if (!(data >= 0 && data <= kMaxDataBytes) || !(payload >= 0 && payload <= kMaxPayloadBytes)) {
    error_ = concat("an event may have at most ", kMaxDataBytes, " bytes of data and ",
                    kMaxPayloadBytes, " of payload");
    return false;
  }
  event_ = {.type = *type};
  if (const auto inside = header->find("data"); inside != header->end() && inside->is_object()) {
    event_.data = *inside;
  }
  data_bytes_ = static_cast<size_t>(data);
  payload_bytes_ = static_cast<size_t>(payload);
  return true;
}

std::string wyoming_event(const char* type, const JsonOut& data, std::string_view payload) {
  const std::string body = data.empty() ? "" : dump_json(data);
  JsonOut header = {{"type", type}};
  if (!body.empty()) header["data_length"] = body.size();
  if (!payload.empty()) header["payload_length"] = payload.size();
  std::string out = dump_json(header) + "\n" + body;
  out += payload;
  return out;
}

// ---------------------------------------------------------------------------- dialect

namespace {

class WyomingDialect : public Dialect {
 public:
  WyomingDialect(std::shared_ptr<ModelTable> models, VoiceDesk* desk,
                 std::shared_ptr<const Ears> ears, std::function<void()> wake)
      : models_(std::move(models)),
        desk_(desk),
        ears_(ears ? std::move(ears) : std::make_shared<const Ears>()),
        wake_(std::move(wake)) {}

  void message(std::string_view bytes, bool, Actions& out) override {
    if (failed_) return;
    parser_.push(bytes);
    read(out);
  }

  void model_loaded(const Status& loaded, Actions& out) override {
    const std::optional<WyomingEvent> event = std::exchange(waiting_, {});
    if (failed_ || !event) return;
    if (!loaded.ok()) return fail(loaded.error().message, "model-not-loaded", out);
    take(*event, out);
    read(out);
  }

  void event(const SpeechEvent& event, Actions& out) override {
    if (event.kind == SpeechEvent::kStarted) {
      start(event.rate_hz, out);
    } else if (event.kind == SpeechEvent::kAudio && !event.bytes.empty()) {
      out.push_back(SendMessage{wyoming_event("audio-chunk", format(event.rate_hz), event.bytes)});
    } else if (event.kind == SpeechEvent::kFinished) {
      start(rate_hz_, out);  // a text without words gives an empty clip
      out.push_back(SendMessage{wyoming_event("audio-stop", JsonOut::object())});
      if (streaming_) {
        out.push_back(SendMessage{wyoming_event("synthesize-stopped", JsonOut::object())});
      }
      speaking_ = streaming_ = started_ = false;
    } else if (event.kind == SpeechEvent::kUnspoken) {
      say_error(event.error.message, event.error.code, out);
    } else if (event.kind == SpeechEvent::kFailed) {
      fail(event.error.message, event.error.code, out);
    }
  }

  void progress(Actions& out) override {
    if (!hearing_ || failed_) return;
    HeardQueue::News news = hearing_->take();
    for (const TranscriptSegment& segment : news.segments) {
      const std::string_view text(segment.text);
      const size_t blank = chunks_++ == 0 ? std::min(text.find_first_not_of(' '), text.size()) : 0;
      send("transcript-chunk", {{"text", text.substr(blank)}}, out);
    }
    if (!news.result) return;
    hearing_.reset();
    heard_ = false;
    const Result<Transcript>& result = *news.result;
    if (!result) return fail(result.error().message, "transcription-failed", out);
    send("transcript", {{"text", result.value().text()}, {"language", result.value().language}},
         out);
    send("transcript-stop", JsonOut::object(), out);
  }
  /// A recording that has not ended is kept by its messages alone, because a client may be gone.
  bool busy() const override { return hearing_ != nullptr && (heard_ || hearing_->full()); }
  bool full() const override { return hearing_ != nullptr && hearing_->full(); }

  double idle_timeout_s() const override { return 300; }
  void idle(Actions& out) override { out.push_back(CloseConnection{1000, "idle"}); }

 private:
  void read(Actions& out) {
    while (!waiting_) {
      const auto event = parser_.next();
      if (!event) break;
      take(*event, out);
    }
    if (!parser_.error().empty()) fail(parser_.error(), "invalid-event", out);
  }

  void take(const WyomingEvent& event, Actions& out) {
    if (event.type == "describe") {
      out.push_back(SendMessage{wyoming_event("info", describe())});
    } else if (event.type == "ping") {
      const JsonOut data = {{"text", string_at(event.data, "text").value_or("")}};
      out.push_back(SendMessage{wyoming_event("pong", data)});
    } else if (event.type == "synthesize-start") {
      if (open(event, out)) streaming_ = true;
    } else if (event.type == "synthesize-chunk" && streaming_) {
      const auto text = string_at(event.data, "text");
      if (text) out.push_back(AddText{kWyomingContext, *text});
    } else if (event.type == "synthesize-stop" && streaming_) {
      out.push_back(FinishContext{kWyomingContext});
    } else if (event.type == "synthesize" && !streaming_) {
      // After a streamed text, clients send the whole text again, for servers that cannot stream.
      const auto text = string_at(event.data, "text");
      if (!text) return fail("'synthesize' needs a string 'text'", "invalid-event", out);
      if (!open(event, out)) return;
      out.push_back(AddText{kWyomingContext, *text});
      out.push_back(FinishContext{kWyomingContext});
    } else if (event.type == "transcribe") {
      ear_ = string_at(event.data, "name").value_or("");
      language_ = string_at(event.data, "language").value_or("");
      const auto found = find_wyoming_recogniser(*models_, *ears_, ear_);
      if (!found) fail(found.error().message, "no-recogniser", out);
    } else if (event.type == "audio-start") {
      listen(event, out);
    } else if (event.type == "audio-chunk" && hearing_ && !heard_) {
      const Status taken = hearing_->hear(event.data, event.payload);
      if (!taken) fail(taken.error().message, "invalid-audio", out);
    } else if (event.type == "audio-stop" && hearing_ && !std::exchange(heard_, true)) {
      hearing_->end();
    } else if (event.type == "detect") {
      fail("this server does not detect wake words", "unsupported-event", out);
    }
  }

  /// Begins to recognise a recording.
  void listen(const WyomingEvent& event, Actions& out) {
    if (hearing_) return fail("a recording is still recognised; wait for its end", "busy", out);
    auto found = find_wyoming_recogniser(*models_, *ears_, ear_);
    if (!found) return fail(found.error().message, "no-recogniser", out);
    if (!found.value().recogniser) {
      waiting_ = event;
      out.push_back(LoadModel{found.value().model});
      return;
    }
    auto opened = WyomingHearing::open(found.take(), language_, wake_);
    if (!opened) return fail(opened.error().message, "transcription-failed", out);
    hearing_ = opened.take();
    heard_ = false;
    chunks_ = 0;
    send("transcript-start", JsonOut::object(), out);
  }

  static void send(const char* type, const JsonOut& data, Actions& out) {
    out.push_back(SendMessage{wyoming_event(type, data)});
  }

  bool open(const WyomingEvent& event, Actions& out) {
    const JsonIn& data = event.data;
    if (speaking_) {
      fail("a text is still being spoken; wait for its end", "busy", out);
      return false;
    }
    const std::string format = string_at(data, "text_format").value_or("text");
    if (format != "text" && format != "ssml") {
      fail(concat("'text_format' must be text or ssml, not '", format.substr(0, 100), "'"),
           "unsupported-format", out);
      return false;
    }
    JsonIn fields = JsonIn::object();
    if (format == "ssml") fields["ssml"] = true;
    WyomingWish wish;
    if (const auto voice = data.find("voice"); voice != data.end() && voice->is_object()) {
      wish.voice = string_at(*voice, "name").value_or("");
      wish.speaker = string_at(*voice, "speaker").value_or("");
      wish.language = string_at(*voice, "language").value_or("");
    }
    const WyomingChoice choice = choose_wyoming_voice(*models_, desk_, wish);
    const auto model = models_->find(choice.model);
    if (!model.ok()) {
      fail(model.error().message, "model-not-found", out);
      return false;
    }
    if (!model.value()) {
      waiting_ = event;
      out.push_back(LoadModel{choice.model});
      return false;
    }
    const Backend& backend = *model.value();
    if (!choice.voice.empty()) fields["voice"] = choice.voice;
    if (!wish.language.empty()) fields["language_hint"] = wish.language;
    auto options = context_options(
        fields, desk_ != nullptr ? desk_->speaker(backend) : Speaker(backend.info()));
    if (auto* error = std::get_if<ApiError>(&options)) {
      fail(error->message, error->code, out);
      return false;
    }
    speaking_ = true;
    rate_hz_ = backend.info().speech.sample_rate;
    std::get<ContextOptions>(options).backend = model.value();
    out.push_back(OpenContext{kWyomingContext, std::move(std::get<ContextOptions>(options))});
    return true;
  }

  JsonOut describe() const {
    JsonOut voices = JsonOut::array();
    for (const WyomingVoice& voice : wyoming_voices(*models_, desk_)) {
      JsonOut entry = part(voice.name, voice.description, voice.family);
      entry["languages"] = voice.languages;
      if (!voice.speakers.empty()) {
        JsonOut speakers = JsonOut::array();
        for (const std::string& name : voice.speakers) speakers.push_back({{"name", name}});
        entry["speakers"] = std::move(speakers);
      }
      voices.push_back(std::move(entry));
    }
    JsonOut speaks = part("syrinx", "Syrinx, a streaming speech server", "Syrinx");
    speaks["voices"] = std::move(voices);
    speaks["supports_synthesize_streaming"] = true;
    JsonOut info = {{"tts", JsonOut::array({std::move(speaks)})}};
    JsonOut ears = JsonOut::array();
    for (const RecogniserInfo& about : wyoming_recognisers(*models_, *ears_)) {
      JsonOut entry = part(about.name, about.name, about.family);
      entry["languages"] =
          about.languages.empty() ? std::vector<std::string>{"en"} : about.languages;
      ears.push_back(std::move(entry));
    }
    if (ears.empty()) return info;
    JsonOut hears = part("syrinx", "Syrinx, a streaming speech server", "Syrinx");
    hears["models"] = std::move(ears);
    hears["supports_transcript_streaming"] = true;
    info["asr"] = JsonOut::array({std::move(hears)});
    return info;
  }

  /// Returns the fields that each part of a description has.
  static JsonOut part(const std::string& name, const std::string& description,
                      const std::string& author) {
    return {{"name", name},
            {"description", description},
            {"attribution", {{"name", author}, {"url", ""}}},
            {"installed", true},
            {"version", nullptr}};
  }

  static JsonOut format(int rate_hz) { return {{"rate", rate_hz}, {"width", 2}, {"channels", 1}}; }

  void start(int rate_hz, Actions& out) {
    if (std::exchange(started_, true)) return;
    out.push_back(SendMessage{wyoming_event("audio-start", format(rate_hz))});
  }

  /// Ends the connection without an audio-stop, so that the audio does not seem complete.
  static void say_error(const std::string& text, const std::string& code, Actions& out) {
    out.push_back(SendMessage{wyoming_event("error", {{"text", text}, {"code", code}})});
  }

  void fail(const std::string& text, const std::string& code, Actions& out) {
    if (std::exchange(failed_, true)) return;
    say_error(text, code, out);
    out.push_back(CloseConnection{1008, text});
  }

  const std::shared_ptr<ModelTable> models_;
  VoiceDesk* const desk_;
  const std::shared_ptr<const Ears> ears_;
  const std::function<void()> wake_;
  WyomingParser parser_;
  std::optional<WyomingEvent> waiting_;      // an event whose model must be loaded first
  int rate_hz_ = 0;                          // sample rate of the text that is spoken
  std::string ear_, language_;               // recogniser and language that "transcribe" named
  std::unique_ptr<WyomingHearing> hearing_;  // the recording; null between recordings
  size_t chunks_ = 0;                        // segments of the recording that were sent
  bool heard_ = false;                       // the recording has ended
  bool speaking_ = false, streaming_ = false, started_ = false, failed_ = false;
};

}  // namespace

std::unique_ptr<Dialect> make_wyoming_dialect(std::shared_ptr<ModelTable> models, VoiceDesk* desk,
                                              std::shared_ptr<const Ears> ears,
                                              std::function<void()> wake) {
  return std::make_unique<WyomingDialect>(std::move(models), desk, std::move(ears),
                                          std::move(wake));
}

}  // namespace syrinx
