// Descriptions of a loaded model for users: its networks in words, its rates, its voices. Free
// functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "model/pipeline.h"
#include "nn/decoder.h"

namespace syrinx {

/// Returns "28 layers, width 1024, heads 16/8 x 128, ffn 3072"; adds the experts of a mixture.
std::string describe_decoder(const DecoderConfig& d);

/// Returns "8 x 1024 codes, 960 samples a frame, looks 2 ahead". Codec: type of a codec's config.
template <typename Codec>
std::string describe_codec(const Codec& codec) {
  std::string out = concat(codec.codebooks, " x ", codec.codebook_size, " codes, ");
  if constexpr (requires { codec.layers; }) out += concat(codec.layers, " layers, ");
  out += concat(codec.hop(), " samples a frame");
  if constexpr (requires { codec.lookahead(); }) {
    out += concat(", looks ", codec.lookahead(), " ahead");
  }
  return out;
}

/// A codec's description for users, and its rates.
struct CodecInfo {
  int64_t sample_rate = 0, hop = 0;  ///< in Hz; samples per frame
  std::string shape;
  size_t bytes = 0;
};
/// Collects the description of a loaded codec.
template <typename Codec>
CodecInfo codec_info(const Codec& codec) {
  return {codec.config().sample_rate, codec.config().hop(), describe_codec(codec.config()),
          codec.bytes()};
}

/// Sets the sample rate, in Hz, and the frame rate, for frames of `hop` samples.
void set_rates(PipelineInfo& info, int64_t sample_rate, int64_t hop);
/// Sets the voices; the first one is the default.
void set_voices(PipelineInfo& info, std::vector<VoiceInfo> voices);
/// Offers speakers that are numbers, 0 to `most`. Lists the first ten of them as voices.
void offer_speakers(PipelineInfo& info, int most, const char* description);

/// Removes the options of sampling from a model that samples no codes.
void lack_draws(PipelineInfo& info);

/// Returns the error for a voice that the model lacks.
Error unknown_voice(const PipelineInfo& info, const std::string& name);
/// Refuses a name that is not among the model's voices. A voice that is given as data may have any
/// name; without a name the model uses its default.
Status check_voice(const PipelineInfo& info, const RequestVoice& asked);
/// Does the same, and returns the name of the voice: that of the request, or the default one.
Result<std::string> voice_name(const PipelineInfo& info, const RequestVoice& asked);
/// Returns the share of each voice of the model, in their order, in a request that names one voice,
/// none, or a mix; the sum is 1. If the voices are speakers of one voice, their numbers are names.
Result<std::vector<float>> voice_shares(const PipelineInfo& info, const RequestVoice& asked);
/// Reads a speaker's number, 0 to `most`, from a voice's name. Returns `absent` for an empty name.
Result<int> speaker_number(const std::string& name, int most, int absent);

}  // namespace syrinx
