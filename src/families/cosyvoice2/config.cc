#include "families/cosyvoice2/config.h"

#include <algorithm>
#include <cmath>

#include "codec/hift_config.h"
#include "io/file.h"
#include "io/hyper_yaml.h"
#include "io/json.h"
#include "nn/llama_config.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr int64_t kMany = 1 << 16;
constexpr int64_t kTokenRate = 25;  // speech tokens per second, fixed by the tokenizer

/// Throws LoadError unless the class of a key is the class that this family implements.
void expect_class(const HyperYaml& y, const std::string& key, const std::string& name) {
  const std::string tag = y.s(key);
  if (!tag.ends_with("." + name)) y.fail(key, "expected " + name + ", got " + shown(tag));
}

void expect_text(const HyperYaml& y, const std::string& key, const std::string& want) {
  if (y.s(key) != want) y.fail(key, "expected " + want + ", got " + shown(y.s(key)));
}

/// Returns the number of tokens of a chunk, which attend to each other. Older files state none for
/// the encoder (use_dynamic_chunk: any length). The estimator's key counts mel frames.
int64_t load_chunk(const HyperYaml& y, int64_t ratio) {
  const std::string encoder = "flow.encoder.", fixed = "static_chunk_size";
  const std::string estimator = "flow.decoder.estimator." + fixed;
  const int64_t frames = y.i(estimator, 1, kMany);
  const bool any = y.has(encoder + "use_dynamic_chunk") && y.b(encoder + "use_dynamic_chunk");
  const bool told = y.has(encoder + fixed) || !any;
  const int64_t chunk = told ? y.i(encoder + fixed, 1, 1024) : frames / ratio;
  if (chunk * ratio != frames)
    y.fail(estimator, "must equal the encoder's chunk, counted in mel frames");
  return chunk;
}

/// Checks that a chunk attends to all earlier chunks. In the authors' estimator it does, whatever
/// its config states.
void expect_all_left_chunks(const HyperYaml& y) {
  const std::string name = "num_decoding_left_chunks";
  for (const std::string& key : {name, "flow.decoder.estimator." + name}) {
    if (!y.has(key) || y.i(key, -kMany, kMany) < 0) continue;
    y.fail(key,
           "must be -1: here, as in the authors' code, the flow attends to all earlier chunks");
  }
}

/// Reads the settings that the flows of both editions share.
S3FlowConfig load_solver(const HyperYaml& y) {
  expect_class(y, "flow.decoder", "CausalConditionalCFM");
  expect_text(y, "flow.decoder.cfm_params.content.solver", "euler");
  expect_text(y, "flow.decoder.cfm_params.content.t_scheduler", "cosine");
  S3FlowConfig c;
  c.vocab = y.i("flow.vocab_size", 1, kMany);
  c.width = y.i("flow.input_size", 8, kMany);
  c.mel = y.i("flow.output_size", 1, 1024);
  c.speaker = y.i("flow.spk_embed_dim", 1, kMany);
  c.ratio = y.i("flow.token_mel_ratio", 1, 16);
  c.lookahead = y.i("flow.pre_lookahead_len", 1, 64);
  c.guidance =
      static_cast<float>(y.f("flow.decoder.cfm_params.content.inference_cfg_rate", 0, 100));
  expect_all_left_chunks(y);
  return c;
}

/// Reads CosyVoice3's flow.
S3FlowConfig load_plain_flow(const HyperYaml& y) {
  const std::string look = "flow.pre_lookahead_layer.", dit = "flow.decoder.estimator.";
  expect_class(y, "flow", "CausalMaskedDiffWithDiT");
  expect_class(y, "flow.pre_lookahead_layer", "PreLookaheadLayer");
  expect_class(y, "flow.decoder.estimator", "DiT");
  S3FlowConfig c = load_solver(y);
  c.layers = c.up_layers = 0;
  if (c.width != c.mel) y.fail("flow.input_size", "must be flow.output_size");
  if (y.i(look + "in_channels", 1, kMany) != c.width)
    y.fail(look + "in_channels", "must be flow.input_size");
  if (y.i(look + "pre_lookahead_len", 1, 64) != c.lookahead)
    y.fail(look + "pre_lookahead_len", "must be flow.pre_lookahead_len");
  c.plain_channels = y.i(look + "channels", 1, kMany);
  for (const char* part : {"mel_dim", "mu_dim", "spk_dim", "out_channels"}) {
    if (y.i(dit + part, 1, kMany) != c.mel) y.fail(dit + part, "must be flow.output_size");
  }
  if (y.has(dit + "long_skip_connection") && y.b(dit + "long_skip_connection"))
    y.fail(dit + "long_skip_connection", "is not supported");
  DitConfig d{.form = DitForm::kRotary};
  d.depth = y.i(dit + "depth", 1, 256);
  d.width = y.i(dit + "dim", 16, kMany);
  d.heads = y.i(dit + "heads", 1, 256);
  d.head_dim = y.i(dit + "dim_head", 8, 256);
  d.ffn = static_cast<int64_t>(static_cast<double>(d.width) * y.f(dit + "ff_mult", 0.01, 64));
  if (d.width % 16 != 0) y.fail(dit + "dim", "must be a multiple of the 16 groups of convolutions");
  if (d.head_dim % 8 != 0) y.fail(dit + "dim_head", "must be a multiple of 8");
  c.dit = d;
  const int64_t frames = y.i(dit + "static_chunk_size", 1, kMany);
  c.chunk = frames / c.ratio;
  if (c.chunk == 0 || c.chunk * c.ratio != frames)
    y.fail(dit + "static_chunk_size", "must be a multiple of the mel frames of a token");
  return c;
}

/// Reads CosyVoice2's flow.
S3FlowConfig load_conformer_flow(const HyperYaml& y) {
  expect_class(y, "flow", "CausalMaskedDiffWithXvec");
  expect_class(y, "flow.encoder", "UpsampleConformerEncoder");
  expect_class(y, "flow.decoder.estimator", "CausalConditionalDecoder");
  expect_text(y, "flow.encoder.pos_enc_layer_type", "rel_pos_espnet");
  expect_text(y, "flow.encoder.selfattention_layer_type", "rel_selfattn");
  expect_text(y, "flow.decoder.estimator.act_fn", "gelu");
  for (const char* key : {"flow.encoder.use_cnn_module", "flow.encoder.macaron_style"}) {
    if (y.b(key)) y.fail(key, "is not supported");
  }
  S3FlowConfig c = load_solver(y);
  if (y.i("flow.encoder.output_size", 1, kMany) != c.width ||
      y.i("flow.encoder.input_size", 1, kMany) != c.width) {
    y.fail("flow.encoder.output_size", "and input_size must be flow.input_size");
  }
  c.heads = y.i("flow.encoder.attention_heads", 1, 256);
  c.ffn = y.i("flow.encoder.linear_units", 1, kMany);
  c.layers = y.i("flow.encoder.num_blocks", 1, 256);
  const std::string unet = "flow.decoder.estimator.";
  if (y.i(unet + "in_channels", 1, kMany) != 4 * c.mel)
    y.fail(unet + "in_channels", "must be 4 * flow.output_size");
  c.chunk = load_chunk(y, c.ratio);
  const std::vector<int64_t> channels = y.ints(unet + "channels", 1, kMany);
  if (channels.size() != 1) y.fail(unet + "channels", "expected one level");
  c.channels = channels[0];
  c.unet_heads = y.i(unet + "num_heads", 1, 256);
  c.unet_head_dim = y.i(unet + "attention_head_dim", 8, 256);
  c.blocks = y.i(unet + "n_blocks", 1, 64);
  c.middle = y.i(unet + "num_mid_blocks", 0, 256);
  return c;
}

/// Returns the highest frequency of the mel that the flow continues, in Hz.
double load_mel_top(const HyperYaml& y, int64_t sample_rate) {
  const std::string key = "feat_extractor.fmax";
  if (y.s(key) == "null") return static_cast<double>(sample_rate) / 2;
  return y.f(key, 1, static_cast<double>(sample_rate) / 2);
}

void load_llm(const Config& c, ModelConfig& m) {
  if (c.opt_s("model_type", "qwen2") != "qwen2") c.fail("model_type", "expected qwen2");
  m.decoder = load_llama_config(c);
  load_rope_theta(c);
  m.decoder.attention_bias = true;  // biases of q, k and v, whatever the config states
  m.decoder.output_bias = false;
  m.text_vocab = c.i("vocab_size", 1, 1 << 24);
  m.max_positions = c.i("max_position_embeddings", 64, 1 << 20);
}

}  // namespace

ModelConfig load_config(const std::string& dir, const Edition& edition) {
  const HyperYaml y = HyperYaml::load(join_path(dir, edition.marker));
  ModelConfig m;
  m.edition = edition;
  load_llm(Config::load(join_path(join_path(dir, kTokenizerFolder), "config.json")), m);
  expect_class(y, "llm", edition.third ? "CosyVoice3LM" : "Qwen2LM");
  expect_class(y, "llm.sampling", "ras_sampling");
  m.speech_codes = y.i("llm.speech_token_size", 1, kMany);
  for (const char* key : {"llm.llm_input_size", "llm.llm_output_size"}) {
    if (y.i(key, 1, kMany) != m.decoder.hidden) {
      y.fail(key, "differs from the language model's width " + std::to_string(m.decoder.hidden));
    }
  }
  m.sampling.top_p = static_cast<float>(y.f("llm.sampling.top_p", 0, 1));
  m.sampling.top_k = static_cast<int>(y.i("llm.sampling.top_k", 0, kMany));
  m.sampling.ras_window = static_cast<int>(y.i("llm.sampling.win_size", 0, 4096));
  const double repeats = m.sampling.ras_window * y.f("llm.sampling.tau_r", 0, 1);
  m.sampling.ras_repeats = std::max(1, static_cast<int>(std::ceil(repeats - 1e-9)));
  m.flow = edition.third ? load_plain_flow(y) : load_conformer_flow(y);
  m.hift = load_hift_config(y, edition.third);
  if (edition.third) m.mel_top_hz = load_mel_top(y, m.hift.source.sample_rate);
  if (m.flow.vocab != m.speech_codes)
    y.fail("flow.vocab_size", "differs from llm.speech_token_size");
  const int64_t rate = kTokenRate * m.flow.ratio * m.hift.hop();
  if (m.hift.source.sample_rate != rate) {
    y.fail("hift.sampling_rate",
           concat("is ", m.hift.source.sample_rate, ", but ", kTokenRate, " tokens of ",
                  m.flow.ratio, " frames of ", m.hift.hop(),
                  " samples (upsample_rates, hop_len) are ", rate, " a second"));
  }
  if (m.flow.mel != m.hift.mel) y.fail("hift.in_channels", "differs from flow.output_size");
  return m;
}

}  // namespace syrinx::cosyvoice2
