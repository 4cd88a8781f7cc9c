// /v1/speak of Deepgram's API: Speak, Flush, Clear, Close; the audio in binary frames. The text
// between two Clears is one context.
#include <utility>

#include "server/dialects/context_options.h"
#include "server/dialects/dialects.h"
#include "server/models/vendor_names.h"
#include "server/request/fields.h"
#include "server/request/vendor_body.h"

namespace syrinx {
namespace {

class DeepgramDialect : public Dialect {
 public:
  DeepgramDialect(ContextOptions options, std::string id, std::string model)
      : options_(std::move(options)), id_(std::move(id)), model_(std::move(model)) {}

  void opened(Actions& out) override {
    send({{"type", "Metadata"},
          {"request_id", id_},
          {"model_name", model_},
          {"model_version", ""},
          {"model_uuid", ""}},
         out);
  }

  void message(std::string_view bytes, bool binary, Actions& out) override {
    const auto parsed = binary ? std::nullopt : parse_object(bytes, LoneHalf::kMark);
    const std::string type = parsed ? string_at(*parsed, "type").value_or("") : "";
    if (type == "Speak") {
      auto text = string_at(*parsed, "text");
      if (!text) return warn("Speak needs a string 'text'.", "DATA-0000", out);
      open(out);
      out.push_back(AddText{context(), std::move(*text)});
    } else if (type == "Flush") {
      open(out);
      out.push_back(FlushContext{context()});
    } else if (type == "Clear") {
      out.push_back(CancelContext{context()});
      open_ = false;
      ++stretch_;
      send({{"type", "Cleared"}, {"sequence_id", sequence_++}}, out);
    } else if (type == "Close") {
      if (!open_) return out.push_back(CloseConnection{1000});
      out.push_back(FinishContext{context()});
    } else {
      warn("A message must be JSON in a text frame, of the type Speak, Flush, Clear or Close.",
           "DATA-0000", out);
    }
  }

  void event(const SpeechEvent& event, Actions& out) override {
    if (event.kind == SpeechEvent::kAudio && !event.bytes.empty()) {
      out.push_back(SendMessage{event.bytes, true});
    } else if (event.kind == SpeechEvent::kFlushed) {
      send({{"type", "Flushed"}, {"sequence_id", sequence_++}}, out);
    } else if (event.kind == SpeechEvent::kFinished) {
      out.push_back(CloseConnection{1000});
    } else if (event.kind == SpeechEvent::kUnspoken) {
      warn(event.error.message, event.error.code, out);
    } else if (event.kind == SpeechEvent::kFailed) {
      send({{"type", "Error"}, {"description", event.error.message}, {"code", event.error.code}},
           out);
      out.push_back(CloseConnection{event.error.status >= 500 ? 1011 : 1008, event.error.code});
    }
  }

  double idle_timeout_s() const override { return 60; }
  void idle(Actions& out) override {
    warn("No message arrived for 60 s.", "NET-0000", out);
    out.push_back(CloseConnection{1000, "idle"});
  }

 private:
  std::string context() const { return std::to_string(stretch_); }
  void open(Actions& out) {
    if (std::exchange(open_, true)) return;
    out.push_back(OpenContext{context(), options_});
  }
  static void send(const JsonOut& json, Actions& out) {
    out.push_back(SendMessage{dump_json(json)});
  }
  static void warn(const std::string& text, const std::string& code, Actions& out) {
    send({{"type", "Warning"}, {"description", text}, {"code", code}}, out);
  }

  const ContextOptions options_;
  const std::string id_, model_;
  bool open_ = false;
  int64_t stretch_ = 0, sequence_ = 0;
};

}  // namespace

std::unique_ptr<Dialect> make_deepgram_dialect(const Query& query, const std::string& id,
                                               const Speaker& speaker, ApiError& error) {
  const PipelineInfo& info = *speaker.info;
  JsonIn fields = JsonIn::object();
  // In Deepgram's API, "model" names a voice.
  const std::string model = query.find("model").value_or("");
  if (is_vendor_voice(model) || !names_model(info, model)) fields["voice"] = model;
  const std::string encoding = query.find("encoding").value_or("linear16");
  const auto coding = sample_coding(encoding);
  if (!coding) {
    error = bad_field("encoding", "'encoding' must be linear16, mulaw or alaw.");
    return nullptr;
  }
  const std::string container = query.find("container").value_or("none");
  if (container != "none") {
    error = bad_field("container", "'container' must be none on a WebSocket.");
    return nullptr;
  }
  fields["encoding"] = encoding;
  fields["sample_rate"] = *coding == SampleCoding::kS16 ? 24000 : 8000;
  if (const auto rate = query.find("sample_rate")) {
    fields["sample_rate"] = JsonIn::parse(*rate, nullptr, false);
    if (!fields["sample_rate"].is_number_integer()) {
      error = bad_field("sample_rate", "'sample_rate' must be an integer.");
      return nullptr;
    }
  }
  if (const auto speed = query.find("speed")) {
    fields["speed"] = JsonIn::parse(*speed, nullptr, false);
    if (!fields["speed"].is_number()) {
      error = bad_field("speed", "'speed' must be a number.");
      return nullptr;
    }
  }
  auto options = context_options(fields, speaker);
  if (auto* fault = std::get_if<ApiError>(&options)) {
    error = std::move(*fault);
    name_vendor_fields({VendorCall::kDeepgram}, error);
    return nullptr;
  }
  return std::make_unique<DeepgramDialect>(std::move(std::get<ContextOptions>(options)), id,
                                           info.model);
}

}  // namespace syrinx
