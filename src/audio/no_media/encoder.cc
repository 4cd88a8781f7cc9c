// Implements audio/encoder_libav.h and audio/time_stretch.h in builds without FFmpeg and libsonic
// (SYRINX_MEDIA=OFF). make_encoder() refuses settings that need these libraries.
#include "audio/encoder_libav.h"
#include "audio/time_stretch.h"
#include "base/check.h"

namespace syrinx {

bool has_media() { return false; }

std::span<const int> libav_rates(AudioFormat) { return {}; }

Result<std::unique_ptr<Encoder>> make_libav_encoder(AudioFormat format, int,
                                                    const std::optional<AudioLabels>&) {
  return Error{ErrorCode::kUnsupported,
               concat("this build has no FFmpeg and cannot make ", audio_format_name(format),
                      "; use wav or pcm."),
               "response_format"};
}

void TimeStretch::Free::operator()(sonicStreamStruct*) const {}
TimeStretch::TimeStretch(int, double) { SYRINX_CHECK(false, "[time_stretch] needs libsonic"); }
TimeStretch::~TimeStretch() = default;
void TimeStretch::push(std::span<const float>, std::vector<float>&) {}
void TimeStretch::flush(std::vector<float>&) {}

}  // namespace syrinx
