#include "families/cosyvoice2/cloning.h"

#include <algorithm>

#include "io/file.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr const char* kSpeakerFile = "campplus.onnx";
constexpr const char* kZeroShot = "zero-shot";
constexpr const char* kCrossLingual = "cross-lingual";
constexpr const char* kSpeaker = "speaker";  // mode of voices that have only a speaker vector

S3Cloning::Files files(const LoadSpec& spec, const Edition& edition) {
  return {join_path(spec.dir, edition.tokenizer), join_path(spec.dir, kSpeakerFile)};
}

}  // namespace

std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const ModelConfig& config) {
  VoiceEncoderInfo info;
  info.family = config.edition.family;
  info.version = "1.1";
  info.modes.push_back({.name = kZeroShot, .needs_text = true});
  info.modes.push_back({.name = kCrossLingual});
  S3CloningOptions options{.dummy = spec.dummy, .mel_top_hz = config.mel_top_hz};
  return std::make_unique<S3Cloning>(std::move(info), files(spec, config.edition), config.flow,
                                     options);
}

std::string missing_for_cloning(const LoadSpec& spec, const Edition& edition) {
  return spec.dummy ? "" : files(spec, edition).missing();
}

Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config,
                       const Frontend& frontend, const S3Flow& flow) {
  Voice voice;
  if (data.mode == kZeroShot) {
    voice.prompt_text = frontend.prompt_text(data.text);
    Result<std::vector<int32_t>> tokens =
        voice_ids(data, "tokens", config.max_positions, config.speech_codes);
    if (!tokens) return tokens.error();
    voice.prompt_speech = tokens.take();
  } else if (data.mode != kCrossLingual && data.mode != kSpeaker) {
    return Error{ErrorCode::kInvalid,
                 concat("this model has no voices of mode '", data.mode, "'; it has '", kZeroShot,
                        "', '", kCrossLingual, "' and '", kSpeaker, "'"),
                 "voice"};
  }
  Result<std::shared_ptr<const S3FlowVoice>> flowing = flow_voice(data, flow);
  if (!flowing) return flowing.error();
  voice.flow = flowing.take();
  return voice;
}

Result<syrinx::Voice> speaker_voice(std::span<const float> vector, const ModelConfig& config) {
  return embedding_voice(config.edition.family, kSpeaker, "speaker_vector", vector,
                         config.flow.speaker);
}

}  // namespace syrinx::cosyvoice2
