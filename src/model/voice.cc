#include "model/voice.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace syrinx {
namespace {

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
class Fnv {
 public:
  void bytes(const void* data, size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ p[i]) * 0x100000001b3u;
  }
  void number(uint64_t n) { bytes(&n, sizeof n); }
  /// With its length, so that neighbours cannot flow into each other.
  void text(std::string_view s) {
    number(s.size());
    bytes(s.data(), s.size());
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

std::string tenths(double seconds) { return concat(std::round(seconds * 10) / 10, " s"); }

}  // namespace

const Tensor* Voice::find(const std::string& name) const {
  const auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

uint64_t voice_hash(const Voice& voice) {
  Fnv hash;
  for (const std::string* field : {&voice.family, &voice.encoder, &voice.mode, &voice.text}) {
    hash.text(*field);
  }
  for (const auto& [name, tensor] : voice.tensors) {
    hash.text(name);
    hash.text(dtype_name(tensor.dtype()));
    hash.text(tensor.shape().str());
    hash.bytes(tensor.view().data, tensor.bytes());
  }
  return hash.value();
}

Result<std::string> check_recording(const VoiceEncoderInfo& info, const Recording& recording) {
  if (recording.sample_rate <= 0) {
    return Error{ErrorCode::kInvalid, "the recording has no sample rate", "ref_audio"};
  }
  const double seconds = recording.seconds();
  if (seconds < info.min_s || seconds > info.max_s) {
    return Error{ErrorCode::kInvalid,
                 concat("the recording lasts ", tenths(seconds), "; this model needs ",
                        tenths(info.min_s), " to ", tenths(info.max_s)),
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
               concat("there is no cloning mode '", recording.mode, "' here, but: ", names),
               "ref_mode"};
}

}  // namespace syrinx
