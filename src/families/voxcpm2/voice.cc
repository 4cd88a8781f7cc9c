#include "families/voxcpm2/voice.h"

#include <algorithm>
#include <cmath>

#include "families/loading/recorded_voice.h"

namespace syrinx::voxcpm2 {
namespace {

/// A use of a voice's latents, f32 [T, P, D]: as a reference of its sound, or as earlier speech
/// that the new speech continues.
struct Part {
  const char *tensor, *mode;
  bool silence_first;  ///< whether the silence that completes a patch precedes the audio
};
constexpr Part kReference{"reference", "reference", false}, kPrompt{"prompt", "continuation", true};
constexpr const Part* kParts[] = {&kReference, &kPrompt};

using Encoder = std::unique_ptr<AudioVaeEncoder>;

Pieces hear(const ModelConfig& config, const AudioVaeEncoder& codec, RecordedVoice& recorded) {
  recorded.resample(static_cast<int>(config.vae.sample_rate), Resampling::kSoxr);
  co_await PieceEnd();
  const std::vector<float>& samples = recorded.samples;
  const int64_t hop = config.vae.encoder_hop(), width = config.latent();
  const int64_t patches = (std::ssize(samples) + config.patch * hop - 1) / (config.patch * hop);
  const int64_t frames = patches * config.patch, silence = frames * hop - std::ssize(samples);
  for (const Part* part : kParts) {
    if (recorded.voice.mode.find(part->mode) == std::string::npos) continue;
    std::vector<float> padded(static_cast<size_t>(frames * hop), 0.f);
    std::copy(samples.begin(), samples.end(), padded.begin() + (part->silence_first ? silence : 0));
    Tensor latents({patches, config.patch, width}, DType::kF32);
    AudioVaeEncoder::Stream stream = codec.open();
    for (int64_t at = 0; at < frames;) {
      const int64_t n = std::min(frames - at, AudioVaeEncoder::kPieceFrames);
      codec.run(recorded.ctx(), stream, std::span(padded).subspan(at * hop, n * hop),
                {latents.f32() + at * width, static_cast<size_t>(n * width)});
      at += n;
      co_await PieceEnd();
    }
    recorded.voice.tensors.emplace(part->tensor, std::move(latents));
  }
}

/// Returns the length in seconds of the longest recording. A recording may be used twice, and an
/// eighth of most_voice_rows() is left for its words.
double longest_recording(const ModelConfig& config) {
  const double patch_s = static_cast<double>(config.patch * config.vae.encoder_hop()) /
                         static_cast<double>(config.vae.sample_rate);
  return std::min(60., static_cast<double>(most_voice_rows(config) * 7 / 16) * patch_s);
}

}  // namespace

int64_t most_voice_rows(const ModelConfig& config) { return config.max_positions / 2; }

std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<AudioVaeEncoder>()> load) {
  // According to the authors, a recording used in both ways yields the most similar voice.
  VoiceEncoderInfo info{
      .family = "voxcpm2",
      .version = "2",
      .modes = {{"reference+continuation", true}, {"continuation", true}, {"reference", false}},
      .min_s = 1,
      .max_s = longest_recording(config)};
  return std::make_unique<RecordedVoices<Encoder>>(
      std::move(info), std::move(load), [config](const Encoder& encoder, RecordedVoice& recorded) {
        return hear(config, *encoder, recorded);
      });
}

Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice) {
  VoicePatches out;
  for (const Part* part : kParts) {
    const Tensor* found = voice.find(part->tensor);
    if (!found) continue;
    const Shape& shape = found->shape();
    if (found->dtype() != DType::kF32 || shape.dims() != 3 || shape[1] != config.patch ||
        shape[2] != config.latent() || shape[0] < 1) {
      return foreign_voice(concat("\"", part->tensor, "\" is not f32 [patches, ", config.patch,
                                  ", ", config.latent(), "] but ", dtype_name(found->dtype()), " ",
                                  shape.str()));
    }
    const std::span<const float> all(found->f32(), static_cast<size_t>(shape.count()));
    if (!all_finite(all)) {
      return foreign_voice(concat("\"", part->tensor, "\" has numbers that are not finite"));
    }
    (part == &kReference ? out.reference : out.prompt).assign(all.begin(), all.end());
  }
  if (out.reference.empty() && out.prompt.empty()) {
    return foreign_voice("it has neither \"reference\" nor \"prompt\"");
  }
  if (!out.prompt.empty() && voice.text.empty()) {
    return foreign_voice("the words of its recording are missing");
  }
  return out;
}

}  // namespace syrinx::voxcpm2
