#include "families/higgs/voice.h"

#include "base/check.h"

namespace syrinx::higgs {

Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice,
                                         int64_t most) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::kInvalid, "the voice is none of this model: " + why, "voice"};
  };
  const Tensor* codes = voice.find("codes");
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != config.codebooks || codes->shape()[0] < 1) {
    return refuse(concat("it needs \"codes\" i32 [frames, ", config.codebooks, "]"));
  }
  if (codes->shape()[0] > most) {
    return refuse(concat("it has ", codes->shape()[0], " frames, at most ", most, " fit"));
  }
  std::vector<int32_t> out(codes->i32(), codes->i32() + codes->shape().count());
  for (const int32_t code : out) {
    if (code < 0 || code >= config.real_codes()) {
      return refuse(concat("code ", code, " of ", config.real_codes()));
    }
  }
  return out;
}

}  // namespace syrinx::higgs
