#include "families/glm4_voice/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "codec/hift_config.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::glm4_voice {
namespace {

constexpr int64_t kMostSize = 1 << 16;
constexpr int64_t kCachedAngles = 8192;

/// The pattern with which the authors' tokenizer splits a text. It is only in their code, not in
/// the files.
constexpr const char* kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

GlmFlowConfig load_flow(const HyperYaml& y) {
  y.only_class("flow", "MaskedDiffWithXvec");
  y.only_class("flow.encoder", "BlockConformerEncoder");
  y.only_class("flow.length_regulator", "InterpolateRegulator");
  y.only_class("flow.decoder", "ConditionalCFM");
  y.only_class("flow.decoder.estimator", "ConditionalDecoder");
  y.only("flow.encoder.input_layer", "linear");
  y.only("flow.encoder.pos_enc_layer_type", "rel_pos_espnet");
  y.only("flow.encoder.selfattention_layer_type", "block_rel_selfattn");
  y.only("flow.decoder.cfm_params.content.solver", "euler");
  y.only("flow.decoder.cfm_params.content.t_scheduler", "cosine");
  for (const char* key : {"flow.encoder.use_cnn_module", "flow.encoder.macaron_style"})
    y.check(key, !y.b(key), "is not supported");
  y.check("flow.encoder.normalize_before", y.b("flow.encoder.normalize_before"), "must be True");
  GlmFlowConfig c;
  c.vocab = y.i("flow.vocab_size", 1, 1 << 20);
  c.width = y.i("flow.input_size", 8, kMostSize);
  c.mel = y.i("flow.output_size", 16, 1024);
  c.speaker = y.i("flow.spk_embed_dim", 1, kMostSize);
  c.token_rate = static_cast<float>(y.f("flow.input_frame_rate", 1, 1000));
  c.heads = y.i("flow.encoder.attention_heads", 1, 256);
  c.ffn = y.i("flow.encoder.linear_units", 1, kMostSize);
  c.layers = y.i("flow.encoder.num_blocks", 1, 256);
  c.block = y.i("flow.encoder.block_size", 1, 1024);
  for (const char* key : {"flow.encoder.output_size", "flow.encoder.input_size"})
    y.check(key, y.i(key, 1, kMostSize) == c.width, "must be flow.input_size");
  const std::vector<int64_t> ratios = y.ints("flow.length_regulator.sampling_ratios", 1, 64);
  c.regulators = std::ssize(ratios);
  y.check("flow.length_regulator.channels", y.i("flow.length_regulator.channels", 1, 1024) == c.mel,
          "must be flow.output_size");
  c.unet = load_unet_config(y, c.mel, 2);
  c.guidance =
      static_cast<float>(y.f("flow.decoder.cfm_params.content.inference_cfg_rate", 0, 100));
  y.check("flow.output_size", c.mel % 16 == 0, "must be a multiple of 16");
  y.check("flow.encoder.attention_heads", c.width % c.heads == 0, "must divide the width");
  return c;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "chatglm"; }

llm::ModelConfig load_lm_config(const Config& c) {
  llm::ModelConfig m;
  m.type = "chatglm";
  DecoderConfig& d = m.lm;
  const auto size = [&](const char* key, int64_t most) { return c.i<int>(key, 1, most); };
  d.hidden = size("hidden_size", 1 << 16);
  d.layers = size("num_layers", 512);
  d.heads = size("num_attention_heads", 512);
  d.head_dim = c.opt_i<int>("kv_channels", d.hidden / d.heads, 8, 256);
  d.kv_heads =
      c.opt_b("multi_query_attention", false) ? size("multi_query_group_num", 512) : d.heads;
  d.ffn = size("ffn_hidden_size", 1 << 18);
  d.norm_eps = c.f<float>("layernorm_epsilon", 0, 1);
  d.attention_bias = c.opt_b("add_qkv_bias", false);
  d.output_bias = false;
  // RoPE rotates the first half of every head, in adjacent pairs.
  d.rope.dim = d.head_dim / 2;
  d.rope.theta = 10000 * c.opt_f("rope_ratio", 1, 1e-3, 1e6);
  d.rope.layout = RopeLayout::kInterleaved;
  d.names.qkv = "self_attention.query_key_value";
  d.names.o = "self_attention.dense";
  d.names.gate_up = "mlp.dense_h_to_4h";
  d.names.down = "mlp.dense_4h_to_h";
  d.names.final_norm = "final_layernorm";
  c.check("multi_query_group_num", d.heads % d.kv_heads == 0, "must divide the heads");
  c.check("kv_channels", d.head_dim % 8 == 0, "must be a multiple of 8");
  for (const char* key : {"add_bias_linear", "apply_residual_connection_post_layernorm",
                          "tie_word_embeddings", "quantization_bit"}) {
    if (c.has(key) && c.raw()[key] != false && c.raw()[key] != 0) c.fail(key, "is not supported");
  }
  for (const char* key : {"rmsnorm", "post_layer_norm", "original_rope"}) c.only(key, true);
  m.vocab = c.i("padded_vocab_size", 1, 1 << 24);
  m.max_positions = c.i("seq_length", 64, 1 << 24);
  d.rope_positions = std::min(m.max_positions, kCachedAngles);
  m.names = {"transformer.encoder", "transformer.embedding.word_embeddings.weight",
             "transformer.output_layer.weight"};
  return m;
}

void load_decoder_config(const std::string& path, ModelConfig& config) {
  const HyperYaml y = HyperYaml::load(path);
  config.flow = load_flow(y);
  config.hift = load_hift_config(y);
  y.check("hift.in_channels", config.hift.mel == config.flow.mel, "differs from flow.output_size");
  if (config.hift.source.sample_rate != static_cast<int64_t>(GlmFlowConfig::kSampleRate) ||
      config.hift.hop() != static_cast<int64_t>(GlmFlowConfig::kHop)) {
    y.fail("hift.sampling_rate", "must be 22050 with 256 samples a frame, as the flow requires");
  }
}

Tokenizer load_tokenizer(const std::string& dir) {
  const std::string config = join_path(dir, "tokenizer_config.json");
  return Tokenizer::from_tiktoken(join_path(dir, "tokenizer.model"), kPattern,
                                  is_file(config) ? config : "");
}

Ids load_ids(const Tokenizer& tokenizer, int64_t codes) {
  Ids ids;
  ids.mask = tokenizer.need_id("[gMASK]");
  ids.sop = tokenizer.need_id("<sop>");
  ids.system = tokenizer.need_id("<|system|>");
  ids.user = tokenizer.need_id("<|user|>");
  ids.assistant = tokenizer.need_id("<|assistant|>");
  ids.begin_audio = tokenizer.need_id("<|begin_of_audio|>");
  ids.end_audio = tokenizer.need_id("<|end_of_audio|>");
  ids.audio = tokenizer.need_id("<|audio_0|>");
  ids.audio_end = ids.audio + static_cast<int32_t>(codes);
  const std::string last = concat("<|audio_", codes - 1, "|>");
  if (tokenizer.need_id(last) != ids.audio_end - 1)
    throw LoadError(concat("expected consecutive ids for ", codes, " audio tokens: ", last, " is ",
                           tokenizer.need_id(last), ", but <|audio_0|> is ", ids.audio));
  return ids;
}

}  // namespace syrinx::glm4_voice
