#include "model/pipeline.h"

#include <cmath>

#include "base/check.h"

namespace syrinx {
namespace {

Status check_voice(const PipelineInfo& info, const Voice* voice) {
  if (!voice || voice->family == info.family) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the voice was made for the family '", voice->family,
                      "', this model is of the family '", info.family, "'"),
               "voice"};
}

Status check_mix(const PipelineInfo& info, const std::vector<VoiceShare>& mix) {
  if (!mix.empty() && !info.mixes) {
    return Error{ErrorCode::kUnsupported, "this model does not mix voices", "voice"};
  }
  for (const VoiceShare& share : mix) {
    if (!(share.weight > 0) || !std::isfinite(share.weight)) {
      return Error{ErrorCode::kInvalid, "the weight of a voice in a mix must be above 0", "voice"};
    }
    if (Status fault = check_voice(info, share.data.get()); !fault) return fault;
  }
  return ok_status();
}

}  // namespace

Result<Voice> Pipeline::voice_of_embedding(std::span<const float>) const {
  return Error{ErrorCode::kUnsupported, "this model takes no speaker embeddings",
               "speaker_embedding"};
}

Status check_request(const PipelineInfo& info, const SpeechRequest& request) {
  if (request.text.size() > info.max_text_bytes) {
    return Error{
        ErrorCode::kInvalid,
        concat("the text has ", request.text.size(), " bytes, the limit is ", info.max_text_bytes),
        "input"};
  }
  if (request.chat && !info.writes) {
    return Error{ErrorCode::kUnsupported, "this model speaks; it does not answer messages",
                 "messages"};
  }
  if (!request.context.empty() && !info.context) {
    return Error{ErrorCode::kUnsupported, "this model does not hear a conversation's earlier turns",
                 "context"};
  }
  if (!(request.speed >= info.slowest && request.speed <= info.fastest)) {
    return Error{ErrorCode::kUnsupported,
                 concat("this model speaks at ", info.slowest, " to ", info.fastest,
                        " times its own speed, not ", request.speed),
                 "speed"};
  }
  if (Status fault = check_mix(info, request.mix); !fault) return fault;
  return check_voice(info, request.voice_data.get());
}

}  // namespace syrinx
