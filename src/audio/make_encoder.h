// Encoders of all formats: WAV and raw PCM by own code; MP3, Opus, AAC, M4A and FLAC by FFmpeg's
// libraries. An encoder has one state from the first sample to the last, so that there are no
// audible seams. Free functions; any thread.
//
// How long the result plays, for n samples at rate_hz():
//   wav, pcm, flac  n samples exactly
//   opus            n samples exactly: the stream declares its priming and where it ends
//   mp3             n samples and up to two frames of silence after them; the priming is declared
//                   in an Info frame, the end cannot be, because it comes first
//   aac             1024 samples of priming, n samples, up to a frame of silence: ADTS has no place
//                   to declare either
//   m4a             the same samples as aac, in fragments of MP4, a quarter of a second each; an
//                   edit list declares the priming, which FFmpeg does not read in fragments
#pragma once

#include <memory>
#include <string>

#include "audio/audio_format.h"
#include "audio/encoder.h"
#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {

/// The input's rate, and the format and settings of the output.
struct EncoderOptions {
  AudioFormat format = AudioFormat::kWav;
  int in_rate_hz = 24000;
  int out_rate_hz = 0;                       ///< 0: the input's, or the next higher supported rate
  double speed = 1;                          ///< factor of the speed, 0.25 to 4; the pitch stays
  double volume = 1;                         ///< factor of change_volume()
  SampleCoding coding = SampleCoding::kS16;  ///< for pcm and wav; other formats have their own
};

/// Returns the content type of an HTTP answer: "audio/mpeg", "audio/pcm; rate=24000; channels=1".
/// `rate_hz` is Encoder::rate_hz().
std::string content_type(const EncoderOptions& options, int rate_hz);

/// Makes an encoder. If the format does not support a setting, the Error names "sample_rate",
/// "speed" or "volume"; if the libraries lack the encoder, it is kInternal.
Result<std::unique_ptr<Encoder>> make_encoder(const EncoderOptions& options);

}  // namespace syrinx
