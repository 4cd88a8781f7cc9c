#include "families/csm/pipeline.h"

#include "codec/mimi_encoder.h"
#include "families/codec_stage.h"
#include "families/csm/backbone.h"
#include "families/loading/checkpoint.h"
#include "families/loading/recorded_voice.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::csm {
namespace {

/// Decoding a frame is much cheaper than a step of the backbone, for any chunk size. The codec
/// keeps its whole past, so the edge needs no left context and no lookahead.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};
constexpr int kListedSpeakers = 10;  // number of listed speakers; higher numbers exist, too
constexpr const char* kIndex = "transformers.safetensors.index.json";
constexpr const char* kOriginalName = "backbone.layers.0.attn.q_proj.weight";
constexpr const char* kCodecScope = "codec_model";
const NamePatterns kOnlyHears{"codec_model.encoder.*", "codec_model.encoder_transformer.*",
                              "codec_model.downsample.conv.weight",
                              "codec_model.quantizer.*.input_proj.weight"};

/// Opens the weights. In the published repository, model.safetensors has the authors' own layout.
/// The same folder has files in the layout of transformers.
std::unique_ptr<WeightSource> source(const LoadSpec& spec, const ModelConfig& config) {
  std::string file = config.weights_file;
  if (file.empty() && is_file(join_path(spec.dir, kIndex))) file = kIndex;
  auto weights = weights_at(spec, file.empty() ? spec.dir : join_path(spec.dir, file),
                            [](const std::string&) { return true; });
  if (!spec.dummy && weights->has(kOriginalName)) {
    throw LoadError(concat(weights->where(kOriginalName),
                           ": these are the weights in the authors' own layout, without the codec; "
                           "download the transformers-*.safetensors files and ",
                           kIndex, " too"));
  }
  return weights;
}

}  // namespace

Csm::Csm(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  const std::string words[] = {Frontend::kBegin, Frontend::kEnd};
  frontend_ = std::make_unique<Frontend>(open_tokenizer(spec, words, config_.text_vocab));
  weights_ = std::make_unique<Weights>(source(spec, config_));
  const Weights codec = weights_->scope(kCodecScope);
  std::unique_ptr<CodecLm> lm;
  weights_->build(
      [&] {
        lm = spec.part("ar", [&] { return load_backbone(config_, *weights_, spec.weights); });
        codec_ = spec.part("codec", [&] {
          return std::make_unique<MimiDecoder>(config_.codec, codec, at_least_8_bits(spec.weights));
        });
      },
      kOnlyHears);
  if (codec.has("downsample.conv.weight") || codec.count("encoder.layers") > 0) {
    voices_ = voices_of_frames<MimiEncoder>({.family = "csm",
                                             .version = "2",
                                             .modes = {{"continuation", true}},
                                             .min_s = 1,
                                             .max_s = 30},
                                            config_.codec.sample_rate, config_.codec, codec);
  }
  move_networks(spec, *lm, *codec_);
  spoken_ = spoken_model(config_, load_defaults(join_path(spec.dir, "generation_config.json")));
  name("csm", spec, "Apache-2.0");
  for (int i = 0; i < kListedSpeakers; ++i) {
    info_.speech.voices.push_back({std::to_string(i), "a speaker of the conversation"});
  }
  info_.speech.default_voice = "0";
  info_.speech.languages = {"auto"};
  info_.speech.context = true;
  info_.offers.add("speaker", {0, Frontend::kMaxSpeaker});
  info_.speech.no_cloning = "the checkpoint has no encoder of the codec (codec_model.encoder.*)";
  join(std::move(lm), std::make_unique<CodecStage<MimiDecoder, MimiJob>>(*codec_),
       codec_info(*codec_), kPolicy);
}

}  // namespace syrinx::csm
