#include "families/kyutai_stt/config.h"

#include <algorithm>
#include <cmath>

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "nn/llama_config.h"

namespace syrinx::kyutai_stt {
namespace {

constexpr double kTail_s = 0.5, kConvertedTail_s = 1;
constexpr const char* kConverted = "kyutai_speech_to_text";
constexpr double kTheta = 10000;  // base of rotary positions in files that lack it

/// Refuses the options of the package's other models.
void check_kind(const Config& c) {
  moshi::check_options(c);
  c.only("dep_q", c.i("dep_q") == 0, "0, a model that makes no audio,");
  const std::vector<int64_t> delays = c.ints("delays", 0, 1000);
  c.only("delays", std::ranges::all_of(delays, [](int64_t d) { return d == 0; }), "0");
  for (const char* key : {"cross_attention", "demux_second_stream", "demux_second_text_stream"})
    c.only(key, false);
  for (const char* key : {"conditioners", "fuser"}) {
    const auto sub = c.opt_sub(key);
    c.only(key, !sub || sub->keys().empty(), "an empty map");
  }
}

/// Reads a config.json of the moshi package.
ModelConfig load_package(const Config& root, const std::string& dir) {
  check_kind(root);
  ModelConfig m;
  m.lm = moshi::load_transformer(root);
  m.files = moshi::load_files(root);
  m.mimi = moshi::load_mimi(dir, m.files);
  m.card = root.i("card", 1, 1 << 20);
  root.only("card", m.card == m.mimi.codebook_size, "the number of Mimi's codes");
  const int64_t heard = root.i("n_q", 2, 64);
  root.only("n_q", heard <= m.mimi.codebooks, "at most the number of Mimi's codebooks");
  root.only("delays", std::ssize(root.ints("delays")) == heard + 1, "a list of n_q + 1");
  m.mimi.codebooks = heard;
  m.text_in = root.i("text_card", 8, 1 << 20);
  m.begin = static_cast<int32_t>(m.text_in);
  m.text_out = root.opt_i("text_card_out", m.text_in, 8, m.text_in);
  m.pad = root.opt_i<int32_t>("existing_text_padding_id", 3, 0, m.text_out - 1);
  m.word_end = root.opt_i<int32_t>("existing_text_end_padding_id", 0, 0, m.pad);
  m.biased = root.opt_b("bias_proj", false);
  if (root.opt_i("extra_heads_num_heads", 0, 0, 64) > kPauseHead)
    m.pause_classes = root.opt_i("extra_heads_dim", 6, 1, 1024);
  // The values that stand for absent ones are those of stt_from_file_pytorch.py.
  const auto stt = root.opt_sub("stt_config");
  m.silence_s = stt ? stt->opt_f("audio_silence_prefix_seconds", 1, 0, 30) : 1;
  m.delay_s = stt ? stt->opt_f("audio_delay_seconds", 5, 0, 30) : 5;
  return m;
}

/// Reads the sizes of the language model from a config.json of transformers.
DecoderConfig load_converted_lm(const Config& c) {
  DecoderConfig d;
  d.hidden = c.i<int>("hidden_size", 8, 1 << 14);
  d.layers = c.i<int>("num_hidden_layers", 1, 256);
  d.heads = c.i<int>("num_attention_heads", 1, 256);
  d.kv_heads = c.opt_i<int>("num_key_value_heads", d.heads, 1, 256);
  c.only("num_key_value_heads", d.heads % d.kv_heads == 0, "a divisor of the heads");
  d.head_dim = load_head_dim(c, d.hidden, d.heads);
  const int64_t wide = c.i("ffn_dim", 2, 1 << 17);
  c.only("ffn_dim", wide % 2 == 0, "an even number");
  d.ffn = static_cast<int>(wide / 2);
  d.norm_eps = c.f<float>("rms_norm_eps", 0, 1);
  d.rope = load_rope(c, kTheta);
  d.window = c.i<int>("sliding_window", 1, 1 << 14);
  c.only("hidden_act", "silu");
  c.only("tie_word_embeddings", false);
  d.names.q = "self_attn.q_proj.linear", d.names.k = "self_attn.k_proj.linear";
  d.names.v = "self_attn.v_proj.linear", d.names.o = "self_attn.o_proj.linear";
  d.names.gate_up = "mlp.fc1", d.names.down = "mlp.fc2";
  return d;
}

/// Reads a config.json of transformers.
ModelConfig load_converted(const Config& root, const std::string& dir) {
  ModelConfig m;
  m.transformers = true;
  m.files = {.weights = "", .codec = "", .tokenizer = "tokenizer.json", .sizes = ""};
  m.lm = load_converted_lm(root);
  m.mimi = MimiConfig::load(root.sub("codec_config"));
  m.card = root.i("codebook_vocab_size", 2, 1 << 20) - 1;
  root.only("codebook_vocab_size", m.card == m.mimi.codebook_size, "one more than Mimi's codes");
  root.only("audio_bos_token_id", root.opt_i("audio_bos_token_id", m.card) == m.card,
            "the last code");
  const int64_t heard = root.i("num_codebooks", 2, 64);
  root.only("num_codebooks", heard > m.mimi.semantic && heard <= m.mimi.codebooks,
            "more than Mimi's semantic codebooks and at most the number of Mimi's codebooks");
  m.mimi.codebooks = heard;
  m.text_in = root.i("vocab_size", 9, 1 << 20) - 1;
  m.text_out = m.text_in + 1;
  m.pad = root.opt_i<int32_t>("pad_token_id", 3, 0, m.text_in - 1);
  const auto beside = [&](const char* name) -> std::optional<Config> {
    const std::string path = join_path(dir, name);
    if (!is_file(path)) return {};
    return Config::load(path);
  };
  const int64_t rows = m.text_out + heard * (m.card + 1) + 1;
  const int64_t begin = root.opt_i("bos_token_id", m.text_in, 0, rows - 1);
  const auto generation = beside("generation_config.json");
  m.begin = static_cast<int32_t>(generation ? generation->opt_i("bos_token_id", begin, 0, rows - 1)
                                            : begin);
  const auto sound = beside("preprocessor_config.json");
  m.silence_s = sound ? sound->opt_f("audio_silence_prefix_seconds", 0, 0, 30) : 0;
  m.delay_s = sound ? sound->opt_f("audio_delay_seconds", 0, 0, 30) : 0;
  return m;
}

}  // namespace

int64_t ModelConfig::frames_before() const {
  const auto silent = static_cast<int64_t>(std::ceil(silence_s / frame_s()));
  return transformers ? 1 + silent : std::max<int64_t>(1, silent);
}

int64_t ModelConfig::frames_after() const {
  if (transformers) return static_cast<int64_t>((delay_s + kConvertedTail_s) / frame_s()) - 1;
  return static_cast<int64_t>(std::ceil((delay_s + kTail_s) / frame_s()));
}

bool claims(const Config& root) {
  const std::string type = model_type(root);
  return type == kConverted || (type == "stt" && root.has("mimi_name"));
}

ModelConfig load_model_config(const Config& root, const std::string& dir) {
  return model_type(root) == kConverted ? load_converted(root, dir) : load_package(root, dir);
}

std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path) {
  std::unique_ptr<WeightSource> file = open_weights(path);
  StoredNames names;
  moshi::add_language_model(names, config.lm, config.mimi.codebooks);
  const std::string pauses = concat("extra_heads.", kPauseHead, ".weight");
  if (config.pause_classes > 0) names[pauses] = pauses;
  moshi::use_newer_names(*file, names);
  return renamed(std::move(file), std::move(names));
}

}  // namespace syrinx::kyutai_stt
