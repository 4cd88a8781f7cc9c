// The formats that FFmpeg's libraries encode. Only for sources in audio/.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "audio/audio_format.h"
#include "audio/encoder.h"
#include "audio/labels.h"
#include "base/error.h"

namespace syrinx {

/// Returns whether this build has FFmpeg and libsonic. Most formats, other sample rates and other
/// speeds need them.
bool has_media();
/// Returns the rates in Hz that the format's encoder supports, ascending; empty means any rate.
std::span<const int> libav_rates(AudioFormat format);

/// Makes an encoder. `format` is kMp3, kOpus, kAac, kM4a or kFlac; the rate is in libav_rates().
Result<std::unique_ptr<Encoder>> make_libav_encoder(AudioFormat format, int rate_hz,
                                                    const std::optional<AudioLabels>& labels = {});

}  // namespace syrinx
