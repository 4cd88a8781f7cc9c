#include "server/chat/sent_recording.h"

#include <algorithm>
#include <cmath>

#include "audio/recording_libav.h"
#include "base/check.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr double kMostDecode_s = 10;

}  // namespace

Result<std::shared_ptr<const Recording>> sent_recording(std::string_view base64,
                                                        RecordingLimits limits) {
  const std::optional<std::string> file = base64_decoded(base64);
  if (!file || file->empty()) return Error{ErrorCode::kInvalid, "invalid base64"};
  if (limits.max_s <= 0)
    return Error{ErrorCode::kInvalid,
                 "the chat's earlier recordings already reach the limit of their total length"};
  limits.max_decode_s = kMostDecode_s;
  auto decoded = decode_file(*file, limits);
  if (!decoded.ok()) {
    Error error = decoded.error();
    error.param.clear();
    return error;
  }
  auto recording = std::make_shared<Recording>();
  recording->samples = std::move(decoded.value().samples);
  recording->sample_rate = decoded.value().sample_rate;
  for (float& sample : recording->samples) {
    // Files of floats may contain infinities and NaN.
    sample = std::isfinite(sample) ? std::clamp(sample, -1.f, 1.f) : 0.f;
  }
  return std::shared_ptr<const Recording>(std::move(recording));
}

}  // namespace syrinx
