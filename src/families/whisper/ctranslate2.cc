#include "families/whisper/ctranslate2.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/memory.h"
#include "io/ctranslate2.h"

namespace syrinx::whisper {
namespace {

/// A tensor's name here and in CTranslate2. CTranslate2 joins `parts` tensors (queries, keys and
/// values) into one variable, of which this tensor is number `part`.
struct Ct2Name {
  const char* ours;
  const char* theirs;
  int part = 0, parts = 1;
};

constexpr Ct2Name kStack[] = {{"conv1", "conv1"},
                              {"conv2", "conv2"},
                              {"embed_positions", "position_encodings"},
                              {"embed_tokens", "embeddings"},
                              {"layer_norm", "layer_norm"}};
constexpr Ct2Name kLayer[] = {{"self_attn_layer_norm", "self_attention/layer_norm"},
                              {"self_attn.q_proj", "self_attention/linear_0", 0, 3},
                              {"self_attn.k_proj", "self_attention/linear_0", 1, 3},
                              {"self_attn.v_proj", "self_attention/linear_0", 2, 3},
                              {"self_attn.out_proj", "self_attention/linear_1"},
                              {"encoder_attn_layer_norm", "attention/layer_norm"},
                              {"encoder_attn.q_proj", "attention/linear_0"},
                              {"encoder_attn.k_proj", "attention/linear_1", 0, 2},
                              {"encoder_attn.v_proj", "attention/linear_1", 1, 2},
                              {"encoder_attn.out_proj", "attention/linear_2"},
                              {"final_layer_norm", "ffn/layer_norm"},
                              {"fc1", "ffn/linear_0"},
                              {"fc2", "ffn/linear_1"}};
constexpr Ct2Name kKinds[] = {{"weight", "weight"},
                              {"weight", "gamma"},
                              {"weight", "encodings"},
                              {"bias", "bias"},
                              {"bias", "beta"}};

/// Returns the number of layers of the stack "encoder" or "decoder".
int64_t layers_of(const Ct2File& file, const std::string& stack) {
  constexpr int64_t kMost = 256;
  int64_t layers = 0;
  while (layers < kMost &&
         file.find(concat(stack, "/layer_", layers, "/ffn/linear_0/weight")) != nullptr) {
    ++layers;
  }
  return layers;
}

class Ct2Weights : public WeightSource {
 public:
  explicit Ct2Weights(std::unique_ptr<const Ct2File> file) : file_(std::move(file)) {
    for (const char* stack : {"encoder", "decoder"}) {
      const std::string ours = concat("model.", stack, "."), theirs = concat(stack, "/");
      for (const Ct2Name& name : kStack) add(ours, theirs, name);
      for (int64_t i = 0, layers = layers_of(*file_, stack); i < layers; ++i) {
        for (const Ct2Name& name : kLayer)
          add(concat(ours, "layers.", i, "."), concat(theirs, "layer_", i, "/"), name);
      }
    }
  }

  std::string where(const std::string&) const override { return file_->path(); }
  bool has(const std::string& name) const override { return parts_.contains(name); }
  std::string describe(const std::string& name) const override {
    const Part& part = parts_.at(name);
    return concat(part.variable->str(), part.rows == part.variable->sizes[0]
                                            ? ""
                                            : concat(", of which ", part.rows, " rows"));
  }
  std::optional<Shape> shape(const std::string& name) const override {
    const auto found = parts_.find(name);
    return found == parts_.end() ? std::nullopt : std::optional(found->second.shape());
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, part] : parts_) out.push_back(name);
    return out;
  }

  View take(const std::string& name, const Shape& want) override {
    const auto found = parts_.find(name);
    if (found == parts_.end() || found->second.shape() != want || want.count() == 0) return {};
    const Part& part = found->second;
    if (!part.variable->dtype) return {};
    if (part.variable->dtype == DType::kI8) return scaled(part);
    const View view = part.view();
    if (reinterpret_cast<uintptr_t>(view.data) % dtype_size(view.dtype) == 0) return view;
    Tensor copy(view.shape, view.dtype);
    std::memcpy(copy.view().data, view.data, view.bytes());
    return kept(std::move(copy));
  }

 private:
  /// Rows of a variable that form a separate tensor here.
  struct Part {
    const Ct2Variable* variable;
    const Ct2Variable* scale;  ///< scales of an 8-bit variable, one per row; otherwise null
    int64_t first, rows;

    Shape shape() const {
      std::vector<int64_t> sizes = variable->sizes;
      sizes[0] = rows;
      return Shape(std::span<const int64_t>(sizes));
    }
    /// Returns a view of the stored values, which may be unaligned.
    View view() const {
      const Shape all = shape();
      const auto row = static_cast<size_t>(all.count() / std::max<int64_t>(rows, 1)) *
                       dtype_size(*variable->dtype);
      const char* data = variable->data.data() + static_cast<size_t>(first) * row;
      return {const_cast<char*>(data), *variable->dtype, all, Device::kCpu};
    }
  };

  void add(const std::string& ours, const std::string& theirs, const Ct2Name& name) {
    for (const Ct2Name& kind : kKinds) {
      const std::string stem = concat(theirs, name.theirs, "/", kind.theirs);
      const Ct2Variable* variable = file_->find(stem);
      if (variable == nullptr) continue;
      const auto& sizes = variable->sizes;
      if (sizes.empty() || sizes.size() > Shape::kMaxDims || sizes[0] % name.parts != 0) {
        file_->fail(stem, "has unexpected sizes: " + variable->str());
      }
      const int64_t rows = sizes[0] / name.parts;
      const Part part{variable, file_->find(stem + "_scale"), name.part * rows, rows};
      // The published model has no bias of keys. CTranslate2 stores zeros instead.
      const bool keys = std::string_view(name.ours).ends_with("k_proj");
      if (keys && std::string_view(kind.ours) == "bias") {
        const View zeros = part.view();
        const char* data = static_cast<const char*>(zeros.data);
        if (std::any_of(data, data + zeros.bytes(), [](char c) { return c != 0; }))
          file_->fail(stem, "expected no bias of keys");
        continue;
      }
      parts_.emplace(concat(ours, name.ours, ".", kind.ours), part);
    }
  }

  /// Unpacks 8-bit values by dividing each by the scale of its row.
  View scaled(const Part& part) {
    const Ct2Variable* scale = part.scale;
    if (scale == nullptr || scale->dtype != DType::kF32 || scale->sizes.size() != 1 ||
        scale->sizes[0] != part.variable->sizes[0]) {
      return {};
    }
    const View numbers = part.view();
    expect_memory(numbers.count() * static_cast<int64_t>(sizeof(float)));
    Tensor out(numbers.shape, DType::kF32);
    const int64_t width = numbers.count() / part.rows;
    for (int64_t row = 0; row < part.rows; ++row) {
      float by;
      std::memcpy(&by, scale->data.data() + static_cast<size_t>(part.first + row) * sizeof by,
                  sizeof by);
      for (int64_t i = row * width; i < (row + 1) * width; ++i)
        out.f32()[i] = static_cast<float>(numbers.i8()[i]) / by;
    }
    return kept(std::move(out));
  }

  View kept(Tensor tensor) {
    constexpr size_t kKept = 8;
    if (latest_.size() == kKept) latest_.pop_front();
    latest_.push_back(std::move(tensor));
    return latest_.back();
  }

  std::unique_ptr<const Ct2File> file_;
  std::map<std::string, Part> parts_;
  std::deque<Tensor> latest_;
};

/// Throws LoadError if the file sets an option that this network does not have.
void expect_off(const Ct2File& file, const std::string& name) {
  if (file.find(name) != nullptr && file.number(name) != 0) file.fail(name, "is not supported");
}

}  // namespace

bool claims_ct2(const Config& root) {
  return !root.has("model_type") && root.has("suppress_ids") && root.has("suppress_ids_begin");
}

Ct2Model open_ct2(const std::string& dir) {
  auto file = std::make_unique<Ct2File>(join_path(dir, kCt2File));
  if (file->spec() != "WhisperSpec") {
    file->fail("", "expected a WhisperSpec, got a " + shown(file->spec()));
  }
  constexpr int64_t kGelu = 3;  // ctranslate2:python/ctranslate2/specs/common_spec.py, Activation
  for (const std::string stack : {"encoder", "decoder"}) {
    for (const char* off : {"/scale_embeddings", "/alibi", "/start_from_zero_embedding"})
      expect_off(*file, stack + off);
    if (file->find(stack + "/activation") && file->number(stack + "/activation") != kGelu)
      file->fail(stack + "/activation", "expected the exact GELU");
  }
  const Ct2Variable& conv = file->need("encoder/conv1/weight", 3);
  const nlohmann::json sizes = {
      {"model_type", "whisper"},
      {"num_mel_bins", conv.sizes[1]},
      {"d_model", conv.sizes[0]},
      {"max_source_positions", file->need("encoder/position_encodings/encodings", 2).sizes[0]},
      {"encoder_layers", layers_of(*file, "encoder")},
      {"encoder_attention_heads", file->number("encoder/num_heads")},
      {"encoder_ffn_dim", file->need("encoder/layer_0/ffn/linear_0/weight", 2).sizes[0]},
      {"decoder_layers", layers_of(*file, "decoder")},
      {"decoder_attention_heads", file->number("decoder/num_heads")},
      {"decoder_ffn_dim", file->need("decoder/layer_0/ffn/linear_0/weight", 2).sizes[0]},
      {"vocab_size", file->need("decoder/embeddings/weight", 2).sizes[0]},
      {"max_target_positions", file->need("decoder/position_encodings/encodings", 2).sizes[0]}};
  const Config config = Config::parse(sizes.dump(), file->path());
  return {load_model_config(config), std::make_unique<Ct2Weights>(std::move(file))};
}

Generation load_ct2_generation(const Config& root, const ModelConfig& model,
                               const Tokenizer& tokenizer) {
  nlohmann::json g = {{"decoder_start_token_id", tokenizer.need_id("<|startoftranscript|>")},
                      {"eos_token_id", tokenizer.need_id("<|endoftext|>")},
                      {"no_timestamps_token_id", tokenizer.need_id("<|notimestamps|>")},
                      {"prev_sot_token_id", tokenizer.need_id("<|startofprev|>")},
                      {"suppress_tokens", root.raw()["suppress_ids"]},
                      {"begin_suppress_tokens", root.raw()["suppress_ids_begin"]}};
  if (root.has("alignment_heads")) g["alignment_heads"] = root.raw()["alignment_heads"];
  // The converter lists languages even for English-only models.
  g["is_multilingual"] = model.vocab != kEnglishVocab && root.has("lang_ids");
  if (g["is_multilingual"]) {
    for (const int64_t id : root.ints("lang_ids", 0, tokenizer.size() - 1)) {
      const auto token = static_cast<int32_t>(id);
      g["lang_to_id"][tokenizer.decode(std::span(&token, 1))] = token;
    }
    g["task_to_id"] = {{"transcribe", tokenizer.need_id("<|transcribe|>")},
                       {"translate", tokenizer.need_id("<|translate|>")}};
  }
  return load_generation(Config::parse(g.dump(), root.where()), model);
}

}  // namespace syrinx::whisper
