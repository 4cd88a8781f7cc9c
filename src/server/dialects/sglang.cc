// /v1/audio/speech/realtime of SGLang-Omni: session.config, then turns of one conversation:
// turn.start, input.text (numbered and acknowledged), input.done; the audio in binary frames. Each
// turn is a context. If the model sends the codes of its turns, later turns have the earlier ones
// as context, and the codec's stream goes on. Source: SGLang-Omni,
// sglang_omni/models/moss_tts_realtime/speech_ws.py.
#include <functional>
#include <set>
#include <utility>

#include "base/check.h"
#include "model/kept_stream.h"
#include "server/dialects/context_options.h"
#include "server/dialects/dialects.h"
#include "server/request/fields.h"

namespace syrinx {
namespace {

constexpr size_t kMaxInputs = size_t{1} << 16;  // most messages with text of a turn
constexpr size_t kMaxTurnId = 200, kMostTurns = size_t{1} << 14;

class SglangDialect : public Dialect {
 public:
  SglangDialect(std::string id, const Speaker& speaker, bool strict)
      : id_(std::move(id)), speaker_(speaker), strict_(strict) {}

  void message(std::string_view bytes, bool binary, Actions& out) override {
    const auto parsed = binary ? std::nullopt : parse_object(bytes, LoneHalf::kMark);
    const std::string type = parsed ? string_at(*parsed, "type").value_or("") : "";
    if (!options_) {
      if (type == "session.config") return configure(*parsed, out);
      say_error(bad_field("type", "The first message must be session.config."), out);
      out.push_back(CloseConnection{1008, "no session.config"});
    } else if (!parsed) {
      say_error(bad_field("", "A message must be a JSON object in a text frame."), out);
    } else if (type == "turn.start") {
      start_turn(*parsed, out);
    } else if (type == "input.text" || type == "input.done" || type == "input.tokens") {
      if (has_turn(*parsed, out)) take_input(*parsed, type, out);
    } else if (type == "turn.cancel") {
      if (has_turn(*parsed, out)) cancel("client_cancelled", out);
    } else if (type == "session.close") {
      if (turn_) cancel("session_closed", out);
      send({{"type", "session.closed"}, {"session_id", id_}}, out);
      out.push_back(CloseConnection{1000});
    } else {
      say_error(bad_field("type", "Unknown message type '" + type.substr(0, 100) + "'."), out);
    }
  }

  void event(const SpeechEvent& event, Actions& out) override {
    if (!turn_ || event.context != turn_->id) return;
    switch (event.kind) {
      case SpeechEvent::kStarted:
        return start_audio(event, out);
      case SpeechEvent::kAudio:
        if (event.bytes.empty()) return;
        ++turn_->chunks;
        turn_->bytes += event.bytes.size();
        return out.push_back(SendMessage{event.bytes, true});
      case SpeechEvent::kSpoken:
        turn_->text += event.text;
        turn_->codes.insert(turn_->codes.end(), event.codes.begin(), event.codes.end());
        turn_->reason = finish_reason_name(event.reason);
        return;
      case SpeechEvent::kFinished:
        if (turn_->chunks > 0) return commit(out);
        return fail(turn_->unspoken.value_or(bad_field("text", "The turn has no words to speak.")),
                    out);
      case SpeechEvent::kUnspoken:
        turn_->unspoken = event.error;
        return;
      case SpeechEvent::kFailed:
        return fail(event.error, out);
      default:
        return;
    }
  }

  double idle_timeout_s() const override { return options_ ? 30 : 10; }
  void idle(Actions& out) override {
    say_error(bad_field("", options_ ? "No message arrived for 30 s."
                                     : "No session.config arrived for 10 s."),
              out);
    out.push_back(CloseConnection{1000, "idle"});
  }

 private:
  struct Turn {
    std::string id;
    SpeechCall call;  // with all earlier turns
    // Hashes of the messages with text, to recognise repeated ones.
    std::vector<size_t> inputs = {};
    bool done = false;     // input.done has arrived
    bool started = false;  // audio.start was sent
    size_t chunks = 0, bytes = 0;
    std::string text = {}, reason = "stop";
    std::vector<int32_t> codes = {};
    std::optional<ApiError> unspoken = {};  // the error of kUnspoken
  };

  void configure(const JsonIn& message, Actions& out) {
    const auto nested = message.find("session");
    JsonIn fields = nested == message.end() || nested->is_null() ? message : *nested;
    ApiError error = bad_field("session", "'session' must be an object.");
    if (fields.is_object()) {
      for (const char* ours : {"type", "session", "input", "stream_format"}) fields.erase(ours);
      const bool named = string_at(fields, "voice").has_value();
      if (const auto other = string_at(fields, "speaker"); other && !named)
        fields["voice"] = *other;
      // "default" is SGLang's name of a model's default voice.
      if (string_at(fields, "voice") == "default") fields.erase("voice");
      auto options = context_options(fields, speaker_.view(), strict_);
      if (auto* fault = std::get_if<ApiError>(&options)) {
        error = std::move(*fault);
      } else {
        fields_ = std::move(fields);
        options_ = std::move(std::get<ContextOptions>(options));
      }
    }
    if (!options_) {
      say_error(error, out);
      return out.push_back(CloseConnection{1008, "no usable session.config"});
    }
    options_->ssml = false;  // so a turn is one request
    const SpeechCall& call = options_->call;
    format_ = string_at(fields_, "response_format").value_or("pcm");
    JsonOut configured = {{"type", "session.configured"}, {"session_id", id_},
                          {"response_format", format_},   {"sample_rate", call.audio.out_rate_hz},
                          {"stream_audio", true},         {"input_modes", JsonOut::array({"text"})},
                          {"max_active_turns", 1},        {"seed", call.request.sampling.seed}};
    if (!call.warnings.empty()) configured["warnings"] = call.warnings;
    send(configured, out);
  }

  // -------------------------------------------------------------------------- turns

  void start_turn(const JsonIn& message, Actions& out) {
    const std::string id = string_at(message, "turn_id").value_or("");
    if (turn_) {
      return say_error(bad_field("turn_id", "The turn '" + turn_->id + "' has not ended."), out);
    }
    if (id.find_first_not_of(" \t\r\n") == std::string::npos || id.size() > kMaxTurnId) {
      return say_error(
          bad_field("turn_id", concat("'turn_id' must have 1 to ", kMaxTurnId, " bytes.")), out);
    }
    if (used_.contains(id) || used_.size() >= kMostTurns) {
      return say_error(bad_field("turn_id", "'turn_id' must be new in the session."), out);
    }
    ContextOptions options = *options_;
    if (const auto user = message.find("user"); user != message.end() && !user->is_null()) {
      if (auto error = add_user(*user, options.call)) return say_error(*error, out);
    }
    used_.insert(id);
    turn_ = Turn{.id = id, .call = options.call};
    if (speaker_.info.speech.context) options.call.request.say.kept = kept_;
    out.push_back(OpenContext{id, std::move(options)});
    send({{"type", "turn.started"},
          {"session_id", id_},
          {"turn_id", id},
          {"request_id", request_id()},
          {"next_seq_no", 0}},
         out);
  }

  /// Adds the turn of the user that comes before the model's turn.
  std::optional<ApiError> add_user(const JsonIn& user, SpeechCall& call) const {
    const bool whole = user.is_object() && string_at(user, "text") && string_at(user, "audio");
    if (!whole) return bad_field("user", "'user' must have 'text' and 'audio'.");
    JsonIn fields = fields_;
    JsonIn turn = {{"speaker", 1}, {"text", user["text"]}, {"audio", user["audio"]}};
    fields["context"] = JsonIn::array({std::move(turn)});
    auto read = context_options(fields, speaker_.view(), strict_);
    if (auto* error = std::get_if<ApiError>(&read)) return std::move(*error);
    SpeechCall& one = std::get<ContextOptions>(read).call;
    std::vector<ContextTurn>& turns = call.request.say.context;
    for (VoiceWish& wish : one.voices) {
      if (wish.turn < 0) continue;
      wish.turn = static_cast<int>(turns.size());
      call.voices.push_back(std::move(wish));
    }
    turns.push_back(std::move(one.request.say.context.back()));
    return {};
  }

  bool has_turn(const JsonIn& message, Actions& out) {
    const std::string id = string_at(message, "turn_id").value_or("");
    if (turn_ && turn_->id == id) return true;
    say_error(turn_ ? bad_field("turn_id", "The present turn is '" + turn_->id + "'.")
                    : bad_field("type", "This message must follow turn.start."),
              out);
    return false;
  }

  void take_input(const JsonIn& message, const std::string& type, Actions& out) {
    const auto number = message.find("seq_no");
    const auto text = string_at(message, "text");
    ApiError error = bad_field("seq_no", "");
    if (type == "input.tokens") {
      error = bad_field("type", "This server takes text, not tokens.");
      error.code = "unsupported_value";
    } else if (number == message.end() || !number->is_number_unsigned()) {
      error.message = "'seq_no' must be an integer of at least 0.";
    } else if (type == "input.text" && (!text || text->empty())) {
      error = bad_field("text", "'text' must be a string that is not empty.");
    } else {
      const auto seq = number->get<uint64_t>();
      const size_t hash = std::hash<std::string>()(type + text.value_or(""));
      std::vector<size_t>& inputs = turn_->inputs;
      if (seq < inputs.size() && inputs[seq] == hash) return acknowledge(seq, out);
      if (seq < inputs.size()) {
        error.message = concat("The message ", seq, " was repeated with other content.");
      } else if (seq > inputs.size()) {
        error.message = concat("'seq_no' must be ", inputs.size(), ", not ", seq, ".");
      } else if (turn_->done) {
        error = bad_field("type", "No input may follow input.done.");
      } else if (type == "input.done" && inputs.empty()) {
        error = bad_field("type", "input.done must follow an input.text.");
      } else if (inputs.size() >= kMaxInputs) {
        error.message = concat("A turn may have at most ", kMaxInputs, " messages with text.");
      } else {
        inputs.push_back(hash);
        acknowledge(seq, out);
        turn_->done = type == "input.done";
        if (turn_->done) return out.push_back(FinishContext{turn_->id});
        return out.push_back(AddText{turn_->id, *text});
      }
    }
    say_error(error, out);
  }

  void acknowledge(uint64_t seq, Actions& out) const {
    send({{"type", "input.ack"},
          {"turn_id", turn_->id},
          {"accepted_seq_no", seq},
          {"next_seq_no", turn_->inputs.size()}},
         out);
  }

  void start_audio(const SpeechEvent& event, Actions& out) {
    if (std::exchange(turn_->started, true)) return;
    JsonOut json = {{"type", "audio.start"},
                    {"id", request_id()},
                    {"turn_id", turn_->id},
                    {"format", format_},
                    {"sample_rate", event.rate_hz}};
    if (!event.warnings.empty()) json["warnings"] = event.warnings;
    send(json, out);
  }

  /// Ends the turn, which becomes context of later turns.
  void commit(Actions& out) {
    if (!turn_->codes.empty()) {
      options_->call = std::move(turn_->call);
      options_->call.request.say.context.push_back(
          {.voice = "0", .text = std::move(turn_->text), .codes = std::move(turn_->codes)});
    }
    end_turn(true, turn_->reason, out);
  }

  void cancel(const char* reason, Actions& out) {
    out.push_back(CancelContext{turn_->id});
    end_turn(false, reason, out);
  }

  void fail(const ApiError& error, Actions& out) {
    say_error(error, out);
    end_turn(false, "error", out);
  }

  /// A turn that is not `committed` leaves no trace. If its speech had begun, the codec's stream is
  /// behind the context, so the next turn begins a new one, as in SGLang-Omni.
  void end_turn(bool committed, const std::string& reason, Actions& out) {
    if (!committed && !turn_->inputs.empty()) kept_ = std::make_shared<KeptStream>();
    send({{"type", "audio.done"},
          {"id", request_id()},
          {"turn_id", turn_->id},
          {"total_chunks", turn_->chunks},
          {"total_bytes", turn_->bytes},
          {"error", reason == "error"}},
         out);
    send({{"type", "turn.done"},
          {"session_id", id_},
          {"turn_id", turn_->id},
          {"request_id", request_id()},
          {"committed", committed},
          {"reason", reason}},
         out);
    turn_.reset();
  }

  std::string request_id() const { return id_ + ":" + turn_->id; }
  static void send(const JsonOut& json, Actions& out) {
    out.push_back(SendMessage{dump_json(json)});
  }
  static void say_error(const ApiError& error, Actions& out) {
    JsonOut json = {{"type", "error"}, {"message", error.message}};
    if (!error.param.empty()) json["param"] = error.param;
    if (!error.code.empty()) json["code"] = error.code;
    send(json, out);
  }

  const std::string id_;
  const OwnSpeaker speaker_;
  const bool strict_;
  JsonIn fields_ = JsonIn::object();  // fields of the last session.config
  std::string format_;
  std::optional<ContextOptions> options_;  // the next turn's; with earlier turns as context
  std::shared_ptr<KeptStream> kept_ = std::make_shared<KeptStream>();
  std::optional<Turn> turn_;
  std::set<std::string> used_;  // ids of all turns
};

}  // namespace

std::unique_ptr<Dialect> make_sglang_dialect(const std::string& id, const Speaker& speaker,
                                             bool strict) {
  return std::make_unique<SglangDialect>(id, speaker, strict);
}

}  // namespace syrinx
