#include "families/finch/speech_lm.h"

#include "families/finch/phone_stream.h"

namespace syrinx::finch {
namespace {

DecoderConfig decoder_config(const FinchConfig& config) {
  DecoderConfig decoder;
  decoder.layers = config.layers;
  decoder.hidden = config.hidden;
  decoder.heads = decoder.kv_heads = config.heads;
  decoder.head_dim = config.head_dim;
  decoder.ffn = config.ffn;
  decoder.norm_eps = 1e-6f;
  decoder.rope.theta = config.rope_theta;
  decoder.rope_positions = config.max_positions;
  return decoder;
}

}  // namespace

std::unique_ptr<CodecLm> load_lm(const FinchConfig& config, const Weights& weights,
                                 WeightType type) {
  const DecoderConfig decoder = decoder_config(config);
  CodecLmParts parts{.decoder = Decoder(decoder, weights, type),
                     .tables = {},
                     .heads = {},
                     .kv = decoder.kv_spec(DType::kF32),
                     .max_positions = config.max_positions,
                     .adds_vectors = true};
  const auto table = [&](const std::string& name, int64_t rows) {
    parts.own_tables.push_back(weights.f32(name + ".weight", {rows, config.hidden}));
    parts.tables.push_back(parts.own_tables.back());
  };
  const auto phones = static_cast<int64_t>(phone_names().size());
  for (int k = 0; k < kBooks; ++k) table("code." + std::to_string(k), config.codes + 1);
  for (int i = 0; i < kHeard; ++i) table("phone." + std::to_string(i), phones);
  table("phrase", kPhraseClasses + (config.by_word ? 1 : 0));
  table("place", kPlaceClasses);
  table("age", config.ages);

  const int64_t codes = config.codes;
  const View head = weights.take("head.weight", {kBooks * codes + kMoves, config.hidden});
  for (int k = 0; k < kBooks; ++k) {
    parts.heads.push_back(whole_head(
        PackedLinear::pack(head.slice(k * codes, (k + 1) * codes), at_least_8_bits(type))));
  }
  // The pointer decides which words are spoken, so the weights of its four outputs stay f32.
  parts.values = PackedLinear::pack(head.slice(kBooks * codes, head.shape[0]), WeightType::kF32);
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::finch
