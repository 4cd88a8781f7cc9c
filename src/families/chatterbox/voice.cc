#include "families/chatterbox/voice.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "families/s3/pickled_voices.h"
#include "families/s3/reference.h"
#include "io/file.h"
#include "io/weights.h"
#include "kernels/sample.h"

namespace syrinx::chatterbox {
namespace {

constexpr int64_t kDummyTokens = 75;

constexpr int64_t kMostTokens = PickledVoices::kMostTokens;

/// Returns a tensor of `least` to `most` floats, with any dimensions.
Tensor floats(const PickledVoices& file, const std::string& name, int64_t least, int64_t most) {
  const TorchTensor& tensor = file.get(name);
  if (tensor.count() < least || tensor.count() > most) {
    file.fail(name, concat("expected ", least, " floats, got ", tensor.str()));
  }
  return to_f32(file.floats(tensor).reshape({tensor.count()}));
}

Voice load_voice(const std::string& path, const ModelConfig& config, const S3Flow& flow) {
  const PickledVoices file(path);
  Voice voice;
  const Tensor speaker = floats(file, "t3.speaker_emb", config.speaker, config.speaker);
  voice.speaker.assign(speaker.f32(), speaker.f32() + config.speaker);
  voice.prompt_speech = file.ids("t3.cond_prompt_speech_tokens", config.speech_vocab);
  if (static_cast<int64_t>(voice.prompt_speech.size()) > config.speech_positions) {
    file.fail("t3.cond_prompt_speech_tokens", "has more tokens than the model has positions");
  }
  if (config.emotion) voice.emotion = floats(file, "t3.emotion_adv", 1, 1).f32()[0];
  std::vector<int32_t> tokens = file.ids("gen.prompt_token", config.flow.vocab);
  const int64_t mel = config.flow.mel;
  Tensor feat = floats(file, "gen.prompt_feat", 0, (2 * kMostTokens + 2) * mel);
  // Removes excess tokens at the end, as in the authors' code. Keeps half a token of mel.
  const int64_t frames = feat.view().count() / mel;
  tokens.resize(std::min<size_t>(tokens.size(), static_cast<size_t>(frames / config.flow.ratio)));
  const auto whole = static_cast<int64_t>(tokens.size()) * config.flow.ratio;
  const int64_t rows = std::min(frames, whole + config.flow.ratio - 1);
  Tensor prompt({rows, mel}, DType::kF32);
  std::copy_n(feat.f32(), rows * mel, prompt.f32());
  const Tensor vector = floats(file, "gen.embedding", config.flow.speaker, config.flow.speaker);
  voice.flow = flow.voice(std::move(tokens), std::move(prompt),
                          {vector.f32(), static_cast<size_t>(config.flow.speaker)});
  return voice;
}

}  // namespace

Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow) {
  Voices voices;
  const std::string path = join_path(dir, "conds.pt");
  if (is_file(path)) voices.emplace(kDefaultVoice, load_voice(path, config, flow));
  std::error_code error;
  for (std::filesystem::directory_iterator each(join_path(dir, "voices"), error), end;
       !error && each != end; each.increment(error)) {
    if (each->path().extension() != ".pt") continue;
    const std::string name = each->path().stem().string();
    if (!voices.emplace(name, load_voice(each->path().string(), config, flow)).second) {
      load_fault(each->path().string(), "", "there is another voice with this name");
    }
  }
  return voices;
}

Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config, const S3Flow& flow) {
  Voice voice;
  Result<std::vector<float>> speaker = voice_floats(data, "speaker", config.speaker);
  if (!speaker) return speaker.error();
  voice.speaker = speaker.take();
  Result<std::vector<int32_t>> prompt = voice_ids(
      data, "prompt_speech", std::min(kMostTokens, config.speech_positions), config.speech_vocab);
  if (!prompt) return prompt.error();
  voice.prompt_speech = prompt.take();
  if (config.emotion) {
    const Result<std::vector<float>> emotion = voice_floats(data, "emotion", 1);
    if (!emotion) return emotion.error();
    voice.emotion = emotion.value()[0];
  }
  Result<std::shared_ptr<const S3FlowVoice>> flowing = flow_voice(data, flow);
  if (!flowing) return flowing.error();
  voice.flow = flowing.take();
  voice.key = voice_hash(data);
  return voice;
}

void add_voices(PipelineInfo& info, const Voices& voices) {
  for (const auto& [name, voice] : voices) info.speech.voices.push_back({name, "stored voice"});
  if (voices.empty()) return;
  info.speech.default_voice =
      voices.contains(kDefaultVoice) ? kDefaultVoice : voices.begin()->first;
}

std::vector<float> fade_in(int64_t sample_rate) {
  const auto half = static_cast<size_t>(sample_rate / 50);
  std::vector<float> fade(2 * half, 0.f);
  for (size_t i = 0; i < half; ++i) {
    const double turn = 1 - static_cast<double>(i) / static_cast<double>(half - 1);
    fade[half + i] = static_cast<float>((std::cos(std::numbers::pi * turn) + 1) / 2);
  }
  return fade;
}

Voices dummy_voices(const ModelConfig& config, const S3Flow& flow) {
  Voice voice;
  voice.speaker.assign(static_cast<size_t>(config.speaker), 0.1f);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < kDummyTokens; ++i) {
    tokens.push_back(static_cast<int32_t>(i * 37 % config.flow.vocab));
  }
  voice.prompt_speech = tokens;
  Tensor mel({kDummyTokens * config.flow.ratio, config.flow.mel}, DType::kF32);
  philox_normal(1, 0, 0, {mel.f32(), static_cast<size_t>(mel.view().count())});
  const std::vector<float> speaker(static_cast<size_t>(config.flow.speaker), 1.f);
  voice.flow = flow.voice(tokens, std::move(mel), speaker);
  Voices voices;
  voices.emplace("dummy", std::move(voice));
  return voices;
}

}  // namespace syrinx::chatterbox
