#include "model/voice.h"

#include <cmath>

#include "base/check.h"
#include "io/digest.h"

namespace syrinx {
namespace {

std::string hundredths(double seconds) { return concat(std::round(seconds * 100) / 100, " s"); }

}  // namespace

const Tensor* Voice::find(const std::string& name) const {
  const auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

uint64_t voice_hash(const Voice& voice) {
  Digest digest;
  for (const std::string* field : {&voice.family, &voice.encoder, &voice.mode, &voice.text}) {
    digest.text(*field);
  }
  for (const auto& [name, tensor] : voice.tensors) {
    digest.text(name);
    digest.text(dtype_name(tensor.dtype()));
    digest.text(tensor.shape().str());
    digest.bytes(tensor.view().data, tensor.bytes());
  }
  return digest.key();
}

Result<std::string> check_recording(const VoiceEncoderInfo& info, const Recording& recording) {
  if (recording.sample_rate <= 0) {
    return Error{ErrorCode::kInvalid, "the recording has no sample rate", "ref_audio"};
  }
  const double seconds = recording.seconds();
  if (seconds < info.min_s || seconds > info.max_s) {
    return Error{ErrorCode::kInvalid,
                 concat("the recording lasts ", hundredths(seconds), "; this model needs ",
                        hundredths(info.min_s), " to ", hundredths(info.max_s)),
                 "ref_audio"};
  }
  std::string names;
  for (const VoiceMode& mode : info.modes) {
    names += (names.empty() ? "" : ", ") + mode.name;
    if (!recording.mode.empty() && mode.name != recording.mode) continue;
    if (!mode.needs_text || !recording.text.empty()) return mode.name;
    if (!recording.mode.empty()) {
      return Error{ErrorCode::kInvalid,
                   concat("cloning in mode '", mode.name, "' needs the words of the recording"),
                   "ref_text"};
    }
  }
  if (recording.mode.empty()) {
    return Error{ErrorCode::kInvalid, "this model needs the words of the recording", "ref_text"};
  }
  return Error{ErrorCode::kInvalid,
               concat("unknown cloning mode '", recording.mode, "', expected: ", names),
               "ref_mode"};
}

}  // namespace syrinx
