#include "families/chatterbox_turbo/speech_lm.h"

#include <algorithm>

#include "nn/stream_pass.h"

namespace syrinx::chatterbox_turbo {
namespace {

constexpr int kHeadDim = 64;

DecoderConfig gpt2() {
  DecoderConfig d;
  d.layers = 24, d.hidden = 1024, d.ffn = 4096, d.head_dim = kHeadDim;
  d.norm = NormKind::kLayer, d.norm_eps = 1e-5f;
  d.mlp = MlpKind::kGeluTanh;
  d.rotary = false, d.transposed = true;
  d.attention_bias = d.output_bias = d.mlp_bias = true;
  d.names.blocks = "h";
  d.names.attention_norm = "ln_1", d.names.mlp_norm = "ln_2", d.names.final_norm = "ln_f";
  d.names.qkv = "attn.c_attn", d.names.o = "attn.c_proj";
  d.names.fc1 = "mlp.c_fc", d.names.fc2 = "mlp.c_proj";
  return d;
}

}  // namespace

ModelConfig read_config(const Weights& t3, const Weights& s3gen) {
  ModelConfig m;
  m.emotion = false;
  m.decoder = gpt2();
  m.text_vocab = 50276, m.speech_vocab = 6563, m.text_positions = 8196;
  DecoderConfig& d = m.decoder;
  if (const int64_t layers = t3.count("tfmr.h"); layers > 0) d.layers = static_cast<int>(layers);
  chatterbox::read_size(t3, "text_emb.weight", 0, m.text_vocab);
  chatterbox::read_size(t3, "text_emb.weight", 1, d.hidden);
  chatterbox::read_size(t3, "tfmr.h.0.mlp.c_fc.weight", 1, d.ffn);
  chatterbox::read_size(t3, "speech_emb.weight", 0, m.speech_vocab);
  chatterbox::read_size(t3, "tfmr.wpe.weight", 0, m.text_positions);
  chatterbox::read_size(t3, "cond_enc.spkr_enc.weight", 1, m.speaker);
  d.heads = d.kv_heads = std::max(1, d.hidden / kHeadDim);
  m.speech_positions = m.text_positions;
  chatterbox::read_codec(s3gen, m);
  return m;
}

SpeechNets load_speech(const ModelConfig& config, const Weights& weights, WeightType type) {
  const int64_t hidden = config.decoder.hidden;
  const Weights gpt = weights.scope("tfmr");
  CodecLmParts parts = lm_parts(config.decoder, gpt, type, config.text_positions);
  parts.tables = {weights.take("text_emb.weight", {config.text_vocab, hidden}),
                  weights.take("speech_emb.weight", {config.speech_vocab, hidden})};
  parts.positions = gpt.take("wpe.weight", {config.text_positions, hidden});
  parts.heads.push_back(load_head(weights, "speech_head", config.speech_vocab, hidden, type, true));
  weights.ignore("text_head.weight");  // only training uses these weights
  gpt.ignore("wte.weight");            // unused; the authors' class inherits it
  SpeechNets nets;
  nets.speaker =
      load_linear(weights, "cond_enc.spkr_enc", hidden, config.speaker, true, WeightType::kF32);
  nets.lm = std::make_unique<CodecLm>(std::move(parts));
  return nets;
}

void prepare(const SpeechNets& nets, Voice& voice) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View vector = take_rows(ctx, 1, nets.speaker.in());
  std::ranges::copy(voice.speaker, vector.f32());
  voice.rows = Tensor({1, nets.speaker.out()}, DType::kF32);
  linear(ctx, nets.speaker, vector, voice.rows);
}

}  // namespace syrinx::chatterbox_turbo
