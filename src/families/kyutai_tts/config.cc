#include "families/kyutai_tts/config.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "families/loading/checkpoint.h"

namespace syrinx::kyutai_tts {
namespace {

constexpr int64_t kMostWidth = 1 << 14;

/// Refuses the options of the package's other models.
void check_kind(const Config& c) {
  moshi::check_options(c);
  for (const char* key :
       {"cross_attention", "depformer_multi_linear", "depformer_weights_per_step"})
    c.only(key, c.opt_b(key, false), "true");
  c.only("demux_second_stream",
         c.opt_b("demux_second_stream", c.opt_b("demux_second_text_stream", false)), "true");
  c.only("depformer_pos_emb", c.s("depformer_pos_emb") == "none", "none");
  c.only("depformer_gating", "silu");
  for (const char* key : {"depformer_norm", "depformer_layer_scale"})
    c.only(key, !c.has(key), "null");
  c.only("depformer_kv_repeat", 1);
  c.only("extra_heads_num_heads", 0);
}

DecoderConfig load_depth(const Config& c, const DecoderConfig& lm) {
  DecoderConfig d;
  moshi::set_heads(c, "depformer_num_heads", c.i("depformer_dim", 8, kMostWidth), d);
  d.layers = c.i<int>("depformer_num_layers", 1, 64);
  const auto usual = static_cast<int64_t>(c.f("hidden_scale", 0.1, 64) * d.hidden);
  const int64_t wide = c.opt_i("depformer_dim_feedforward", usual, 8, 1 << 18);
  d.ffn = moshi::gated_width(static_cast<int>(wide), d.hidden);
  d.norm_eps = lm.norm_eps;
  d.rotary = false, d.final_norm = false;
  d.names.qkv = lm.names.qkv, d.names.gate_up = lm.names.gate_up;
  return d;
}

Choice load_choice(const Config& c, const char* key) {
  const Config one = c.sub(key);
  one.only("type", one.s("type") == "lut", "lut");
  const Config lut = one.sub("lut");
  lut.only("tokenizer", lut.s("tokenizer") == "noop", "noop");
  Choice choice{lut.strings("possible_values"), lut.i("n_bins", 1, 1 << 12),
                lut.i("dim", 1, kMostWidth)};
  lut.only("possible_values", !choice.values.empty() && std::ssize(choice.values) <= choice.bins,
           "a list of 1 to n_bins");
  return choice;
}

void load_conditions(const Config& root, ModelConfig& m) {
  const Config all = root.sub("conditioners"), fuser = root.sub("fuser");
  root.only("conditioners",
            all.keys() == std::vector<std::string>{"cfg", "control", "speaker_wavs"},
            "cfg, control and speaker_wavs");
  m.guidance = load_choice(all, "cfg"), m.control = load_choice(all, "control");
  for (const std::string& value : m.guidance.values) {
    char* end = nullptr;
    const float scale = std::strtof(value.c_str(), &end);
    all.only("cfg", end != value.c_str() && *end == '\0' && scale > 0 && scale <= 100,
             "a list of scales up to 100");
  }
  all.only("control", m.control.values == std::vector<std::string>{"ok"}, "the value ok");
  const Config speaker = all.sub("speaker_wavs");
  speaker.only("type", speaker.s("type") == "tensor", "tensor");
  m.speaker_width = speaker.sub("tensor").i("dim", 1, kMostWidth);
  std::vector<std::string> sum = fuser.strings("sum");
  std::ranges::sort(sum);
  fuser.only("sum", sum == std::vector<std::string>{"cfg", "control"}, "control and cfg");
  fuser.only("cross", fuser.strings("cross") == std::vector<std::string>{"speaker_wavs"},
             "speaker_wavs");
  fuser.only("prepend", !fuser.has("prepend") || fuser.strings("prepend").empty(), "an empty list");
  m.positions = fuser.opt_b("cross_attention_pos_emb", false);
  m.position_scale = fuser.opt_f<float>("cross_attention_pos_emb_scale", 1, -100, 100);
  root.only("dim", m.lm.hidden % 2 == 0 && m.lm.hidden >= 4, "an even number");
}

/// Reads the delays and weight sets of the codebooks.
void load_codebooks(const Config& root, ModelConfig& m) {
  const int64_t count = root.i("n_q", 2, 64);
  root.only("n_q", count <= m.mimi.codebooks, "at most the number of Mimi's codebooks");
  root.only("dep_q", root.i("dep_q") == count, "n_q");
  const std::vector<int64_t> delays = root.ints("delays", 0, 64);
  root.only("delays", std::ssize(delays) == count + 1 && delays[0] == 0,
            "a list of n_q + 1 that begins with 0");
  m.delays.assign(delays.begin() + 1, delays.end());
  m.mimi.codebooks = count;
  m.schedule.resize(static_cast<size_t>(count));
  std::iota(m.schedule.begin(), m.schedule.end(), 0);
  const char* key = "depformer_weights_per_step_schedule";
  if (!root.has(key)) return;
  const std::vector<int64_t> sets = root.ints(key, 0, count - 1);
  root.only(key, std::ssize(sets) == count, "a list of n_q");
  m.schedule.assign(sets.begin(), sets.end());
}

}  // namespace

int ModelConfig::sets() const { return std::ranges::max(schedule) + 1; }
int ModelConfig::tail() const { return std::ranges::max(delays); }

int ModelConfig::guidance_index(float scale) const {
  for (size_t i = 0; i < guidance.values.size(); ++i)
    if (std::abs(std::strtof(guidance.values[i].c_str(), nullptr) - scale) < 1e-3f)
      return static_cast<int>(i);
  return -1;
}

bool claims(const Config& root) { return model_type(root) == "tts" && root.has("mimi_name"); }

ModelConfig load_model_config(const Config& root, const std::string& dir) {
  check_kind(root);
  ModelConfig m;
  m.lm = moshi::load_transformer(root);
  m.lm.cross_attention = true;
  m.depth = load_depth(root, m.lm);
  m.files = moshi::load_files(root);
  m.mimi = moshi::load_mimi(dir, m.files);
  m.card = root.i("card", 1, 1 << 20);
  root.only("card", m.card == m.mimi.codebook_size, "the number of Mimi's codes");
  load_codebooks(root, m);
  m.text_in = root.i("text_card", 8, 1 << 20);
  m.text_out = root.opt_i("text_card_out", m.text_in, kPad + 1, m.text_in);
  root.only("existing_text_padding_id", kPad);
  m.biased = root.opt_b("bias_proj", false);
  m.rank = root.i("depformer_low_rank_embeddings", 1, kMostWidth);
  load_conditions(root, m);
  const Config tts = root.sub("tts_config"), id = root.sub("model_id");
  const double frames =
      tts.f("audio_delay", 0, 30) * double(m.mimi.sample_rate) / double(m.mimi.hop());
  m.delay = static_cast<int>(frames + 1e-9);
  m.ahead = tts.i<int>("second_stream_ahead", 1, 64);
  tts.only("multistream", false);
  m.voice_ending = concat(".", id.s("sig"), "@", id.i("epoch"));
  return m;
}

std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path) {
  std::unique_ptr<WeightSource> file = open_weights(path);
  StoredNames names;
  moshi::add_language_model(names, config.lm, config.codebooks());
  moshi::add_blocks(names, "", "transformer.", config.lm.layers,
                    {{"cross_attn_norm.weight", "norm_cross.weight"},
                     {"cross_attn_norm.bias", "norm_cross.bias"},
                     {"cross_attn.o_proj.weight", "cross_attention.out_proj.weight"}});
  for (int i = 0; i < config.lm.layers; ++i) {
    const std::string ours = concat("layers.", i, ".cross_attn.");
    const std::string theirs = concat("transformer.layers.", i, ".cross_attention.in_proj");
    const bool newer = moshi::has_newer_names(*file);
    const std::string name = theirs + (newer ? "s.0.weight" : "_weight");
    names[ours + "q_proj.weight"] = {name, 0, 3};
    for (int part : {1, 2})
      names[concat(ours, part == 1 ? "k_proj" : "v_proj", ".weight")] = {name, part, 3};
  }
  const int sets = config.sets();
  for (int set = 0; set < sets; ++set) {
    for (int i = 0; i < config.depth.layers; ++i) {
      const std::string ours = concat("depth.", set, ".layers.", i, ".");
      const std::string theirs = concat("depformer.layers.", i, ".");
      names[ours + "input_layernorm.weight"] = theirs + "norm1.alpha";
      names[ours + "post_attention_layernorm.weight"] = theirs + "norm2.alpha";
      names[ours + "self_attn.qkv.weight"] = {theirs + "self_attn.in_proj_weight", set, sets};
      names[ours + "self_attn.o_proj.weight"] = {theirs + "self_attn.out_proj.weight", set, sets};
      names[ours + "mlp.gate_up.weight"] = concat(theirs, "gating.", set, ".linear_in.weight");
      names[ours + "mlp.down_proj.weight"] = concat(theirs, "gating.", set, ".linear_out.weight");
    }
  }
  moshi::use_newer_names(*file, names);
  // The other tensors have the same names here.
  for (const std::string& name : file->names()) {
    for (const char* part : {"depformer_", "linears.", "condition_provider.", "text_emb."})
      if (name.starts_with(part)) names[name] = name;
  }
  return renamed(std::move(file), std::move(names));
}

}  // namespace syrinx::kyutai_tts
