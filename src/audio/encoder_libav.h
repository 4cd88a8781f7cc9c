// The formats that FFmpeg's libraries encode. Inside audio/ only.
#pragma once

#include <memory>
#include <span>

#include "audio/audio_format.h"
#include "audio/encoder.h"
#include "base/error.h"

namespace syrinx {

/// Whether this build has FFmpeg and libsonic, and so other formats, rates and speeds than a model's.
bool has_media();
/// Rates in Hz that the format's encoder takes, ascending; empty: any.
std::span<const int> libav_rates(AudioFormat format);

/// `format` is kMp3, kOpus, kAac or kFlac, the rate one of the above.
Result<std::unique_ptr<Encoder>> make_libav_encoder(AudioFormat format, int rate_hz);

}  // namespace syrinx
