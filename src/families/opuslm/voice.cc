#include "families/opuslm/voice.h"

#include "base/check.h"

namespace syrinx::opuslm {

Result<std::vector<int32_t>> voice_ids(const ModelConfig& config, const Prompter& prompter,
                                       const Voice& voice) {
  const Tensor* codes = voice.find("codes");
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != config.streams || codes->shape()[0] < 1) {
    return Error{ErrorCode::kInvalid,
                 concat("the voice is none of this model: it needs \"codes\" i32 [frames, ",
                        config.streams, "], a unit and ", config.streams - 1, " codes a frame"),
                 "voice"};
  }
  return prompter.ids_of({codes->i32(), static_cast<size_t>(codes->shape().count())}, "voice");
}

}  // namespace syrinx::opuslm
