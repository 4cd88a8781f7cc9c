#include "families/kyutai_tts/pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "io/file.h"

namespace syrinx::kyutai_tts {
namespace {

constexpr ChunkSizes kChunks{1, 2};  // a frame is 80 ms

/// Opens the vocabulary. Random weights need none.
Unigram open_words(const LoadSpec& spec, const ModelConfig& config) {
  const std::string path = join_path(spec.dir, config.files.tokenizer);
  if (spec.dummy && !is_file(path)) return Unigram::characters();
  Unigram words = Unigram::from_model(path);
  if (words.size() <= config.text_in) return words;
  throw LoadError(concat(path, ": the tokenizer has ids up to ", words.size() - 1,
                         ", but the model has only ", config.text_in));
}

}  // namespace

KyutaiTts::KyutaiTts(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, "config.json")), spec.dir)) {
  tokenizer_ = open_words(spec, config_);
  const auto open = [&](auto&& stored, const auto& config, const std::string& name) {
    return spec.dummy ? dummy_weights({}) : stored(config, join_path(spec.dir, name));
  };
  weights_ = std::make_unique<Weights>(open(open_lm, config_, config_.files.weights));
  lm_ = load_part(spec, "ar", *weights_,
                  [&] { return std::make_unique<SpeechLm>(config_, *weights_, spec.weights); });
  const Weights mimi(open(moshi::open_mimi, config_.mimi, config_.files.codec));
  auto codec = load_part(
      spec, "codec", mimi,
      [&] {
        return std::make_unique<MimiDecoder>(config_.mimi, mimi, codec_weights(spec.weights));
      },
      {"encoder.*", "encoder_transformer.*", "downsample.*", "quantizer.*.input_proj.weight",
       "quantizer.rvq_rest.vq.layers.*"});
  move_networks(spec, "ar", *lm_, "codec", *codec);
  load_voices(spec);
  describe(spec);
  join_codec(*lm_, std::move(codec), kChunks);
}

void KyutaiTts::load_voices(const LoadSpec& spec) {
  files_ = open_voices(config_, spec);
  files_->publish(
      spec, info_, {}, [this] { return random_voice(config_); }, "voices",
      concat("run 'syrinx hub pull ", kKnownVoices, "', or copy files *", config_.voice_ending,
             ".safetensors of the repository ", kVoices, " into it"));
  info_.speech.no_cloning = "Kyutai TTS has only the voices that its authors publish";
}

void KyutaiTts::describe(const LoadSpec& spec) {
  name("kyutai_tts", spec, "see the checkpoint (Kyutai's are CC-BY-4.0)");
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kToken;
  info_.speech.word_times = true;
  float low = 100, high = 0;
  for (const std::string& value : config_.guidance.values) {
    const float scale = std::strtof(value.c_str(), nullptr);
    low = std::min(low, scale), high = std::max(high, scale);
  }
  info_.offers.add("guidance", {low, high});
  info_.offers.lack({"repetition_penalty"}, "it makes many codes of each moment");
  info_.parts = {
      {"language model",
       concat(describe_decoder(config_.lm), ", ", config_.lm.window, " positions"), lm_->bytes()},
      {"depth decoder",
       concat(describe_decoder(config_.depth), ", ", config_.sets(), " weight sets for ",
              config_.codebooks(), " codes a frame"),
       lm_->depth_bytes()},
      {"tables", concat(config_.text_in, " ids x width ", config_.lm.hidden), lm_->table_bytes()}};
}

Result<Opened> KyutaiTts::open(const SpeechRequest& request) const {
  auto voice = files_->find(info_, request.voice);
  if (!voice) return voice.error();
  const std::optional<float> scale = request.sampling.guidance;
  int guidance = config_.guidance_index(scale.value_or(State::kGuidance));
  if (guidance < 0 && !scale) guidance = 0;
  if (guidance < 0) {
    std::string values;
    for (const std::string& value : config_.guidance.values)
      values += (values.empty() ? "" : ", ") + value;
    return Error{ErrorCode::kInvalid,
                 concat("unsupported guidance; the model was trained with ", values), "guidance"};
  }
  return opened(State::open(config_, *tokenizer_, voice.take(), guidance, lm_->open(), request));
}

}  // namespace syrinx::kyutai_tts
