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

void expect_tag(const HyperYaml& y, const std::string& key, const std::string& name) {
  const std::string tag = y.s(key);
  if (!tag.ends_with("." + name)) y.fail(key, "expected " + name + ", got " + shown(tag));
}

GlmFlowConfig load_flow(const HyperYaml& y) {
  expect_tag(y, "flow", "MaskedDiffWithXvec");
  expect_tag(y, "flow.encoder", "BlockConformerEncoder");
  expect_tag(y, "flow.length_regulator", "InterpolateRegulator");
  expect_tag(y, "flow.decoder", "ConditionalCFM");
  expect_tag(y, "flow.decoder.estimator", "ConditionalDecoder");
  const auto expect_text = [&](const std::string& key, const std::string& want) {
    if (y.s(key) != want) y.fail(key, "expected " + want + ", got " + shown(y.s(key)));
  };
  expect_text("flow.encoder.input_layer", "linear");
  expect_text("flow.encoder.pos_enc_layer_type", "rel_pos_espnet");
  expect_text("flow.encoder.selfattention_layer_type", "block_rel_selfattn");
  expect_text("flow.decoder.estimator.act_fn", "gelu");
  expect_text("flow.decoder.cfm_params.content.solver", "euler");
  expect_text("flow.decoder.cfm_params.content.t_scheduler", "cosine");
  for (const char* key : {"flow.encoder.use_cnn_module", "flow.encoder.macaron_style"})
    if (y.b(key)) y.fail(key, "is not supported");
  if (!y.b("flow.encoder.normalize_before"))
    y.fail("flow.encoder.normalize_before", "must be True");
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
    if (y.i(key, 1, kMostSize) != c.width) y.fail(key, "must be flow.input_size");
  const std::vector<int64_t> ratios = y.ints("flow.length_regulator.sampling_ratios", 1, 64);
  c.regulators = std::ssize(ratios);
  if (y.i("flow.length_regulator.channels", 1, 1024) != c.mel)
    y.fail("flow.length_regulator.channels", "must be flow.output_size");
  const std::string unet = "flow.decoder.estimator.";
  if (y.i(unet + "in_channels", 1, kMostSize) != 4 * c.mel)
    y.fail(unet + "in_channels", "must be 4 * flow.output_size");
  const std::vector<int64_t> channels = y.ints(unet + "channels", 8, kMostSize);
  if (channels.size() != 2 || channels[0] != channels[1] || channels[0] % 8 != 0)
    y.fail(unet + "channels", "expected two equal numbers, multiples of 8");
  c.channels = channels[0];
  c.unet_heads = y.i(unet + "num_heads", 1, 256);
  c.unet_head_dim = y.i(unet + "attention_head_dim", 8, 256);
  c.blocks = y.i(unet + "n_blocks", 1, 64);
  c.middle = y.i(unet + "num_mid_blocks", 0, 256);
  c.guidance =
      static_cast<float>(y.f("flow.decoder.cfm_params.content.inference_cfg_rate", 0, 100));
  if (c.mel % 16 != 0) y.fail("flow.output_size", "must be a multiple of 16");
  if (c.width % c.heads != 0) y.fail("flow.encoder.attention_heads", "must divide the width");
  if (c.unet_head_dim % 8 != 0) y.fail(unet + "attention_head_dim", "must be a multiple of 8");
  return c;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "chatglm"; }

llm::ModelConfig load_lm_config(const Config& c) {
  llm::ModelConfig m;
  m.type = "chatglm";
  DecoderConfig& d = m.lm;
  const auto size = [&](const char* key, int64_t most) {
    return static_cast<int>(c.i(key, 1, most));
  };
  d.hidden = size("hidden_size", 1 << 16);
  d.layers = size("num_layers", 512);
  d.heads = size("num_attention_heads", 512);
  d.head_dim = static_cast<int>(c.opt_i("kv_channels", d.hidden / d.heads, 8, 256));
  d.kv_heads =
      c.opt_b("multi_query_attention", false) ? size("multi_query_group_num", 512) : d.heads;
  d.ffn = size("ffn_hidden_size", 1 << 18);
  d.norm_eps = static_cast<float>(c.f("layernorm_epsilon", 0, 1));
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
  if (d.heads % d.kv_heads != 0) c.fail("multi_query_group_num", "must divide the heads");
  if (d.head_dim % 8 != 0) c.fail("kv_channels", "must be a multiple of 8");
  for (const char* key : {"add_bias_linear", "apply_residual_connection_post_layernorm",
                          "tie_word_embeddings", "quantization_bit"}) {
    if (c.has(key) && c.raw()[key] != false && c.raw()[key] != 0) c.fail(key, "is not supported");
  }
  for (const char* key : {"rmsnorm", "post_layer_norm", "original_rope"})
    if (!c.opt_b(key, true)) c.fail(key, "must be true");
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
  if (config.hift.mel != config.flow.mel)
    y.fail("hift.in_channels", "differs from flow.output_size");
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
