#include "families/kyutai_stt/config.h"

#include <algorithm>
#include <cmath>

#include "families/loading/checkpoint.h"

namespace syrinx::kyutai_stt {
namespace {

using moshi::only;

constexpr double kTail_s = 0.5;

/// Refuses the options of the package's other models.
void check_kind(const Config& c) {
  moshi::check_options(c);
  only(c, "dep_q", c.i("dep_q") == 0, "0, a model that makes no audio,");
  const std::vector<int64_t> delays = c.ints("delays", 0, 1000);
  only(c, "delays", std::ranges::all_of(delays, [](int64_t d) { return d == 0; }), "0");
  for (const char* key : {"cross_attention", "demux_second_stream", "demux_second_text_stream"})
    only(c, key, !c.opt_b(key, false), "false");
  for (const char* key : {"conditioners", "fuser"}) {
    const auto sub = c.opt_sub(key);
    only(c, key, !sub || sub->keys().empty(), "an empty map");
  }
}

}  // namespace

int64_t ModelConfig::frames_before() const {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(silence_s / frame_s())));
}

int64_t ModelConfig::frames_after() const {
  return static_cast<int64_t>(std::ceil((delay_s + kTail_s) / frame_s()));
}

bool claims(const Config& root) { return model_type(root) == "stt" && root.has("mimi_name"); }

ModelConfig load_model_config(const Config& root, const std::string& dir) {
  check_kind(root);
  ModelConfig m;
  m.lm = moshi::load_transformer(root);
  m.files = moshi::load_files(root);
  m.mimi = moshi::load_mimi(dir, m.files);
  m.card = root.i("card", 1, 1 << 20);
  only(root, "card", m.card == m.mimi.codebook_size, "the number of Mimi's codes");
  const int64_t heard = root.i("n_q", 2, 64);
  only(root, "n_q", heard <= m.mimi.codebooks, "at most the number of Mimi's codebooks");
  only(root, "delays", std::ssize(root.ints("delays")) == heard + 1, "a list of n_q + 1");
  m.mimi.codebooks = heard;
  m.text_in = root.i("text_card", 8, 1 << 20);
  m.text_out = root.opt_i("text_card_out", m.text_in, 8, m.text_in);
  m.pad = static_cast<int32_t>(root.opt_i("existing_text_padding_id", 3, 0, m.text_out - 1));
  m.word_end = static_cast<int32_t>(root.opt_i("existing_text_end_padding_id", 0, 0, m.pad));
  m.biased = root.opt_b("bias_proj", false);
  m.turn_heads = root.opt_i("extra_heads_num_heads", 0, 0, 64);
  m.turn_width = root.opt_i("extra_heads_dim", 6, 1, 1024);
  // The values that stand for absent ones are those of stt_from_file_pytorch.py.
  const auto stt = root.opt_sub("stt_config");
  m.silence_s = stt ? stt->opt_f("audio_silence_prefix_seconds", 1, 0, 30) : 1;
  m.delay_s = stt ? stt->opt_f("audio_delay_seconds", 5, 0, 30) : 5;
  return m;
}

std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path) {
  std::unique_ptr<WeightSource> file = open_weights(path);
  StoredNames names;
  moshi::add_language_model(names, config.lm, config.mimi.codebooks);
  for (int64_t h = 0; h < config.turn_heads; ++h)
    names[concat("extra_heads.", h, ".weight")] = concat("extra_heads.", h, ".weight");
  moshi::use_newer_names(*file, names);
  return renamed(std::move(file), std::move(names));
}

}  // namespace syrinx::kyutai_stt
