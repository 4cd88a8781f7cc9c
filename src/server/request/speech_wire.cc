#include "server/request/speech_wire.h"

#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/request/fields.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

class BareWire : public SpeechWire {
 public:
  std::string piece(std::string_view audio, std::span<const TimedWord>) override {
    return std::string(audio);
  }
};

class OpenAiWire : public SpeechWire {
 public:
  std::string content_type() const override { return "text/event-stream"; }
  std::string piece(std::string_view audio, std::span<const TimedWord>) override {
    return audio.empty() ? "" : audio_event(audio);
  }
  std::string end(const SpeechCall& call, const Outcome& outcome,
                  const PipelineInfo& info) override {
    return done_event(call, outcome, info);
  }
  std::optional<std::string> fault(const ApiError& error) override { return error_event(error); }
};

/// Sends the messages of Cartesia's WebSocket as events.
class CartesiaWire : public SpeechWire {
 public:
  CartesiaWire(const VendorCall& vendor, std::string request_id)
      : words_(vendor.words), context_(vendor.context_id), request_id_(std::move(request_id)) {}

  std::string content_type() const override { return "text/event-stream"; }
  bool wants_words() const override { return words_; }
  std::string piece(std::string_view audio, std::span<const TimedWord> words) override {
    std::string out;
    if (!words.empty()) {
      JsonOut names = JsonOut::array(), starts = JsonOut::array(), ends = JsonOut::array();
      for (const TimedWord& word : words) {
        names.push_back(word.text);
        starts.push_back(word.begin_s);
        ends.push_back(word.end_s);
      }
      JsonOut fields = named("timestamps", 206, false);
      fields["word_timestamps"] = {{"words", names}, {"start", starts}, {"end", ends}};
      out += event("timestamps", fields);
    }
    if (!audio.empty()) {
      JsonOut fields = named("chunk", 206, false);
      fields["data"] = base64(audio);
      fields["step_time"] = 1e3 * (now_s() - std::exchange(stepped_s_, now_s()));
      out += event("chunk", fields);
    }
    return out;
  }
  std::string end(const SpeechCall&, const Outcome&, const PipelineInfo&) override {
    return event("done", named("done", 200, true));
  }
  std::optional<std::string> fault(const ApiError& error) override {
    JsonOut fields = named("error", error.status, true);
    fields["title"] = error.status >= 500 ? "Server error" : "Invalid request";
    fields["message"] = error.message;
    fields["error_code"] = error.code;
    fields["request_id"] = request_id_;
    return event("error", fields);
  }

 private:
  JsonOut named(const char* type, int status, bool done) const {
    JsonOut out = {{"type", type}, {"status_code", status}, {"done", done}};
    if (!context_.empty()) out["context_id"] = context_;
    return out;
  }
  static std::string event(const char* type, const JsonOut& fields) {
    return concat("event: ", type, "\ndata: ", dump_json(fields), "\n\n");
  }
  const bool words_;
  const std::string context_, request_id_;
  double stepped_s_ = now_s();
};

/// Sends JSON of audio and its times: one object for the whole answer, or a line with an object for
/// each piece. `alignment` is null without words.
class ElevenLabsWire : public SpeechWire {
 public:
  explicit ElevenLabsWire(bool by_piece) : by_piece_(by_piece) {}
  std::string content_type() const override {
    return by_piece_ ? "application/x-ndjson" : "application/json";
  }
  bool wants_words() const override { return true; }
  std::string piece(std::string_view audio, std::span<const TimedWord> words) override {
    JsonOut fields = {{"audio_base64", base64(audio)}};
    fields["alignment"] = words.empty() ? JsonOut() : alignment(words);
    fields["normalized_alignment"] = fields["alignment"];
    return dump_json(fields) + "\n";
  }
  std::optional<std::string> fault(const ApiError& error) override { return error_body(error); }

 private:
  static JsonOut alignment(std::span<const TimedWord> words) {
    JsonOut characters = JsonOut::array(), begins = JsonOut::array(), ends = JsonOut::array();
    for (const TimedCharacter& each : timed_characters(words)) {
      characters.push_back(each.text);
      begins.push_back(each.begin_s);
      ends.push_back(each.end_s);
    }
    return {{"characters", characters},
            {"character_start_times_seconds", begins},
            {"character_end_times_seconds", ends}};
  }
  const bool by_piece_;
};

/// Sends lines of JSON with audio, its format and the words that have ended.
class CaptionWire : public SpeechWire {
 public:
  CaptionWire(bool words, bool by_piece, std::string format)
      : words_(words), by_piece_(by_piece), format_(std::move(format)) {}
  std::string content_type() const override {
    return by_piece_ ? "application/x-ndjson" : "application/json";
  }
  bool wants_words() const override { return words_; }
  std::string piece(std::string_view audio, std::span<const TimedWord> words) override {
    JsonOut times = JsonOut::array();
    for (const TimedWord& word : words) {
      times.push_back(
          {{"word", word.text}, {"start_time", word.begin_s}, {"end_time", word.end_s}});
    }
    const JsonOut fields = {
        {"audio", base64(audio)}, {"audio_format", format_}, {"timestamps", times}};
    return dump_json(fields) + "\n";
  }
  std::optional<std::string> fault(const ApiError& error) override {
    return error_body(error) + "\n";
  }

 private:
  const bool words_, by_piece_;
  const std::string format_;
};

}  // namespace

std::unique_ptr<SpeechWire> make_speech_wire(const SpeechCall& call, const VendorCall* vendor,
                                             const std::string& request_id) {
  switch (vendor == nullptr ? VendorCall::kAudio : vendor->answer) {
    case VendorCall::kEvents:
      return std::make_unique<CartesiaWire>(*vendor, request_id);
    case VendorCall::kTimes:
    case VendorCall::kTimesByPiece:
      return std::make_unique<ElevenLabsWire>(vendor->answer == VendorCall::kTimesByPiece);
    case VendorCall::kCaptions:
      return std::make_unique<CaptionWire>(vendor->words, call.sse,
                                           content_type(call.audio, call.audio.out_rate_hz));
    case VendorCall::kAudio:
      break;
  }
  if (call.sse) return std::make_unique<OpenAiWire>();
  return std::make_unique<BareWire>();
}

}  // namespace syrinx
