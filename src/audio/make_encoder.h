// Makes encoders of all formats. WAV and raw PCM use own code; MP3, Opus, AAC, M4A and FLAC use
// FFmpeg's libraries. An encoder keeps one state from the first sample to the last, so that no
// seams are audible. Free functions; any thread.
//
// Length of the decoded result, for n samples at rate_hz():
//   wav, pcm, flac  exactly n samples
//   opus            exactly n samples: the stream declares its priming and its end
//   mp3             n samples and up to two frames of silence after them. An Info frame declares
//                   the priming; it cannot declare the end, because it is the first frame
//   aac             1024 samples of priming, n samples, and up to a frame of silence: ADTS cannot
//                   declare priming or end
//   m4a             the samples of aac, in MP4 fragments of a quarter of a second. An edit list
//                   declares the priming; FFmpeg 7 removes the priming, FFmpeg 5 does not. With
//                   labels an index instead of fragments: n samples; FFmpeg 5 also plays the rest
//                   of the last frame
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "audio/audio_format.h"
#include "audio/encoder.h"
#include "audio/labels.h"
#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {

/// The input's rate, and the format and settings of the output.
struct EncoderOptions {
  AudioFormat format = AudioFormat::kWav;
  int in_rate_hz = 24000;
  int out_rate_hz = 0;                       ///< 0: in_rate_hz, or the next rate of the format
  double speed = 1;                          ///< speed factor, 0.25 to 4; the pitch is unchanged
  double volume = 1;                         ///< factor of change_volume()
  SampleCoding coding = SampleCoding::kS16;  ///< for pcm and wav; other formats ignore it
  /// Labels of a file; wav, pcm and aac ignore them. The caller must overwrite the first bytes with
  /// first_bytes(), because they are not complete before.
  std::optional<AudioLabels> labels = {};
};

/// Returns the content type of an HTTP answer, e.g. "audio/pcm; rate=24000; channels=1". `rate_hz`
/// is Encoder::rate_hz().
std::string content_type(const EncoderOptions& options, int rate_hz);

/// Makes an encoder. If the format does not support a setting, the Error names "sample_rate",
/// "speed" or "volume". If the libraries lack the encoder, the Error is kInternal.
Result<std::unique_ptr<Encoder>> make_encoder(const EncoderOptions& options);

}  // namespace syrinx
