#include "families/voxtral_tts/pipeline.h"

#include <algorithm>

#include "families/loading/checkpoint.h"
#include "families/loading/voice_tensors.h"
#include "families/voxtral_tts/speech_lm.h"
#include "io/file.h"
#include "io/torch_pickle.h"
#include "kernels/sample.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr const char* kWeights = "consolidated.safetensors";
constexpr const char* kVoices = "voice_embedding";
/// Voice of requests without a name: that of SGLang-Omni; the authors' server has none.
constexpr const char* kUsual = "cheerful_female";
constexpr int64_t kRandomRows = 147;  // as many as casual_male has
constexpr ChunkSizes kChunks{1, 6};   // a frame is 80 ms

/// Reads a voice's file: one tensor of floats [N, H].
VoiceRows read_voice(const ModelConfig& config, const std::string& path) {
  const TorchPickle file(path);
  const int64_t width = config.lm.hidden, most = config.max_positions / 2;
  const std::vector<TorchTensor>& all = file.tensors();
  const bool fits = all.size() == 1 && all[0].dtype && all[0].sizes.size() == 2 &&
                    all[0].sizes[0] >= 1 && all[0].sizes[0] <= most && all[0].sizes[1] == width;
  if (!fits) {
    load_fault(path, "",
               concat("expected one tensor of floats [up to ", most, ", ", width, "], got ",
                      all.size() == 1 ? all[0].str() : concat(all.size(), " tensors")));
  }
  const Tensor rows = stored_floats(file.view(all[0]), path);
  return VoiceRows(rows.f32(), rows.f32() + rows.shape().count());
}

}  // namespace

VoxtralTts::VoxtralTts(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, kMarker)))),
      tokenizer_(std::make_unique<Tokenizer>(open_words(spec, config_))) {
  weights_ = std::make_unique<Weights>(plain_weights_at(spec, join_path(spec.dir, kWeights)));
  std::unique_ptr<SpeechLm> lm;
  std::unique_ptr<VoxtralCodec> codec;
  weights_->build(
      [&] {
        lm = spec.part(
            "ar", [&] { return std::make_unique<SpeechLm>(config_, *weights_, spec.weights); });
        codec = spec.part("codec", [&] {
          return std::make_unique<VoxtralCodec>(config_.codec, weights_->scope("audio_tokenizer"),
                                                at_least_8_bits(spec.weights));
        });
      },
      // The head of text, the codec's encoder and a constant, which some files have.
      {"output.weight", "audio_tokenizer.input_proj.*", "audio_tokenizer.encoder_blocks.*",
       "acoustic_transformer.time_embedding.inv_freq"});
  move_networks(spec, "ar", *lm, "codec", *codec);
  spoken_ = spoken_model(config_);
  name("voxtral_tts", spec, "CC-BY-NC-4.0 (not for commercial use)");
  info_.speech.languages = {"auto"};
  info_.speech.no_cloning =
      "the published checkpoint has no encoder of recordings; the model has only its named voices";
  const FlowHead& flow = lm->flow();
  join(std::move(lm), std::move(codec), kChunks);
  info_.parts.push_back({"acoustic transformer",
                         concat(describe_decoder(config_.flow), ", ", config_.steps, " steps for ",
                                config_.codec.acoustic(), " codes"),
                         flow.bytes()});
  load_voices(spec);
}

void VoxtralTts::load_voices(const LoadSpec& spec) {
  files_ = std::make_unique<VoiceFiles<VoiceRows>>(
      files_below(spec.dir, {kVoices}, ".pt"),
      [config = config_](const std::string& path) { return read_voice(config, path); });
  const auto random = [&] {
    VoiceRows rows(
        static_cast<size_t>(std::min(kRandomRows, config_.max_positions / 4) * config_.lm.hidden));
    philox_normal(1, 0, 0, rows);
    return rows;
  };
  files_->publish(spec, info_, {kUsual}, random, kVoices,
                  "download the .pt files of this folder of the repository");
}

Result<std::unique_ptr<SpokenScript>> VoxtralTts::script(const SpeechRequest& request) const {
  auto voice = files_->find(info_, request.voice);
  if (!voice) return voice.error();
  return make_script(config_, *tokenizer_, voice.take());
}

}  // namespace syrinx::voxtral_tts
