#include "families/step_audio2/config.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "io/hyper_yaml.h"
#include "nn/llama_config.h"

namespace syrinx::step_audio2 {
namespace {

constexpr int64_t kMostStepSize = 1 << 16;
// Codes and samples per second. Both are fixed.
constexpr int64_t kStepRate = 25, kStepSampleRate = 24000;
constexpr int64_t kRecent = 100;  // S3FlowConfig::recent, fixed in the authors' code

llm::ModelConfig load_lm(const Config& c) {
  llm::ModelConfig m;
  m.type = "qwen2";
  m.lm = load_llama_config(c);
  load_rope_theta(c);          // throws if positions are scaled
  m.lm.attention_bias = true;  // biases of q, k and v, whatever the config states
  m.lm.output_bias = false;
  c.only("tie_word_embeddings", false);
  m.vocab = c.i("vocab_size", 1, 1 << 24);
  m.max_positions = c.i("max_position_embeddings", 64, 1 << 24);
  return m;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "step_audio_2"; }

ModelConfig load_config(const Config& root) {
  ModelConfig m;
  m.lm = load_lm(root.sub("text_config"));
  m.hearing = StepAudioEncoderConfig::load(root);
  root.check("audio_encoder_config.llm_dim", m.hearing.out == m.lm.lm.hidden,
             "must be text_config.hidden_size");
  return m;
}

S3FlowConfig load_flow_config(const std::string& path) {
  const HyperYaml y = HyperYaml::load(path);
  const std::string encoder = "flow.encoder.", dit = "flow.decoder.estimator.";
  y.only_class("flow", "CausalMaskedDiffWithXvec");
  y.only_class("flow.encoder", "UpsampleConformerEncoderV2");
  y.only_class("flow.decoder", "CausalConditionalCFM");
  y.only_class("flow.decoder.estimator", "DiT");
  const auto size = [&](const std::string& key, int64_t most) { return y.i(key, 1, most); };
  const auto expect_text = [&](const std::string& key, const std::string& want) {
    if (y.has(key)) y.only(key, want);
  };
  expect_text(encoder + "input_layer", "linear");
  expect_text(encoder + "pos_enc_layer_type", "rel_pos_espnet");
  expect_text(encoder + "selfattention_layer_type", "rel_selfattn");
  for (const char* key : {"normalize_before", "key_bias"}) {
    y.check(encoder + key, !y.has(encoder + key) || y.b(encoder + key), "must be true");
  }
  S3FlowConfig c;
  c.vocab = size("flow.vocab_size", kMostStepSize);
  c.width = size("flow.input_size", kMostStepSize);
  c.mel = size("flow.output_size", 1024);
  c.speaker = size("flow.spk_embed_dim", kMostStepSize);
  for (const char* key : {"input_size", "output_size"}) {
    y.check(encoder + key, size(encoder + key, kMostStepSize) == c.width,
            "must be flow.input_size");
  }
  c.lookahead = size(encoder + "pre_lookahead_len", 24);
  c.layers = size(encoder + "num_blocks", 256);
  c.up_layers = size(encoder + "num_up_blocks", 256);
  c.heads = size(encoder + "attention_heads", 256);
  c.ffn = size(encoder + "linear_units", kMostStepSize);
  c.ratio = size(encoder + "up_stride", 16);
  y.check(encoder + "up_scale_factor",
          y.f(encoder + "up_scale_factor", 1, 16) == static_cast<double>(c.ratio),
          "must be up_stride");
  y.check(encoder + "attention_heads", c.width % c.heads == 0, "must divide the width");
  DitConfig d;
  y.check(dit + "in_channels", size(dit + "in_channels", kMostStepSize) == 4 * c.mel,
          "must be 4 * flow.output_size");
  y.check(dit + "out_channels", size(dit + "out_channels", 1024) == c.mel,
          "must be flow.output_size");
  d.depth = size(dit + "depth", 256);
  d.heads = size(dit + "num_heads", 256);
  d.head_dim = size(dit + "head_dim", 256);
  d.width = size(dit + "hidden_size", kMostStepSize);
  const double ratio = y.has(dit + "mlp_ratio") ? y.f(dit + "mlp_ratio", 0.01, 64) : 4;
  d.ffn = static_cast<int64_t>(static_cast<double>(d.width) * ratio);
  y.check(dit + "head_dim", d.head_dim % 8 == 0, "must be a multiple of 8");
  c.dit = d;
  c.guidance = static_cast<float>(y.f("flow.decoder.inference_cfg_rate", 0, 100));
  c.whole_prompt = true;
  c.recent = kRecent;
  return c;
}

HiftConfig load_hift_sizes(const Weights& weights, const S3FlowConfig& flow) {
  HiftConfig c;
  c.mel = flow.mel;
  if (const auto bias = weights.shape("conv_pre.bias"); bias && bias->dims() == 1)
    c.channels = (*bias)[0];
  if (const auto weight = weights.shape("f0_predictor.classifier.weight");
      weight && weight->dims() == 2) {
    c.f0_channels = (*weight)[1];
  }
  if (c.channels % (int64_t{1} << c.rates.size()) != 0 || c.channels > kMostStepSize ||
      c.f0_channels > kMostStepSize) {
    weights.fault("conv_pre.bias", concat("has an unsupported number of channels, ", c.channels));
    c.channels = 512, c.f0_channels = 512;
  }
  if (kStepRate * flow.ratio * c.hop() != kStepSampleRate) {
    throw LoadError(concat("token2wav: ", kStepRate, " codes/s of ", flow.ratio, " frames of ",
                           c.hop(), " samples do not make ", kStepSampleRate, " Hz"));
  }
  return c;
}

Tokenizer load_tokenizer(const std::string& dir, int64_t codes) {
  const Tokenizer plain = Tokenizer::load(dir);
  load_ids(plain, codes);  // throws if a token is missing, before the code below adds it
  std::vector<AddedToken> added;
  for (const char* token : {"<|BOT|>", "<|EOT|>", "<audio_start>", "<audio_end>", "<audio_patch>",
                            "<tts_start>", "<tts_end>", "<tts_pad>"}) {
    added.push_back({.content = token});
  }
  // The tags of tool calls are plain text, which is sent to clients.
  for (const char* token : {"<tool_call>", "</tool_call>"}) {
    if (plain.id(token)) added.push_back({.content = token, .special = false});
  }
  for (int64_t i = 0; i <= codes; ++i) {  // includes the padding's token, if it exists
    std::string token = concat("<audio_", i, ">");
    if (plain.id(token)) added.push_back({.content = std::move(token)});
  }
  return Tokenizer::load(dir, std::move(added));
}

Ids load_ids(const Tokenizer& tokenizer, int64_t codes) {
  Ids ids;
  ids.turn = tokenizer.need_id("<|BOT|>");
  ids.turn_end = tokenizer.need_id("<|EOT|>");
  ids.audio_start = tokenizer.need_id("<audio_start>");
  ids.audio_end = tokenizer.need_id("<audio_end>");
  ids.audio_patch = tokenizer.need_id("<audio_patch>");
  ids.tts_start = tokenizer.need_id("<tts_start>");
  ids.tts_end = tokenizer.need_id("<tts_end>");
  ids.tts_pad = tokenizer.need_id("<tts_pad>");
  ids.audio = tokenizer.need_id("<audio_0>");
  ids.code_end = ids.audio + static_cast<int32_t>(codes);
  const std::string last = concat("<audio_", codes - 1, ">");
  if (tokenizer.need_id(last) != ids.code_end - 1)
    throw LoadError(concat("expected consecutive ids for ", codes, " audio tokens: ", last, " is ",
                           tokenizer.need_id(last), ", but <audio_0> is ", ids.audio));
  if (ids.turn_end >= ids.tts_end || ids.tts_end >= ids.audio)
    throw LoadError("the ids of <|EOT|>, <tts_end> and <audio_0> are not in this order");
  return ids;
}

}  // namespace syrinx::step_audio2
