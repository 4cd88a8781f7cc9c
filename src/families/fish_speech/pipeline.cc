#include "families/fish_speech/pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec/fish_encoder.h"
#include "families/loading/checkpoint.h"
#include "families/loading/recorded_voice.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::fish_speech {
namespace {

/// Chunks of one frame, then of four. A frame is 46 ms; decoding it is much cheaper than a step.
/// The codec keeps its whole past, so the edge needs no left context and no lookahead.
constexpr ChunkSizes kChunks{1, 4};
constexpr const char* kCodecFile = "codec.pth";

/// Tables of rope and of masks that an older program of the authors saved with the weights: 305 MB.
const NamePatterns kStale{"*causal_mask", "*freqs_cis"};

NamePatterns for_cloning_only() {
  NamePatterns names{"encoder.*", "quantizer.pre_module.*", "quantizer.downsample.*",
                     "quantizer.*.in_proj.*"};
  names.insert(names.end(), kStale.begin(), kStale.end());
  return names;
}

std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const int64_t width = config.slow.hidden, rows = config.codebooks * config.codes;
  std::vector<View> tables = tables_in(
      weights.take("audio_decoder.codebook_embeddings.weight", {rows, width}), config.codebooks);
  tables.insert(tables.begin(),
                weights.take("text_model.model.embeddings.weight", {config.vocab, width}));
  return tables;
}

StreamHead head_of(const ModelConfig& config, const View& table, WeightType type) {
  const LinearPart parts[] = {
      {table.slice(config.semantic_begin, config.semantic_begin + config.codes)},
      {table.slice(config.end_token, config.end_token + 1)}};
  return whole_head(PackedLinear::pack(parts, at_least_8_bits(type)));
}

/// Loads the fast network. Its table gets one more row, for the end. As in the authors' code, that
/// row equals the row of code 0.
std::unique_ptr<InnerCodes> fast_network(const ModelConfig& config, const Weights& weights,
                                         WeightType type) {
  const int64_t v = config.codes, width = config.fast.hidden;
  const View stored = weights.take("embeddings.weight", {v, width});
  Tensor table({v + 1, width}, stored.dtype);
  std::memcpy(table.view().data, stored.data, stored.bytes());
  const View end = table.view().slice(v, v + 1);
  std::memcpy(end.data, stored.data, end.bytes());
  InnerCodesParts parts{
      InnerDecoder(config.fast, weights, type, config.codebooks), {table.view()}, {}};
  parts.heads.push_back(load_linear(weights, "output", v, width, false, at_least_8_bits(type)));
  parts.own_table = std::move(table);
  return std::make_unique<InnerCodes>(std::move(parts));
}

/// Loads the two networks (fish-speech:fish_speech/models/text2semantic/llama.py). The slow one,
/// over text and frames, makes the first code of a step, or the end; its head has rows only for
/// these. The fast one makes the other codes. Tables: the table of ids, then those of the C
/// codebooks.
std::unique_ptr<CodecLm> load_dual_ar(const ModelConfig& config, const Weights& weights,
                                      WeightType type) {
  CodecLmParts parts =
      lm_parts(config.slow, weights.scope("text_model").scope("model"), type, config.max_positions);
  parts.tables = input_tables(config, weights);
  parts.heads.push_back(head_of(config, parts.tables.front(), type));
  parts.inner = fast_network(config, weights.scope("audio_decoder"), type);
  parts.inner_vocab.assign(static_cast<size_t>(config.codebooks - 1),
                           static_cast<int>(config.codes));
  // A frame's row is the sum of its C + 1 entries, divided by the square root of their number.
  parts.frame_scale = 1.f / std::sqrt(static_cast<float>(parts.tables.size()));
  return std::make_unique<CodecLm>(std::move(parts));
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
  std::unique_ptr<FishCodec> codec = load_codec(spec);
  move_networks(spec, "ar", *lm, "codec", *codec);
  name("fish_speech", spec, "Fish Audio Research License: no commercial use (see the checkpoint)");
  offer_speakers(info_, Prompter::kMaxSpeaker, "a voice that the model makes up");
  info_.speech.languages = {"auto"};
  info_.speech.phones = prompter_->says_phones();
  info_.speech.context = true;
  info_.offers.lack({"instructions"}, "write them into the text, as in [whisper]");
  info_.speech.no_cloning = "codec.pth has no encoder (encoder.*)";
  join(std::move(lm), std::move(codec), kChunks);
}

std::unique_ptr<FishCodec> FishSpeech::load_codec(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, kCodecFile);
  codec_weights_ = std::make_unique<Weights>(plain_weights_at(spec, path));
  const Weights codec = fish_codec_scope(*codec_weights_);
  FishCodecConfig config = FishCodecConfig::of(codec);
  if (spec.dummy) {  // the published sizes, but with the model's number of codes
    config.codebooks = config_.codebooks;
    config.semantic_codes = std::min(config.semantic_codes, config_.codes);
    config.residual_codes = std::min(config.residual_codes, config_.codes);
  }
  auto decoder = load_part(
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
  if (!config.encodes) return decoder;
  voices_ = voices_of_frames<FishEncoder>({.family = "fish_speech",
                                           .version = "2",
                                           .modes = {{"in-context", true}},
                                           .min_s = 1,
                                           .max_s = 60},
                                          FishCodecConfig::kSampleRate, config, codec, kStale);
  return decoder;
}

}  // namespace syrinx::fish_speech
