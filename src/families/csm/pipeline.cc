#include "families/csm/pipeline.h"

#include "codec/mimi.h"
#include "codec/mimi_encoder.h"
#include "families/csm/checkpoint.h"
#include "families/loading/checkpoint.h"
#include "families/loading/recorded_voice.h"

namespace syrinx::csm {
namespace {

/// Decoding a frame is much cheaper than a step of the backbone, for any chunk size. The codec
/// keeps its whole past, so the edge needs no left context and no lookahead.
constexpr ChunkSizes kChunks{1, 4};
constexpr const char* kCodecScope = "codec_model";
const NamePatterns kOnlyHears{"codec_model.encoder.*", "codec_model.encoder_transformer.*",
                              "codec_model.downsample.conv.weight",
                              "codec_model.quantizer.*.input_proj.weight"};

constexpr const char* kTable = "backbone_model.embed_tokens.embed_audio_tokens.weight";
constexpr const char* kDepthTable = "depth_decoder.model.embed_tokens.weight";

/// Splits one tensor [C * V, H] into its C tables.
std::vector<View> code_tables(const ModelConfig& config, const Weights& weights,
                              const std::string& name) {
  const int64_t rows = config.codebooks * config.code_vocab;
  return tables_in(weights.take(name, {rows, config.backbone.hidden}), config.codebooks);
}

/// Returns the tables of text and codes. A tied checkpoint stores the codes' tables as kTable or as
/// kDepthTable.
std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const bool other = config.tied && !weights.has(kTable) && weights.has(kDepthTable);
  std::vector<View> tables = code_tables(config, weights, other ? kDepthTable : kTable);
  tables.insert(tables.begin(), weights.take("embed_text_tokens.weight",
                                             {config.text_vocab, config.backbone.hidden}));
  return tables;
}

std::vector<View> depth_tables(const ModelConfig& config, const Weights& weights,
                               const std::vector<View>& inputs) {
  if (!config.tied) return code_tables(config, weights, kDepthTable);
  weights.ignore(kDepthTable);
  return {inputs.begin() + 1, inputs.end()};
}

std::unique_ptr<InnerCodes> depth_decoder(const ModelConfig& config, const Weights& weights,
                                          std::vector<View> tables, WeightType type) {
  const int64_t depth = config.depth.hidden, v = config.code_vocab;
  const Weights model = weights.scope("model");
  InnerCodesParts parts{InnerDecoder(config.depth, model, type, config.codebooks),
                        std::move(tables),
                        {},
                        load_linear(model, "inputs_embeds_projector", depth, config.backbone.hidden,
                                    false, at_least_8_bits(type))};
  const View heads = weights.take("codebooks_head.weight", {config.codebooks - 1, depth, v});
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    const Tensor head = transposed(heads.slice(i, i + 1).reshape({depth, v}));
    parts.heads.push_back(PackedLinear::pack(head, at_least_8_bits(type)));
  }
  return std::make_unique<InnerCodes>(std::move(parts));
}

/// Loads the backbone, whose head makes code 0 of a step, and the depth decoder, which makes the
/// other codes one after another. Tables: that of the text, then those of the C codebooks.
std::unique_ptr<CodecLm> load_backbone(const ModelConfig& config, const Weights& weights,
                                       WeightType type) {
  CodecLmParts parts =
      lm_parts(config.backbone, weights.scope("backbone_model"), type, config.max_positions);
  parts.tables = input_tables(config, weights);
  parts.heads.push_back(
      load_head(weights, "lm_head", config.code_vocab, config.backbone.hidden, type));
  parts.inner = depth_decoder(config, weights.scope("depth_decoder"),
                              depth_tables(config, weights, parts.tables), type);
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace

Csm::Csm(const LoadSpec& spec) {
  Checkpoint files = open_checkpoint(spec);
  config_ = std::move(files.config);
  tokenizer_ = std::make_unique<Tokenizer>(std::move(files.tokenizer));
  for (const char* word : {kBegin, kEnd}) tokenizer_->need_id(word);
  weights_ = std::make_unique<Weights>(std::move(files.weights));
  const Weights codec = weights_->scope(kCodecScope);
  std::unique_ptr<CodecLm> lm;
  std::unique_ptr<MimiDecoder> decoder;
  weights_->build(
      [&] {
        lm = spec.part("ar", [&] { return load_backbone(config_, *weights_, spec.weights); });
        decoder = spec.part("codec", [&] {
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
  move_networks(spec, "ar", *lm, "codec", *decoder);
  spoken_ = spoken_model(config_, files.defaults);
  name("csm", spec, "Apache-2.0");
  offer_speakers(info_, kMaxSpeaker, "a speaker of the conversation");
  info_.speech.languages = {"auto"};
  info_.speech.context = true;
  info_.speech.no_cloning = "the checkpoint has no encoder of the codec (codec_model.encoder.*)";
  join(std::move(lm), std::move(decoder), kChunks);
}

}  // namespace syrinx::csm
