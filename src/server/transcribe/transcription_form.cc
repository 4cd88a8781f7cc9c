#include "server/transcribe/transcription_form.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "base/number.h"
#include "ears/transcript_text.h"
#include "text/languages.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxFieldBytes = 16 << 10;

/// Reads fields and records the first invalid field.
class FormReader {
 public:
  explicit FormReader(const std::vector<FormPart>& form) : form_(form) {}

  std::optional<ApiError> fault;

  const FormPart* part(std::string_view name) const {
    const auto at = std::find_if(form_.begin(), form_.end(),
                                 [&](const FormPart& each) { return each.name == name; });
    return at == form_.end() ? nullptr : &*at;
  }

  /// Returns the text of a field; an empty string if the field is absent.
  std::string_view text(const char* name) {
    const FormPart* found = part(name);
    if (found == nullptr) return {};
    if (found->data.size() > kMaxFieldBytes) {
      fail(name, concat("'", name, "' has more than ", kMaxFieldBytes, " bytes."));
      return {};
    }
    return found->data;
  }

  /// Returns all values of a list. Clients name such fields "name", "name[]" or "name[0]".
  std::vector<std::string_view> list(const std::string& name) {
    std::vector<std::string_view> out;
    for (const FormPart& each : form_) {
      if (!is_item(each.name, name)) continue;
      if (each.data.size() > kMaxFieldBytes) {
        fail(name, concat("'", name, "' has a value of more than ", kMaxFieldBytes, " bytes."));
        return {};
      }
      out.push_back(each.data);
    }
    return out;
  }

  std::optional<bool> flag(const char* name) {
    const std::string_view value = text(name);
    if (value.empty()) return {};
    if (value == "true" || value == "True" || value == "1") return true;
    if (value == "false" || value == "False" || value == "0") return false;
    fail(name, concat("'", name, "' must be 'true' or 'false'."));
    return {};
  }

  void fail(std::string param, std::string message) {
    if (!fault) fault = bad_field(std::move(param), std::move(message));
  }
  void unsupported(std::string param, std::string message) {
    if (!fault) {
      fault = ApiError{
          .message = std::move(message), .param = std::move(param), .code = "unsupported_value"};
    }
  }

 private:
  static bool is_item(std::string_view part, std::string_view name) {
    if (!part.starts_with(name)) return false;
    const std::string_view rest = part.substr(name.size());
    return rest.empty() || (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']' &&
                            rest.find_first_not_of("0123456789", 1) == rest.size() - 1);
  }
  const std::vector<FormPart>& form_;
};

void read_format(FormReader& form, TranscriptionCall& call) {
  using Format = TranscriptionCall::Format;
  const std::string_view name = form.text("response_format");
  if (name == "text") {
    call.format = Format::kText;
  } else if (name == "srt") {
    call.format = Format::kSrt;
  } else if (name == "vtt") {
    call.format = Format::kVtt;
  } else if (name == "verbose_json") {
    call.format = Format::kVerboseJson;
  } else if (name == "diarized_json") {
    form.unsupported("response_format",
                     "'diarized_json' is not supported: speakers are not distinguished.");
  } else if (!name.empty() && name != "json") {
    form.fail("response_format", "'response_format' must be json, text, srt, verbose_json or vtt.");
  }
}

void read_granularities(FormReader& form, TranscriptionCall& call) {
  const auto wanted = form.list("timestamp_granularities");
  if (wanted.empty()) return;
  call.segments = call.words = false;
  for (const std::string_view each : wanted) {
    if (each == "segment") {
      call.segments = true;
    } else if (each == "word") {
      call.words = true;
    } else {
      form.fail("timestamp_granularities",
                "'timestamp_granularities' may contain 'word' and 'segment'.");
    }
  }
  if (call.format != TranscriptionCall::Format::kVerboseJson) {
    form.fail("timestamp_granularities",
              "'timestamp_granularities' needs 'response_format': 'verbose_json'.");
  }
}

void read_temperature(FormReader& form, TranscriptionCall& call) {
  const std::string_view text = form.text("temperature");
  if (text.empty()) return;
  float value = 0;
  if (!parse_number(text, value) || !(value >= 0 && value <= 1)) {
    return form.fail("temperature", "'temperature' must be a number from 0 to 1.");
  }
  // OpenAI's default, 0, means: retry with rising temperatures as far as necessary.
  if (value > 0) call.listen.temperatures = {value};
}

/// Checks a client's chunking strategy and ignores it: recognisers find boundaries themselves.
void read_chunking(FormReader& form) {
  const std::string_view text = form.text("chunking_strategy");
  if (text.empty() || text == "auto") return;
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object() || value.value("type", ordered_json()) != "server_vad") {
    form.fail("chunking_strategy",
              "'chunking_strategy' must be 'auto' or an object of type "
              "'server_vad'.");
  }
}

std::string sse(const ordered_json& event) {
  return "data: " + event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n\n";
}

}  // namespace

std::variant<TranscriptionCall, ApiError> read_transcription(const std::vector<FormPart>& parts,
                                                             bool translate) {
  FormReader form(parts);
  TranscriptionCall call;
  const FormPart* file = form.part("file");
  if (file == nullptr) return bad_field("file", "The form must have a recording, 'file'.");
  call.file = file->data;
  call.model = form.text("model");
  call.listen.prompt = form.text("prompt");
  read_format(form, call);
  read_temperature(form, call);
  if (translate) {
    call.listen.translate = true;
  } else {
    const auto languages = form.list("languages");
    if (const std::string_view one = form.text("language"); !one.empty()) {
      call.listen.language = language_code(one.substr(0, 40));
    } else if (languages.size() == 1) {  // with several languages, the recogniser chooses
      call.listen.language = language_code(languages.front().substr(0, 40));
    }
    for (const std::string_view word : form.list("keywords")) {
      call.listen.prompt += (call.listen.prompt.empty() ? "" : ", ") + std::string(word);
    }
    read_granularities(form, call);
    read_chunking(form);
    for (const std::string_view each : form.list("include")) {
      if (each != "logprobs") {
        form.unsupported("include", "'include' may contain only 'logprobs'.");
      } else if (call.format != TranscriptionCall::Format::kJson) {
        form.fail("include", "'include': 'logprobs' needs 'response_format': 'json'.");
      }
      call.listen.scores = true;
    }
    call.stream = form.flag("stream").value_or(false);
    if (call.stream && call.format != TranscriptionCall::Format::kJson) {
      form.fail("stream", "A streamed answer needs 'response_format': 'json'.");
    }
  }
  if (form.fault) return std::move(*form.fault);
  using Format = TranscriptionCall::Format;
  call.listen.segment_times = call.format != Format::kJson && call.format != Format::kText;
  call.listen.word_times = call.words || call.format == Format::kSrt || call.format == Format::kVtt;
  call.listen.follow = call.stream;
  return call;
}

std::string transcription_body(const TranscriptionCall& call, const Transcript& transcript) {
  switch (call.format) {
    case TranscriptionCall::Format::kText:
      return transcript.text() + "\n";
    case TranscriptionCall::Format::kSrt:
      return transcript_srt(transcript);
    case TranscriptionCall::Format::kVtt:
      return transcript_vtt(transcript);
    case TranscriptionCall::Format::kVerboseJson:
      return transcript_verbose_json(transcript, {.segments = call.segments,
                                                  .words = call.words,
                                                  .translated = call.listen.translate}) +
             "\n";
    case TranscriptionCall::Format::kJson:
      break;
  }
  return transcript_json(transcript, call.listen.scores) + "\n";
}

const char* transcription_type(TranscriptionCall::Format format) {
  switch (format) {
    case TranscriptionCall::Format::kText:
      return "text/plain; charset=utf-8";
    case TranscriptionCall::Format::kSrt:
      return "application/x-subrip; charset=utf-8";
    case TranscriptionCall::Format::kVtt:
      return "text/vtt; charset=utf-8";
    case TranscriptionCall::Format::kVerboseJson:
    case TranscriptionCall::Format::kJson:
      break;
  }
  return "application/json";
}

std::string transcript_accepted_event(double duration_s, bool scores) {
  ordered_json event = {{"type", "transcript.text.delta"}, {"delta", ""}};
  if (scores) event["logprobs"] = ordered_json::array();  // clients expect the list in every event
  event["duration"] = std::round(1000 * duration_s) / 1000;
  return sse(event);
}

std::string transcript_delta_event(const TranscriptSegment& segment, bool first, bool scores) {
  const size_t begin = first ? segment.text.find_first_not_of(' ') : 0;
  const std::string delta = begin == std::string::npos ? "" : segment.text.substr(begin);
  if (delta.empty()) return {};
  ordered_json event = {{"type", "transcript.text.delta"}, {"delta", delta}};
  if (scores) event["logprobs"] = ordered_json::parse(logprobs_json(segment.pieces));
  return sse(event);
}

std::string transcript_done_event(const Transcript& transcript, bool scores) {
  ordered_json event = {{"type", "transcript.text.done"}, {"text", transcript.text()}};
  if (scores) event["logprobs"] = ordered_json::parse(logprobs_json(pieces_of(transcript)));
  event["usage"] = ordered_json::parse(usage_json(transcript));
  return sse(event);
}

std::string transcript_error_event(const ApiError& error) {
  return sse({{"type", "error"}, {"error", ordered_json::parse(error_object(error))}});
}

}  // namespace syrinx
