#include "families/zonos/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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
  if (c.opt_b("rms_norm", false)) c.fail("rms_norm", "is not supported");
  const Config attention = c.sub("attn_cfg");
  d.hidden = static_cast<int>(c.i("d_model", 2, 1 << 16));
  d.ffn = static_cast<int>(c.i("attn_mlp_d_intermediate", 1, 1 << 18));
  d.layers = static_cast<int>(c.i("n_layer", 1, 512));
  d.heads = static_cast<int>(attention.i("num_heads", 1, 512));
  d.kv_heads = static_cast<int>(attention.opt_i("num_heads_kv", d.heads, 1, 512));
  if (d.hidden % d.heads != 0) attention.fail("num_heads", "must divide d_model");
  d.head_dim = d.hidden / d.heads;
  if (d.head_dim % 8 != 0 || d.head_dim > 256) {
    attention.fail("num_heads", std::to_string(d.heads) + " heads of " +
                                    std::to_string(d.head_dim) +
                                    " numbers each: expected a multiple of 8 up to 256");
  }
  if (d.heads % d.kv_heads != 0) attention.fail("num_heads_kv", "must divide the heads");
  for (const char* bias : {"qkv_proj_bias", "out_proj_bias"}) {
    if (attention.opt_b(bias, false)) attention.fail(bias, "is not supported");
  }
  d.norm = NormKind::kLayer;
  d.norm_eps = static_cast<float>(c.opt_f("norm_epsilon", 1e-5, 0, 1));
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
    if (!(out.max > out.min)) c.fail("max_val", "must be larger than min_val");
  } else if (type == "IntegerConditioner") {
    out.kind = ConditionerConfig::kInteger;
    out.min = static_cast<double>(c.opt_i("min_val", 0, -(1 << 20), 1 << 20));
    out.max = static_cast<double>(c.opt_i("max_val", 512, -(1 << 20), 1 << 20));
    if (out.max < out.min) c.fail("max_val", "must not be less than min_val");
  } else {
    c.fail("type", type + " is not known");
  }
  if (projection != "none" && projection != "linear") {
    c.fail("projection", projection + " is not supported");
  }
  out.projected = projection == "linear";
  if (out.projected && out.kind != ConditionerConfig::kVector) {
    c.fail("projection", "only vectors may have a projection");
  }
  const std::string uncond = c.opt_s("uncond_type", "none");
  if (uncond != "none" && uncond != "learned") c.fail("uncond_type", uncond + " is not known");
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
  m.eos = static_cast<int32_t>(root.opt_i("eos_token_id", 1024, 1, 1 << 20));
  m.mask = static_cast<int32_t>(root.opt_i("masked_token_id", 1025, 1, 1 << 20));
  if (m.mask != m.eos + 1) root.fail("masked_token_id", "must follow eos_token_id");
  const Config prefix = root.sub("prefix_conditioner");
  const std::string projection = prefix.opt_s("projection", "none");
  if (projection != "none" && projection != "linear") {
    prefix.fail("projection", projection + " is not supported");
  }
  m.projected = projection == "linear";
  for (const Config& each : prefix.subs("conditioners")) {
    m.conditioners.push_back(load_conditioner(each));
  }
  const auto phonemes = [](const ConditionerConfig& c) {
    return c.kind == ConditionerConfig::kPhonemes;
  };
  if (std::count_if(m.conditioners.begin(), m.conditioners.end(), phonemes) != 1) {
    prefix.fail("conditioners", "expected exactly one conditioner for phonemes");
  }
  return m;
}

}  // namespace syrinx::zonos
