#include "families/zonos/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nn/llama_config.h"

namespace syrinx::zonos {
namespace {

/// Tensor names in the authors' classes (Zonos:zonos/backbone/_torch.py). fc1 is [value | gate].
constexpr DecoderNames kNames{.attention_norm = "norm",
                              .qkv = "mixer.in_proj",
                              .o = "mixer.out_proj",
                              .mlp_norm = "norm2",
                              .up_gate = "mlp.fc1",
                              .down = "mlp.fc2",
                              .final_norm = "norm_f"};

DecoderConfig load_backbone(const Config& c) {
  DecoderConfig d;
  if (const auto ssm = c.opt_sub("ssm_cfg"); ssm && !ssm->keys().empty()) {
    c.fail("ssm_cfg", "the hybrid model is not supported, use the transformer");
  }
  c.only("rms_norm", false);
  const Config attention = c.sub("attn_cfg");
  d.hidden = c.i<int>("d_model", 2, 1 << 16);
  d.ffn = c.i<int>("attn_mlp_d_intermediate", 1, 1 << 18);
  d.layers = c.i<int>("n_layer", 1, 512);
  d.heads = attention.i<int>("num_heads", 1, 512);
  d.kv_heads = attention.opt_i<int>("num_heads_kv", d.heads, 1, 512);
  d.head_dim = head_size(attention, "num_heads", d.hidden, d.heads);
  attention.check("num_heads_kv", d.heads % d.kv_heads == 0, "must divide the heads");
  for (const char* bias : {"qkv_proj_bias", "out_proj_bias"}) {
    attention.only(bias, false);
  }
  d.norm = NormKind::kLayer;
  d.norm_eps = c.opt_f<float>("norm_epsilon", 1e-5, 0, 1);
  d.rope.layout = RopeLayout::kInterleaved;
  d.names = kNames;
  return d;
}

ConditionerConfig load_conditioner(const Config& c) {
  ConditionerConfig out;
  out.name = c.s("name");
  const std::string type = c.s("type"), projection = c.opt_s("projection", "none");
  if (type == "EspeakPhonemeConditioner") {
    out.kind = ConditionerConfig::kPhonemes;
    out.inputs = 0;
  } else if (type == "PassthroughConditioner") {
    out.kind = ConditionerConfig::kVector;
    out.inputs = c.i("cond_dim", 1, 1 << 16);
  } else if (type == "FourierConditioner") {
    out.kind = ConditionerConfig::kFourier;
    out.inputs = c.opt_i("input_dim", 1, 1, 1 << 12);
    out.min = c.opt_f("min_val", 0);
    out.max = c.opt_f("max_val", 1);
    c.check("max_val", out.max > out.min, "must be larger than min_val");
  } else if (type == "IntegerConditioner") {
    out.kind = ConditionerConfig::kInteger;
    out.min = static_cast<double>(c.opt_i("min_val", 0, -(1 << 20), 1 << 20));
    out.max = static_cast<double>(c.opt_i("max_val", 512, -(1 << 20), 1 << 20));
    c.check("max_val", out.max >= out.min, "must not be less than min_val");
  } else {
    c.fail("type", type + " is not known");
  }
  c.check("projection", projection == "none" || projection == "linear",
          projection + " is not supported");
  out.projected = projection == "linear";
  c.check("projection", !out.projected || out.kind == ConditionerConfig::kVector,
          "only vectors may have a projection");
  const std::string uncond = c.opt_s("uncond_type", "none");
  c.check("uncond_type", uncond == "none" || uncond == "learned", uncond + " is not known");
  out.learned = uncond == "learned";
  return out;
}

}  // namespace

bool claims(const Config& root) {
  const auto has = [](const nlohmann::json& node, const char* part, const char* key) {
    const auto found = node.find(part);
    return found != node.end() && found->is_object() && found->contains(key);
  };
  return has(root.raw(), "backbone", "attn_mlp_d_intermediate") &&
         has(root.raw(), "prefix_conditioner", "conditioners");
}

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  m.lm = load_backbone(root.sub("backbone"));
  m.lm.rope_positions = m.max_positions;
  m.eos = root.opt_i<int32_t>("eos_token_id", 1024, 1, 1 << 20);
  m.mask = root.opt_i<int32_t>("masked_token_id", 1025, 1, 1 << 20);
  root.check("masked_token_id", m.mask == m.eos + 1, "must follow eos_token_id");
  const Config prefix = root.sub("prefix_conditioner");
  const std::string projection = prefix.opt_s("projection", "none");
  prefix.check("projection", projection == "none" || projection == "linear",
               projection + " is not supported");
  m.projected = projection == "linear";
  for (const Config& each : prefix.subs("conditioners")) {
    m.conditioners.push_back(load_conditioner(each));
  }
  const auto phonemes = [](const ConditionerConfig& c) {
    return c.kind == ConditionerConfig::kPhonemes;
  };
  prefix.check("conditioners",
               std::count_if(m.conditioners.begin(), m.conditioners.end(), phonemes) == 1,
               "expected exactly one conditioner for phonemes");
  return m;
}

}  // namespace syrinx::zonos
