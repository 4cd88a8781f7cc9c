#include "server/dialects/context_options.h"

#include <utility>

#include "base/check.h"
#include "text/surrogates.h"

namespace syrinx {

std::variant<ContextOptions, ApiError> context_options(const JsonIn& fields, const Speaker& speaker,
                                                       bool strict) {
  const PipelineInfo& info = *speaker.info;
  JsonIn body = fields;
  body["input"] = "text";  // a placeholder: a context's texts are checked when they arrive
  const auto format = string_at(body, "response_format");
  if (!format) body["response_format"] = "pcm";
  std::optional<bool> ssml;  // applies to the text, which arrives later
  if (const auto at = body.find("ssml"); at != body.end() && at->is_boolean()) {
    ssml = at->get<bool>();
    body.erase(at);
  }
  const bool raw = !format || *format == "pcm";
  if (raw && body.value("sample_rate", JsonIn()).is_null())
    body["sample_rate"] = info.speech.sample_rate;
  if (const auto model = string_at(body, "model"); model && !names_model(info, *model)) {
    return ApiError{.status = 404,
                    .message = concat("This connection uses the model '", info.model,
                                      "'; name another one in the URL (?model=NAME)."),
                    .param = "model",
                    .code = "model_not_found"};
  }
  const std::string text = dump_json(body);
  auto parsed = SpeechBody::parse(HalfJoiner().push(text));  // joins surrogate halves in strings
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  auto call = std::get<SpeechBody>(parsed).call(speaker, strict);
  if (auto* error = std::get_if<ApiError>(&call)) return std::move(*error);
  ContextOptions options{.call = std::move(std::get<SpeechCall>(call))};
  options.call.request.say.text.clear();
  options.ssml = ssml;
  options.strict = strict;
  return options;
}

}  // namespace syrinx
