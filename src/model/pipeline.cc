#include "model/pipeline.h"

namespace syrinx {

Result<Voice> Pipeline::voice_of_embedding(std::span<const float>) const {
  return Error{ErrorCode::kUnsupported, "this model takes no speaker embeddings",
               "speaker_embedding"};
}

}  // namespace syrinx
