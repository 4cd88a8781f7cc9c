#include "families/chatterbox/config.h"

namespace syrinx::chatterbox {
namespace {

constexpr int64_t kHeadDim = 64, kMost = 1 << 16;

/// Returns how many of the tensors name.0, name.1, ... exist. Returns `published` if none exists.
int64_t count(const Weights& w, const std::string& name, int64_t published) {
  const int64_t parts = w.count(name);
  return parts > 0 ? parts : published;
}

void read_t3(const Weights& w, ModelConfig& m) {
  DecoderConfig& d = m.decoder;
  d.layers = static_cast<int>(count(w, "tfmr.layers", 30));
  d.hidden = 1024, d.heads = d.kv_heads = 16, d.head_dim = kHeadDim, d.ffn = 4096;
  d.norm_eps = 1e-5f;
  d.rope.theta = 500000;
  d.rope.scaling = {8, 1, 4, 8192};
  read_size(w, "text_emb.weight", 0, m.text_vocab);
  read_size(w, "text_emb.weight", 1, d.hidden);
  read_size(w, "tfmr.layers.0.mlp.gate_proj.weight", 0, d.ffn);
  int rows = d.heads * kHeadDim;
  read_size(w, "tfmr.layers.0.self_attn.q_proj.weight", 0, rows);
  d.heads = std::max<int>(1, rows / kHeadDim);
  rows = d.kv_heads * static_cast<int>(kHeadDim);
  read_size(w, "tfmr.layers.0.self_attn.k_proj.weight", 0, rows);
  d.kv_heads = std::max<int>(1, rows / kHeadDim);
  // The layers then report the tensors that do not fit.
  if (d.heads % d.kv_heads != 0) d.kv_heads = d.heads;
  read_size(w, "speech_emb.weight", 0, m.speech_vocab);
  read_size(w, "text_pos_emb.emb.weight", 0, m.text_positions);
  read_size(w, "speech_pos_emb.emb.weight", 0, m.speech_positions);
  read_size(w, "cond_enc.spkr_enc.weight", 1, m.speaker);
  read_size(w, "cond_enc.perceiver.pre_attention_query", 1, m.queries);
}

void read_flow(const Weights& w, S3FlowConfig& c) {
  read_size(w, "input_embedding.weight", 0, c.vocab);
  read_size(w, "input_embedding.weight", 1, c.width);
  read_size(w, "encoder.encoders.0.self_attn.pos_bias_u", 0, c.heads);
  read_size(w, "encoder.encoders.0.feed_forward.w_1.weight", 0, c.ffn);
  c.layers = count(w, "encoder.encoders", c.layers);
  c.up_layers = count(w, "encoder.up_encoders", c.up_layers);
  const std::string unet = "decoder.estimator.";
  UnetConfig& u = c.unet;
  read_size(w, unet + "final_proj.weight", 1, u.channels);
  u.middle = count(w, unet + "mid_blocks", u.middle);
  u.blocks = count(w, unet + "down_blocks.0.1", u.blocks);
  int64_t inner = u.heads * kHeadDim;
  read_size(w, unet + "down_blocks.0.1.0.attn1.to_q.weight", 0, inner);
  u.heads = std::max<int64_t>(1, inner / kHeadDim);
  u.head_dim = kHeadDim;
  if (c.heads <= 0 || c.width % c.heads != 0) c.heads = 1;
  c.mean_flow = w.has(unet + "time_embed_mixer.weight");
  if (c.mean_flow) c.steps = 2;
}

void read_hift(const Weights& w, HiftConfig& c) {
  read_size(w, "conv_pre.bias", 0, c.channels);
  read_size(w, "f0_predictor.classifier.weight", 1, c.f0_channels);
  c.source.phase = SinePhase::kHeld;
}

}  // namespace

void read_size(const Weights& w, const std::string& name, int dim, int64_t& out) {
  const std::optional<Shape> shape = w.shape(name);
  if (shape && dim < shape->dims() && (*shape)[dim] > 0 && (*shape)[dim] <= kMost) {
    out = (*shape)[dim];
  }
}

void read_size(const Weights& w, const std::string& name, int dim, int& out) {
  int64_t wide = out;
  read_size(w, name, dim, wide);
  out = static_cast<int>(wide);
}

void read_codec(const Weights& s3gen, ModelConfig& config) {
  read_flow(s3gen.scope("flow"), config.flow);
  read_hift(s3gen.scope("mel2wav"), config.hift);
}

ModelConfig read_config(const Weights& t3, const Weights& s3gen) {
  ModelConfig m;
  read_t3(t3, m);
  read_codec(s3gen, m);
  return m;
}

}  // namespace syrinx::chatterbox
