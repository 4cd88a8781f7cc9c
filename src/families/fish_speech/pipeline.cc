#include "families/fish_speech/pipeline.h"

#include <algorithm>

#include "codec/fish_encoder.h"
#include "families/codec_stage.h"
#include "families/fish_speech/dual_ar.h"
#include "families/loading/checkpoint.h"
#include "families/loading/recorded_voice.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::fish_speech {
namespace {

/// Chunks of one frame, then of four. A frame is 46 ms; decoding it is much cheaper than a step.
/// The codec keeps its whole past, so the edge needs no left context and no lookahead.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};
constexpr int kListedSpeakers = 10;  // number of listed speakers; higher numbers exist, too
constexpr const char* kCodecFile = "codec.pth";

/// Tables of rope and of masks that an older program of the authors saved with the weights: 305 MB.
const NamePatterns kStale{"*causal_mask", "*freqs_cis"};

NamePatterns for_cloning_only() {
  NamePatterns names{"encoder.*", "quantizer.pre_module.*", "quantizer.downsample.*",
                     "quantizer.*.in_proj.*"};
  names.insert(names.end(), kStale.begin(), kStale.end());
  return names;
}

CodecInfo describe(const FishCodec& codec) {
  const FishCodecConfig& c = codec.config();
  return {FishCodecConfig::kSampleRate, c.hop(),
          concat("1 x ", c.semantic_codes, " + ", c.codebooks - 1, " x ", c.residual_codes,
                 " codes, ", c.post_layers, " layers, ", c.hop(), " samples a frame"),
          codec.bytes()};
}

}  // namespace

FishSpeech::FishSpeech(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  Tokenizer tokenizer = open_tokenizer(spec, Prompter::control_words(), config_.vocab);
  if (spec.dummy) config_.end_token = tokenizer.id("<|im_end|>").value_or(config_.end_token);
  spoken_ = spoken_model(config_);
  prompter_ = std::make_unique<Prompter>(config_, std::move(tokenizer));
  weights_ = std::make_unique<Weights>(plain_weights_at(spec, spec.dir));
  auto lm = load_part(spec, "ar", *weights_,
                      [&] { return load_dual_ar(config_, *weights_, spec.weights); });
  move_networks(spec, *lm);
  load_codec(spec);
  name("fish_speech", spec, "Fish Audio Research License: no commercial use (see the checkpoint)");
  for (int i = 0; i < kListedSpeakers; ++i) {
    info_.speech.voices.push_back({concat(i), "a voice that the model makes up"});
  }
  info_.speech.default_voice = "0";
  info_.speech.languages = {"auto"};
  info_.speech.phones = prompter_->says_phones();
  info_.speech.context = true;
  info_.offers.add("speaker", {0, Prompter::kMaxSpeaker});
  info_.offers.lack({"instructions"}, "write them into the text, as in [whisper]");
  info_.speech.no_cloning = "codec.pth has no encoder (encoder.*)";
  join(std::move(lm), std::make_unique<CodecStage<FishCodec, FishCodecJob>>(*codec_),
       describe(*codec_), kPolicy);
}

void FishSpeech::load_codec(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, kCodecFile);
  codec_weights_ = std::make_unique<Weights>(plain_weights_at(spec, path));
  const Weights codec = fish_codec_scope(*codec_weights_);
  FishCodecConfig config = FishCodecConfig::of(codec);
  if (spec.dummy) {  // the published sizes, but with the model's number of codes
    config.codebooks = config_.codebooks;
    config.semantic_codes = std::min(config.semantic_codes, config_.codes);
    config.residual_codes = std::min(config.residual_codes, config_.codes);
  }
  codec_ = load_part(
      spec, "codec", codec,
      [&] { return std::make_unique<FishCodec>(config, codec, spec.weights); }, for_cloning_only());
  if (config.codebooks != config_.codebooks) {
    throw LoadError(concat(path, ": has ", config.codebooks, " codebooks, but the model makes ",
                           config_.codebooks));
  }
  if (config.semantic_codes > config_.codes || config.residual_codes > config_.codes) {
    throw LoadError(concat(path, ": has codebooks of ", config.semantic_codes, " and ",
                           config.residual_codes, " codes, but the model has ", config_.codes));
  }
  if (!config.encodes) return;
  voices_ = voices_of_frames<FishEncoder>({.family = "fish_speech",
                                           .version = "2",
                                           .modes = {{"in-context", true}},
                                           .min_s = 1,
                                           .max_s = 60},
                                          FishCodecConfig::kSampleRate, config, codec, kStale);
}

}  // namespace syrinx::fish_speech
