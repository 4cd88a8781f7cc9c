#include "families/opuslm/voice.h"

#include "base/check.h"

namespace syrinx::opuslm {

Result<std::vector<int32_t>> voice_ids(const ModelConfig& config, const Prompter& prompter,
                                       const SpeechRequest& request) {
  if (!request.voice.data) {
    if (request.voice.name.empty() || request.voice.name == "default")
      return std::vector<int32_t>();
    return Error{
        ErrorCode::kNotFound,
        "the model has no voice \"" + request.voice.name +
            "\"; use \"default\" for a made-up voice, or a voice from a recording or from codes",
        "voice"};
  }
  const Tensor* codes = request.voice.data->find("codes");
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != config.streams || codes->shape()[0] < 1) {
    return Error{ErrorCode::kInvalid,
                 concat("the voice does not fit this model: it needs \"codes\" i32 [frames, ",
                        config.streams, "], a unit and ", config.streams - 1, " codes a frame"),
                 "voice"};
  }
  return prompter.ids_of({codes->i32(), static_cast<size_t>(codes->shape().count())}, "voice");
}

}  // namespace syrinx::opuslm
