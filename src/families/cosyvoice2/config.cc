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

/// Returns the number of tokens of a chunk, which attend to each other. Older files state none for
/// the encoder (use_dynamic_chunk: any length). The estimator's key counts mel frames.
int64_t load_chunk(const HyperYaml& y, int64_t ratio) {
  const std::string encoder = "flow.encoder.", fixed = "static_chunk_size";
  const std::string estimator = "flow.decoder.estimator." + fixed;
  const int64_t frames = y.i(estimator, 1, kMany);
  const bool any = y.has(encoder + "use_dynamic_chunk") && y.b(encoder + "use_dynamic_chunk");
  const bool told = y.has(encoder + fixed) || !any;
  const int64_t chunk = told ? y.i(encoder + fixed, 1, 1024) : frames / ratio;
  y.check(estimator, chunk * ratio == frames,
          "must equal the encoder's chunk, counted in mel frames");
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
  y.only_class("flow.decoder", "CausalConditionalCFM");
  y.only("flow.decoder.cfm_params.content.solver", "euler");
  y.only("flow.decoder.cfm_params.content.t_scheduler", "cosine");
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
  y.only_class("flow", "CausalMaskedDiffWithDiT");
  y.only_class("flow.pre_lookahead_layer", "PreLookaheadLayer");
  y.only_class("flow.decoder.estimator", "DiT");
  S3FlowConfig c = load_solver(y);
  c.layers = c.up_layers = 0;
  y.check("flow.input_size", c.width == c.mel, "must be flow.output_size");
  y.check(look + "in_channels", y.i(look + "in_channels", 1, kMany) == c.width,
          "must be flow.input_size");
  y.check(look + "pre_lookahead_len", y.i(look + "pre_lookahead_len", 1, 64) == c.lookahead,
          "must be flow.pre_lookahead_len");
  c.plain_channels = y.i(look + "channels", 1, kMany);
  for (const char* part : {"mel_dim", "mu_dim", "spk_dim", "out_channels"}) {
    y.check(dit + part, y.i(dit + part, 1, kMany) == c.mel, "must be flow.output_size");
  }
  y.check(dit + "long_skip_connection",
          !y.has(dit + "long_skip_connection") || !y.b(dit + "long_skip_connection"),
          "is not supported");
  DitConfig d{.form = DitForm::kRotary};
  d.depth = y.i(dit + "depth", 1, 256);
  d.width = y.i(dit + "dim", 16, kMany);
  d.heads = y.i(dit + "heads", 1, 256);
  d.head_dim = y.i(dit + "dim_head", 8, 256);
  d.ffn = static_cast<int64_t>(static_cast<double>(d.width) * y.f(dit + "ff_mult", 0.01, 64));
  y.check(dit + "dim", d.width % 16 == 0, "must be a multiple of the 16 groups of convolutions");
  y.check(dit + "dim_head", d.head_dim % 8 == 0, "must be a multiple of 8");
  c.dit = d;
  const int64_t frames = y.i(dit + "static_chunk_size", 1, kMany);
  c.chunk = frames / c.ratio;
  y.check(dit + "static_chunk_size", c.chunk != 0 && c.chunk * c.ratio == frames,
          "must be a multiple of the mel frames of a token");
  return c;
}

/// Reads CosyVoice2's flow.
S3FlowConfig load_conformer_flow(const HyperYaml& y) {
  y.only_class("flow", "CausalMaskedDiffWithXvec");
  y.only_class("flow.encoder", "UpsampleConformerEncoder");
  y.only_class("flow.decoder.estimator", "CausalConditionalDecoder");
  y.only("flow.encoder.pos_enc_layer_type", "rel_pos_espnet");
  y.only("flow.encoder.selfattention_layer_type", "rel_selfattn");
  for (const char* key : {"flow.encoder.use_cnn_module", "flow.encoder.macaron_style"}) {
    y.check(key, !y.b(key), "is not supported");
  }
  S3FlowConfig c = load_solver(y);
  y.check("flow.encoder.output_size",
          y.i("flow.encoder.output_size", 1, kMany) == c.width &&
              y.i("flow.encoder.input_size", 1, kMany) == c.width,
          "and input_size must be flow.input_size");
  c.heads = y.i("flow.encoder.attention_heads", 1, 256);
  c.ffn = y.i("flow.encoder.linear_units", 1, kMany);
  c.layers = y.i("flow.encoder.num_blocks", 1, 256);
  c.chunk = load_chunk(y, c.ratio);
  c.unet = load_unet_config(y, c.mel, 1);
  return c;
}

/// Returns the highest frequency of the mel that the flow continues, in Hz.
double load_mel_top(const HyperYaml& y, int64_t sample_rate) {
  const std::string key = "feat_extractor.fmax";
  if (y.s(key) == "null") return static_cast<double>(sample_rate) / 2;
  return y.f(key, 1, static_cast<double>(sample_rate) / 2);
}

void load_llm(const Config& c, ModelConfig& m) {
  c.only("model_type", "qwen2");
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
  y.only_class("llm", edition.third ? "CosyVoice3LM" : "Qwen2LM");
  y.only_class("llm.sampling", "ras_sampling");
  m.speech_codes = y.i("llm.speech_token_size", 1, kMany);
  for (const char* key : {"llm.llm_input_size", "llm.llm_output_size"}) {
    y.check(key, y.i(key, 1, kMany) == m.decoder.hidden,
            "differs from the language model's width " + std::to_string(m.decoder.hidden));
  }
  m.sampling.top_p = static_cast<float>(y.f("llm.sampling.top_p", 0, 1));
  m.sampling.top_k = static_cast<int>(y.i("llm.sampling.top_k", 0, kMany));
  m.sampling.ras_window = static_cast<int>(y.i("llm.sampling.win_size", 0, 4096));
  const double repeats = m.sampling.ras_window * y.f("llm.sampling.tau_r", 0, 1);
  m.sampling.ras_repeats = std::max(1, static_cast<int>(std::ceil(repeats - 1e-9)));
  m.flow = edition.third ? load_plain_flow(y) : load_conformer_flow(y);
  m.hift = load_hift_config(y, edition.third);
  if (edition.third) m.mel_top_hz = load_mel_top(y, m.hift.source.sample_rate);
  y.check("flow.vocab_size", m.flow.vocab == m.speech_codes, "differs from llm.speech_token_size");
  const int64_t rate = kTokenRate * m.flow.ratio * m.hift.hop();
  y.check("hift.sampling_rate", m.hift.source.sample_rate == rate,
          concat("is ", m.hift.source.sample_rate, ", but ", kTokenRate, " tokens of ",
                 m.flow.ratio, " frames of ", m.hift.hop(),
                 " samples (upsample_rates, hop_len) are ", rate, " a second"));
  y.check("hift.in_channels", m.flow.mel == m.hift.mel, "differs from flow.output_size");
  return m;
}

}  // namespace syrinx::cosyvoice2
