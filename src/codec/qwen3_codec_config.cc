#include "codec/qwen3_codec_config.h"

#include <string>

#include "nn/llama_config.h"

namespace syrinx {
namespace {

/// Reads the sizes that have the same keys in both formats.
void read_codec_sizes(const Config& decoder, Qwen3CodecConfig& c) {
  c.codebooks = decoder.i("num_quantizers", 2, 64);
  c.codebook_size = decoder.i("codebook_size", 1, 1 << 20);
  c.hidden = decoder.i("hidden_size", 1, 1 << 14);
  c.ffn = decoder.i("intermediate_size", 1, 1 << 16);
  c.layers = decoder.i("num_hidden_layers", 1, 256);
  c.heads = decoder.i("num_attention_heads", 1, 256);
  c.kv_heads = decoder.opt_i("num_key_value_heads", c.heads, 1, 256);
  c.head_dim = load_head_dim(decoder, c.hidden, c.heads);
  c.window = decoder.i("sliding_window", 1, 4096);
  c.rms_eps = decoder.f("rms_norm_eps", 0, 1);
  c.decoder_dim = decoder.i("decoder_dim", 1, 1 << 14);
  c.upsampling_ratios = decoder.ints("upsampling_ratios", 1, 64);
  c.upsample_rates = decoder.ints("upsample_rates", 1, 64);
  decoder.check("num_key_value_heads", c.heads % c.kv_heads == 0, "must divide the heads");
  decoder.check("decoder_dim",
                c.upsample_rates.size() <= 8 && c.decoder_dim % (1 << c.upsample_rates.size()) == 0,
                "must be divisible by 2^n for n upsample_rates");
  decoder.check("upsampling_ratios", c.upsampling_ratios.size() <= 8, "expected at most 8 ratios");
  decoder.only("attention_bias", false);
  decoder.only("hidden_act", "silu");
}

}  // namespace

int64_t Qwen3CodecConfig::hop() const {
  int64_t samples = 1;
  for (const int64_t ratio : upsampling_ratios) samples *= ratio;
  for (const int64_t rate : upsample_rates) samples *= rate;
  return samples;
}

int64_t Qwen3CodecConfig::lead() const {
  int64_t rows = 0;
  if (!code2wav) return rows;
  for (const int64_t rate : upsample_rates) rows = (rows + 1) * rate;
  return rows;
}

Qwen3CodecConfig Qwen3CodecConfig::load(const Config& root) {
  const std::string kind = root.opt_s("model_type", "qwen3_tts_tokenizer_12hz");
  root.check("model_type", kind == "qwen3_tts_tokenizer_12hz",
             "expected qwen3_tts_tokenizer_12hz, got " + kind);
  const Config decoder = root.sub("decoder_config");
  Qwen3CodecConfig c;
  read_codec_sizes(decoder, c);
  c.codebook_dim = decoder.i("codebook_dim", 2, 1 << 14);
  c.latent = decoder.i("latent_dim", 1, 1 << 14);
  c.rope_theta = load_rope_theta(decoder);
  c.sample_rate = root.i("output_sample_rate", 1000, 192000);
  decoder.check("codebook_dim", c.codebook_dim % 2 == 0, "must be even");
  decoder.check(
      "upsample_rates",
      c.upsample_rates.size() + c.upsampling_ratios.size() <= 8 && c.hop() <= c.sample_rate,
      "with upsampling_ratios: expected at most 8 rates and a frame of at most a second (" +
          std::to_string(c.sample_rate) + " samples)");
  root.same("decode_upsample_rate", c.hop(), "the product of the rates");
  return c;
}

Qwen3CodecConfig Qwen3CodecConfig::load_code2wav(const Config& code2wav) {
  Qwen3CodecConfig c;
  c.code2wav = true;
  read_codec_sizes(code2wav, c);
  c.latent = c.hidden;
  c.codebook_dim = 0;
  const auto rope = code2wav.opt_sub("rope_parameters");  // the key of transformers 5
  c.rope_theta = (rope ? *rope : code2wav).f("rope_theta", 1);
  if (rope && rope->opt_s("rope_type", "default") != "default") {
    rope->fail("rope_type", "must be default");
  }
  return c;
}

}  // namespace syrinx
