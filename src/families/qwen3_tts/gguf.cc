#include "families/qwen3_tts/gguf.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "families/loading/gguf_parts.h"
#include "io/gguf_weights.h"

namespace syrinx::qwen3_tts {
namespace {

using nlohmann::json;

/// Keys of a config and of the metadata with the same value.
struct Key {
  const char *ours, *theirs;
};

/// Copies metadata whose keys begin with `prefix`. Missing ones stay out, and the config's reader
/// reports them.
json values_of(const GgufFile& file, const std::string& prefix, std::initializer_list<Key> keys) {
  json out = json::object();
  for (const Key& key : keys) {
    const std::string name = prefix + key.theirs;
    if (!file.has(name)) continue;
    const std::string_view ours = key.ours;
    if (ours.ends_with("_theta") || ours.ends_with("_eps")) {
      out[key.ours] = file.number(name);
    } else if (ours.ends_with("_rates") || ours.ends_with("_ratios")) {
      out[key.ours] = file.list(name).numbers;
    } else {
      out[key.ours] = file.integer(name);
    }
  }
  return out;
}

constexpr std::initializer_list<Key> kDecoderKeys = {
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"vocab_size", "vocab_size"},
    {"text_vocab_size", "text_vocab_size"},
    {"text_hidden_size", "text_hidden_size"},
    {"max_position_embeddings", "context_length"},
    {"rope_theta", "rope.freq_base"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"}};

/// Makes a map from a list of names and a list of values.
template <typename Value>
json pairs(const GgufFile& file, const char* names, const char* values, const Value& value) {
  json out = json::object();
  if (!file.has(names)) return out;
  const GgufList &keys = file.list(names), &all = file.list(values);
  if (std::max(all.texts.size(), all.numbers.size()) != keys.texts.size()) {
    file.fail(values, concat("expected ", keys.texts.size(), " values, as many as ", names));
  }
  for (size_t i = 0; i < keys.texts.size(); ++i) out[std::string(keys.texts[i])] = value(all, i);
  return out;
}

/// Returns size `at` of a tensor, outermost first. Returns 0 if the file lacks the tensor.
int64_t size_of(const GgufFile& file, const std::string& name, size_t at) {
  const GgufTensor* tensor = file.find(name);
  return tensor && at < tensor->sizes.size() ? tensor->sizes[at] : 0;
}

/// Reads the sizes of the speaker encoder from its tensors, because the metadata lack them. The
/// dilations are the published ones.
json speaker_config(const GgufFile& file) {
  json out = {{"mel_dim", size_of(file, "spk_enc.conv0.weight", 1)},
              {"enc_dim", file.integer("qwen3-tts.spk_enc.embedding_length")},
              {"sample_rate", file.integer("qwen3-tts.spk_enc.sample_rate")},
              {"enc_attention_channels", size_of(file, "spk_enc.asp.tdnn.weight", 0)},
              {"enc_se_channels", size_of(file, "spk_enc.blk.1.se.conv1.weight", 0)}};
  json channels = {size_of(file, "spk_enc.conv0.weight", 0)};
  json taps = {size_of(file, "spk_enc.conv0.weight", 2)};
  int64_t parts = 1;
  const auto part = [](int64_t block, int64_t i) {
    return concat("spk_enc.blk.", block, ".res2net.", i, ".weight");
  };
  while (file.find(part(1, parts - 1))) ++parts;
  for (int64_t i = 1; file.find(concat("spk_enc.blk.", i, ".tdnn1.weight")); ++i) {
    channels.push_back(size_of(file, concat("spk_enc.blk.", i, ".tdnn1.weight"), 0));
    taps.push_back(size_of(file, part(i, 0), 2));
  }
  channels.push_back(size_of(file, "spk_enc.mfa.weight", 0));
  taps.push_back(size_of(file, "spk_enc.mfa.weight", 2));
  out["enc_channels"] = channels;
  out["enc_kernel_sizes"] = taps;
  out["enc_res2net_scale"] = parts;
  return out;
}

/// Maps published names of tensors to the names in the file. Adds only tensors that the file has.
class Names {
 public:
  explicit Names(const GgufFile& file) : file_(file) {}

  void add(const std::string& ours, const std::string& theirs) {
    if (file_.find(theirs)) names_[ours] = theirs;
  }
  /// Adds weight and bias.
  void layer(const std::string& ours, const std::string& theirs) {
    for (const char* part : {".weight", ".bias"}) add(ours + part, theirs + part);
  }
  void layers(const std::string& ours, const std::string& theirs, std::initializer_list<Key> all) {
    for (const Key& each : all) layer(ours + each.ours, theirs + each.theirs);
  }
  /// Adds norms, scales and attention of a transformer's block.
  void attention(const std::string& ours, const std::string& theirs) {
    layers(ours, theirs,
           {{"input_layernorm", "attn_norm"},
            {"post_attention_layernorm", "ffn_norm"},
            {"self_attn.q_proj", "attn_q"},
            {"self_attn.k_proj", "attn_k"},
            {"self_attn.v_proj", "attn_v"},
            {"self_attn.o_proj", "attn_output"},
            {"self_attn.q_norm", "attn_q_norm"},
            {"self_attn.k_norm", "attn_k_norm"}});
    add(ours + "self_attn_layer_scale.scale", theirs + "attn_scale");
    add(ours + "mlp_layer_scale.scale", theirs + "ffn_scale");
  }
  /// Adds a block with a gated MLP.
  void block(const std::string& ours, const std::string& theirs) {
    attention(ours, theirs);
    layers(
        ours, theirs,
        {{"mlp.gate_proj", "ffn_gate"}, {"mlp.up_proj", "ffn_up"}, {"mlp.down_proj", "ffn_down"}});
  }
  /// Returns the number of parts prefix.0.*, prefix.1.*, ..., by the names in the file.
  int64_t count(const std::string& prefix) const {
    int64_t most = 0;
    for (const GgufTensor& tensor : file_.tensors()) {
      if (!tensor.name.starts_with(prefix)) continue;
      const std::string rest = tensor.name.substr(prefix.size(), 4);
      if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
        most = std::max<int64_t>(most, std::stoi(rest) + 1);
    }
    return most;
  }
  GgufNames take() { return std::move(names_); }

 private:
  const GgufFile& file_;
  GgufNames names_;
};

void name_speaker_encoder(Names& names) {
  const std::string ours = "speaker_encoder.", theirs = "spk_enc.";
  names.layers(ours, theirs,
               {{"blocks.0.conv", "conv0"},
                {"asp.conv", "asp.conv"},
                {"asp.tdnn.conv", "asp.tdnn"},
                {"mfa.conv", "mfa"},
                {"fc", "fc"}});
  for (int64_t i = 1; i < names.count("spk_enc.blk."); ++i) {
    const std::string block = concat(ours, "blocks.", i, "."), blk = concat(theirs, "blk.", i, ".");
    names.layers(block, blk,
                 {{"tdnn1.conv", "tdnn1"},
                  {"tdnn2.conv", "tdnn2"},
                  {"se_block.conv1", "se.conv1"},
                  {"se_block.conv2", "se.conv2"}});
    for (int64_t j = 0; j < names.count(blk + "res2net."); ++j)
      names.layer(concat(block, "res2net_block.blocks.", j, ".conv"), concat(blk, "res2net.", j));
  }
}

/// Names the layers that make samples of latents: a convolution, a block for each rate, an
/// activation and a convolution.
void name_sample_layers(Names& names, int64_t rates) {
  const std::string ours = "decoder.decoder.", theirs = "tok_dec.dec.";
  names.layer(ours + "0.conv", theirs + "0.conv");
  const auto activation = [&](const std::string& from, const std::string& to) {
    for (const char* part : {".alpha", ".beta"}) names.add(from + part, to + part);
  };
  for (int64_t i = 1; i <= rates; ++i) {
    const std::string block = concat(ours, i, ".block."), dec = concat(theirs, i, ".");
    activation(block + "0", dec + "snake");
    names.layer(block + "1.conv", dec + "conv_t");
    for (int64_t unit = 0; unit < 3; ++unit) {
      const std::string from = concat(block, unit + 2, "."), to = concat(dec, "res.", unit, ".");
      activation(from + "act1", to + "act1");
      activation(from + "act2", to + "act2");
      names.layers(from, to, {{"conv1.conv", "conv1"}, {"conv2.conv", "conv2"}});
    }
  }
  activation(concat(ours, rates + 1), concat(theirs, rates + 1, ".snake"));
  names.layer(concat(ours, rates + 2, ".conv"), concat(theirs, rates + 2, ".conv"));
}

void name_decoder(Names& names, int64_t rates) {
  for (const auto& [ours, theirs] :
       {std::pair("rvq_first", "vq_first"), std::pair("rvq_rest", "vq_rest")}) {
    const std::string from = concat("decoder.quantizer.", ours, "."),
                      to = concat("tok_dec.", theirs, ".");
    names.layer(from + "output_proj", to + "output_proj");
    for (int64_t q = 0; q < names.count(to); ++q)
      names.add(concat(from, "vq.layers.", q, "._codebook.embedding_sum"),
                concat(to, q, ".codebook"));
  }
  names.layer("decoder.pre_conv.conv", "tok_dec.pre_conv");
  const std::string transformer = "decoder.pre_transformer.", pre = "tok_dec.pre_tfm.";
  names.layers(transformer, pre,
               {{"input_proj", "input_proj"}, {"output_proj", "output_proj"}, {"norm", "norm"}});
  for (int64_t i = 0; i < names.count(pre + "blk."); ++i)
    names.block(concat(transformer, "layers.", i, "."), concat(pre, "blk.", i, "."));
  for (int64_t i = 0; i < names.count("tok_dec.upsample."); ++i) {
    const std::string from = concat("decoder.upsample.", i, "."),
                      to = concat("tok_dec.upsample.", i, ".");
    names.layers(from, to,
                 {{"0.conv", "conv"},
                  {"1.dwconv.conv", "dwconv"},
                  {"1.norm", "norm"},
                  {"1.pwconv1", "pwconv1"},
                  {"1.pwconv2", "pwconv2"}});
    names.add(from + "1.gamma", to + "gamma");
  }
  name_sample_layers(names, rates);
}

void name_encoder(Names& names) {
  for (int64_t i = 0; i < names.count("tok_enc.conv."); ++i)
    names.layer(concat("encoder.encoder.layers.", i, ".conv"), concat("tok_enc.conv.", i));
  for (int64_t i = 0; i < names.count("tok_enc.res."); ++i) {
    for (const int64_t j : {1, 3})
      names.layer(concat("encoder.encoder.layers.", i, ".block.", j, ".conv"),
                  concat("tok_enc.res.", i, ".blk.", j));
  }
  for (int64_t i = 0; i < names.count("tok_enc.blk."); ++i) {
    const std::string from = concat("encoder.encoder_transformer.layers.", i, ".");
    const std::string to = concat("tok_enc.blk.", i, ".");
    names.attention(from, to);
    names.layers(from, to, {{"mlp.fc1", "ffn_up"}, {"mlp.fc2", "ffn_down"}});
  }
  names.layer("encoder.downsample.conv", "tok_enc.downsample");
  for (const char* side : {"semantic", "acoustic"}) {
    const std::string from = concat("encoder.quantizer.", side, "_residual_vector_quantizer.");
    const std::string to = concat("tok_enc.vq_", side, ".");
    names.layers(from, to, {{"input_proj", "input_proj"}, {"output_proj", "output_proj"}});
    for (int64_t q = 0; q < names.count(to); ++q)
      names.add(concat(from, "layers.", q, ".codebook.embed_sum"), concat(to, q, ".codebook"));
  }
}

Config parse(const json& values, const GgufFile& file) {
  return Config::parse(values.dump(-1, ' ', false, json::error_handler_t::replace), file.path());
}

}  // namespace

bool claims_file(const GgufFile& file) {
  return file.text("general.architecture", "") == "qwen3-tts";
}

bool is_codec_file(const GgufFile& file) {
  return file.text("general.architecture", "") == "qwen3-tts-tokenizer";
}

std::string codec_beside(const std::string& talker) {
  return gguf_beside(talker, "tokenizer", "codec", "qwen-tokenizer-12hz-Q8_0.gguf");
}

Config gguf_config(const GgufFile& file) {
  const std::string prefix = "qwen3-tts.";
  json talker = values_of(file, prefix + "talker.", kDecoderKeys);
  talker["code_predictor_config"] = values_of(file, prefix + "code_pred.", kDecoderKeys);
  talker.update(values_of(file, prefix, {{"num_code_groups", "num_code_groups"}}));
  talker.update(values_of(file, prefix + "codec.",
                          {{"codec_pad_id", "pad_id"},
                           {"codec_bos_id", "bos_id"},
                           {"codec_eos_token_id", "eos_id"},
                           {"codec_think_id", "think_id"},
                           {"codec_nothink_id", "nothink_id"},
                           {"codec_think_bos_id", "think_bos_id"},
                           {"codec_think_eos_id", "think_eos_id"}}));
  const auto id = [](const GgufList& all, size_t i) {
    return i < all.numbers.size() ? json(all.numbers[i]) : json("not a number");
  };
  const auto dialect = [](const GgufList& all, size_t i) {
    return i < all.texts.size() && !all.texts[i].empty() ? json(all.texts[i]) : json(false);
  };
  constexpr const char* kSpeakers = "qwen3-tts.codec.speaker_names";
  talker["codec_language_id"] =
      pairs(file, "qwen3-tts.codec.language_names", "qwen3-tts.codec.language_ids", id);
  talker["spk_id"] = pairs(file, kSpeakers, "qwen3-tts.codec.speaker_ids", id);
  talker["spk_is_dialect"] = pairs(file, kSpeakers, "qwen3-tts.codec.speaker_dialects", dialect);

  json root = values_of(file, prefix + "text.",
                        {{"im_start_token_id", "im_start_id"},
                         {"im_end_token_id", "im_end_id"},
                         {"tts_pad_token_id", "tts_pad_id"},
                         {"tts_bos_token_id", "tts_bos_id"},
                         {"tts_eos_token_id", "tts_eos_id"}});
  root["tokenizer_type"] = file.text(prefix + "tokenizer_type");
  root["tts_model_type"] = file.text(prefix + "model_type");
  root["tts_model_size"] = file.text(prefix + "model_size", "");
  root["talker_config"] = std::move(talker);
  if (file.find("spk_enc.fc.weight")) root["speaker_encoder_config"] = speaker_config(file);
  return parse(root, file);
}

Config gguf_generation(const GgufFile& file) {
  const std::string prefix = "generation.";
  json out = json::object();
  for (const std::string part : {"", "subtalker_"}) {
    for (const char* key : {"temperature", "top_p", "repetition_penalty"})
      if (file.has(prefix + part + key)) out[part + key] = file.number(prefix + part + key);
    if (const std::string key = part + "top_k"; file.has(prefix + key))
      out[key] = file.integer(prefix + key);
  }
  if (file.has("generation.max_new_tokens"))
    out["max_new_tokens"] = file.integer("generation.max_new_tokens");
  out["do_sample"] = file.flag("generation.do_sample", true);
  out["subtalker_dosample"] = file.flag("generation.subtalker_do_sample", true);
  return parse(out, file);
}

Config gguf_codec_config(const GgufFile& file) {
  if (!is_codec_file(file)) {
    file.fail("general.architecture", concat("expected qwen3-tts-tokenizer, got ",
                                             shown(file.text("general.architecture", ""))));
  }
  const std::string prefix = "qwen3-tts-tokenizer.";
  json root = values_of(file, prefix,
                        {{"output_sample_rate", "output_sample_rate"},
                         {"decode_upsample_rate", "decode_upsample_rate"},
                         {"encoder_valid_num_quantizers", "encoder_valid_num_quantizers"}});
  const std::initializer_list<Key> sizes = {{"hidden_size", "hidden_size"},
                                            {"intermediate_size", "intermediate_size"},
                                            {"head_dim", "head_dim"},
                                            {"num_attention_heads", "num_attention_heads"},
                                            {"num_key_value_heads", "num_key_value_heads"},
                                            {"num_hidden_layers", "num_hidden_layers"},
                                            {"codebook_dim", "codebook_dim"},
                                            {"codebook_size", "codebook_size"},
                                            {"num_quantizers", "num_quantizers"},
                                            {"num_semantic_quantizers", "num_semantic_quantizers"},
                                            {"rope_theta", "rope_theta"},
                                            {"upsampling_ratios", "upsampling_ratios"}};
  json decoder = values_of(file, prefix + "decoder.", sizes);
  decoder.update(values_of(file, prefix + "decoder.",
                           {{"latent_dim", "latent_dim"},
                            {"decoder_dim", "decoder_dim"},
                            {"sliding_window", "sliding_window"},
                            {"rms_norm_eps", "rms_norm_eps"},
                            {"upsample_rates", "upsample_rates"}}));
  json encoder = values_of(file, prefix + "encoder.", sizes);
  encoder.update(
      values_of(file, prefix + "encoder.",
                {{"num_filters", "num_filters"},
                 {"kernel_size", "kernel_size"},
                 {"last_kernel_size", "last_kernel_size"},
                 {"residual_kernel_size", "residual_kernel_size"},
                 {"num_residual_layers", "num_residual_layers"},
                 {"dilation_growth_rate", "dilation_growth_rate"},
                 {"compress", "compress"},
                 {"norm_eps", "norm_eps"},
                 {"vector_quantization_hidden_dimension", "vector_quantization_hidden_dim"}}));
  root["decoder_config"] = std::move(decoder);
  root["encoder_config"] = std::move(encoder);
  return parse(root, file);
}

std::unique_ptr<WeightSource> gguf_model_weights(std::shared_ptr<const GgufFile> file) {
  Names names(*file);
  names.layers("talker.", "talker.",
               {{"model.codec_embedding", "codec_embd"},
                {"model.text_embedding", "text_embd"},
                {"model.norm", "output_norm"},
                {"codec_head", "codec_head"},
                {"text_projection.linear_fc1", "text_proj.fc1"},
                {"text_projection.linear_fc2", "text_proj.fc2"}});
  for (int64_t i = 0; i < names.count("talker.blk."); ++i)
    names.block(concat("talker.model.layers.", i, "."), concat("talker.blk.", i, "."));
  const std::string predictor = "talker.code_predictor.";
  names.layers(predictor, "code_pred.",
               {{"model.norm", "output_norm"}, {"small_to_mtp_projection", "mtp_proj"}});
  for (int64_t i = 0; i < names.count("code_pred.blk."); ++i)
    names.block(concat(predictor, "model.layers.", i, "."), concat("code_pred.blk.", i, "."));
  std::set<std::string> tables{"talker.model.codec_embedding.weight",
                               "talker.model.text_embedding.weight"};
  for (int64_t q = 0; q < names.count("code_pred.codec_embd."); ++q) {
    const std::string table = concat(predictor, "model.codec_embedding.", q);
    names.layer(table, concat("code_pred.codec_embd.", q));
    names.layer(concat(predictor, "lm_head.", q), concat("code_pred.lm_head.", q));
    tables.insert(table + ".weight");
  }
  name_speaker_encoder(names);
  return gguf_weights(std::move(file), names.take(), std::move(tables));
}

std::unique_ptr<WeightSource> gguf_codec_weights(std::shared_ptr<const GgufFile> file) {
  Names names(*file);
  constexpr const char* kRates = "qwen3-tts-tokenizer.decoder.upsample_rates";
  name_decoder(names, std::ssize(file->list(kRates).numbers));
  name_encoder(names);
  return with_usage(gguf_weights(std::move(file), names.take()));
}

}  // namespace syrinx::qwen3_tts
