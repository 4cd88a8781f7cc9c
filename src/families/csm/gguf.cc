#include "families/csm/gguf.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "families/loading/gguf_parts.h"
#include "io/file.h"
#include "io/gguf_weights.h"

namespace syrinx::csm {
namespace {

using nlohmann::json;

constexpr const char* kArchitecture = "llama-csm";
constexpr const char* kTextTable = "token_embd.weight";
constexpr const char* kCodeTables = "audio_embd.weight";
constexpr const char* kHeads = "audio_head.weight";
constexpr const char* kProjection = "csm_proj.weight";
constexpr const char* kOurHeads = "depth_decoder.codebooks_head.weight";
/// Mimi's published number of heads, which its file lacks.
constexpr int kMimiHeads = 8;

/// Returns size `at` of a tensor, outermost first. Throws LoadError if the tensor is missing.
int64_t size_of(const GgufFile& file, const std::string& name, size_t at) {
  const GgufTensor& tensor = file.need(name);
  if (at >= tensor.sizes.size()) file.fail(name, "has too few dimensions: " + tensor.str());
  return tensor.sizes[at];
}

/// Returns the number of parts prefix.0.*, prefix.1.*, ...
int64_t count(const GgufFile& file, const std::string& prefix, const std::string& part) {
  int64_t parts = 0;
  while (file.find(concat(prefix, parts, part))) ++parts;
  return parts;
}

/// Reads the sizes of a transformer. The scaling of positions, which the file lacks, is that of the
/// authors' program (SesameAILabs/csm:models.py, torchtune's Llama 3.2).
json transformer(const GgufFile& file) {
  const auto integer = [&](const char* key) {
    return file.integer(concat(kArchitecture, ".", key));
  };
  const auto number = [&](const char* key) { return file.number(concat(kArchitecture, ".", key)); };
  return {{"hidden_size", integer("embedding_length")},
          {"intermediate_size", integer("feed_forward_length")},
          {"num_hidden_layers", integer("block_count")},
          {"num_attention_heads", integer("attention.head_count")},
          {"num_key_value_heads", integer("attention.head_count_kv")},
          {"head_dim", integer("attention.key_length")},
          {"max_position_embeddings", integer("context_length")},
          {"rope_theta", number("rope.freq_base")},
          {"rms_norm_eps", number("attention.layer_norm_rms_epsilon")},
          {"rope_scaling",
           {{"rope_type", "llama3"},
            {"factor", 32},
            {"low_freq_factor", 1},
            {"high_freq_factor", 4},
            {"original_max_position_embeddings", 8192}}}};
}

json mimi_config(const GgufFile& file) {
  const std::string book = ".codebook", semantic = "quantizer.semantic_rvq.layers.";
  const int64_t first = count(file, semantic, book);
  const int64_t width = size_of(file, semantic + "0.codebook", 1);
  return {{"model_type", "mimi"},
          {"hidden_size", size_of(file, "upsample.conv.weight", 0)},
          {"upsample_groups", size_of(file, "upsample.conv.weight", 0)},
          {"num_filters", size_of(file, "encoder.layers.0.conv.weight", 0)},
          {"codebook_size", size_of(file, semantic + "0.codebook", 0)},
          {"codebook_dim", width},
          {"vector_quantization_hidden_dimension", width},
          {"num_semantic_quantizers", first},
          {"num_quantizers", first + count(file, "quantizer.acoustic_rvq.layers.", book)},
          {"num_hidden_layers", count(file, "decoder_transformer.layers.", ".mlp.fc1.weight")},
          {"intermediate_size", size_of(file, "decoder_transformer.layers.0.mlp.fc1.weight", 0)},
          {"num_attention_heads", kMimiHeads},
          {"num_key_value_heads", kMimiHeads}};
}

/// Adds the tensors of a transformer's blocks, whose queries and keys have interleaved rows.
void name_blocks(const GgufFile& file, const std::string& ours, GgufNames& names) {
  const auto heads = [&](const char* key) {
    return static_cast<int>(
        std::clamp<int64_t>(file.integer(concat(kArchitecture, ".attention.", key)), 1, 512));
  };
  const int queries = heads("head_count"), keys = heads("head_count_kv");
  struct Part {
    const char *ours, *theirs;
    int heads = 0;
  };
  for (int64_t i = 0; i < count(file, "blk.", ".attn_norm.weight"); ++i) {
    for (const Part& part : {Part{"input_layernorm", "attn_norm"},
                             {"post_attention_layernorm", "ffn_norm"},
                             {"self_attn.q_proj", "attn_q", queries},
                             {"self_attn.k_proj", "attn_k", keys},
                             {"self_attn.v_proj", "attn_v"},
                             {"self_attn.o_proj", "attn_output"},
                             {"mlp.gate_proj", "ffn_gate"},
                             {"mlp.up_proj", "ffn_up"},
                             {"mlp.down_proj", "ffn_down"}}) {
      names[concat(ours, "layers.", i, ".", part.ours, ".weight")] = {
          concat("blk.", i, ".", part.theirs, ".weight"), part.heads};
    }
  }
  names[ours + "norm.weight"] = {"output_norm.weight"};
}

/// Replaces the first `from` in `text` by `to`.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

GgufNames codec_names(const GgufFile& file) {
  GgufNames names;
  for (const GgufTensor& tensor : file.tensors()) {
    std::string ours = replaced(tensor.name, "_rvq.", "_residual_vector_quantizer.");
    if (ours.ends_with(".codebook")) ours += ".embed_sum";
    const bool paired = ours.ends_with(".q_proj.weight") || ours.ends_with(".k_proj.weight");
    names["codec_model." + ours] = {tensor.name, paired ? kMimiHeads : 0};
  }
  return names;
}

/// The tensors of the three files. The depth decoder's heads are stored transposed, behind and
/// before a head of zeros.
class Files : public WeightSource {
 public:
  explicit Files(const GgufFiles& files) {
    GgufNames backbone{{"embed_text_tokens.weight", kTextTable},
                       {"lm_head.weight", "codebook0_head.weight"}};
    name_blocks(*files.backbone, "backbone_model.", backbone);
    GgufNames depth{{"backbone_model.embed_tokens.embed_audio_tokens.weight", kCodeTables},
                    {"depth_decoder.model.inputs_embeds_projector.weight", kProjection},
                    {kOurHeads, kHeads}};
    name_blocks(*files.depth, "depth_decoder.model.", depth);
    parts_ = {syrinx::gguf_weights(files.backbone, std::move(backbone),
                                   {"embed_text_tokens.weight"}, {kProjection}),
              syrinx::gguf_weights(files.depth, std::move(depth),
                                   {"backbone_model.embed_tokens.embed_audio_tokens.weight"}),
              with_usage(syrinx::gguf_weights(files.codec, codec_names(*files.codec)))};
  }

  std::string where(const std::string& name) const override { return part(name).where(name); }
  bool has(const std::string& name) const override { return part(name).has(name); }
  std::string stored_name(const std::string& name) const override {
    return part(name).stored_name(name);
  }
  std::string describe(const std::string& name) const override { return part(name).describe(name); }
  std::optional<Shape> shape(const std::string& name) const override {
    const std::optional<Shape> stored = part(name).shape(name);
    if (name != kOurHeads || !stored || stored->dims() != 3) return stored;
    return Shape{(*stored)[0] - 2, (*stored)[2], (*stored)[1]};
  }
  View take(const std::string& name, const Shape& want) override {
    if (name != kOurHeads) return part(name).take(name, want);
    if (want.dims() != 3) return {};
    const int64_t heads = want[0], width = want[1], codes = want[2];
    const View stored = part(name).take(name, {heads + 2, codes, width});
    if (stored.empty()) return {};
    heads_ = Tensor(want, DType::kF32);
    const Tensor all = to_f32(stored.slice(1, heads + 1));
    for (int64_t head = 0; head < heads; ++head) {
      const float* from = all.f32() + head * codes * width;
      float* to = heads_.f32() + head * codes * width;
      for (int64_t code = 0; code < codes; ++code)
        for (int64_t i = 0; i < width; ++i) to[i * codes + code] = from[code * width + i];
    }
    return heads_;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& part : parts_) std::ranges::move(part->names(), std::back_inserter(out));
    return out;
  }

 private:
  /// Returns the file that has or should have a tensor.
  WeightSource& part(const std::string& name) const {
    if (name.starts_with("codec_model.")) return *parts_[2];
    return *parts_[name.starts_with("depth_decoder.") || parts_[1]->has(name) ? 1 : 0];
  }

  std::array<std::unique_ptr<WeightSource>, 3> parts_;  // backbone, depth decoder, codec
  Tensor heads_;
};

bool has_architecture(const GgufFile& file) {
  return file.text("general.architecture", "") == kArchitecture;
}

}  // namespace

bool claims_file(const GgufFile& file) { return has_architecture(file) && file.find(kTextTable); }

bool is_part_file(const GgufFile& file) {
  return (has_architecture(file) && !file.find(kTextTable)) ||
         file.find("quantizer.semantic_rvq.layers.0.codebook");
}

GgufFiles open_gguf_files(const std::string& backbone) {
  const std::filesystem::path path(backbone);
  const std::string name = replaced(path.filename().string(), "backbone", "decoder");
  std::string depth = (path.parent_path() / name).string();
  if (depth == backbone || !is_file(depth))
    depth = gguf_beside(backbone, "decoder", "depth decoder", "sesame-csm-decoder.gguf");
  const std::string codec = gguf_beside(backbone, "mimi", "codec", "kyutai-mimi.gguf");
  return {std::make_shared<const GgufFile>(backbone), std::make_shared<const GgufFile>(depth),
          std::make_shared<const GgufFile>(codec)};
}

Config gguf_config(const GgufFiles& files) {
  const GgufFile &backbone = *files.backbone, &depth = *files.depth;
  if (!has_architecture(depth)) {
    depth.fail("general.architecture", concat("expected ", kArchitecture, ", got ",
                                              shown(depth.text("general.architecture", ""))));
  }
  json root = transformer(backbone), inner = transformer(depth);
  const int64_t books = size_of(depth, kHeads, 0) - 1, codes = size_of(depth, kHeads, 1);
  for (json* config : {&root, &inner}) {
    (*config)["num_codebooks"] = books;
    (*config)["vocab_size"] = codes;
  }
  inner["backbone_hidden_size"] = size_of(depth, kCodeTables, 1);
  root["model_type"] = "csm";
  root["text_vocab_size"] = size_of(backbone, kTextTable, 0);
  root["codebook_eos_token_id"] = 0;
  // The text ids of audio are Llama 3's first and second reserved ids.
  const int64_t begin = backbone.integer("tokenizer.ggml.bos_token_id");
  root["audio_token_id"] = begin + 2;
  root["audio_eos_token_id"] = begin + 3;
  root["depth_decoder_config"] = std::move(inner);
  root["codec_config"] = mimi_config(*files.codec);
  return Config::parse(root.dump(-1, ' ', false, json::error_handler_t::replace), backbone.path());
}

std::unique_ptr<WeightSource> gguf_weights(const GgufFiles& files) {
  return std::make_unique<Files>(files);
}

}  // namespace syrinx::csm
