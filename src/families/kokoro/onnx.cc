#include "families/kokoro/onnx.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "io/onnx_graph.h"
#include "nn/layers.h"

namespace syrinx::kokoro {
namespace {

constexpr std::array<std::string_view, 5> kModules{"bert", "bert_encoder", "predictor",
                                                   "text_encoder", "decoder"};
constexpr std::array<int64_t, 4> kGates{0, 2, 3, 1};  // torch's order: input, forget, cell, output

constexpr std::string_view kWholeModel = "kmodel.";

/// Removes the prefix of the export wrapper from a tensor's name: "encoder." or "decoder.", or
/// "kmodel." in exports by the authors' own script.
std::string_view inner_name(std::string_view name) {
  for (const std::string_view part : {std::string_view("encoder."), {"decoder."}, kWholeModel}) {
    if (name.starts_with(part)) return name.substr(part.size());
  }
  return name;
}

/// Returns the authors' name of a node's module. Modules that the predictor calls directly lack its
/// prefix; a module that is called again has a number. `wrapped`: names have a prefix. Without it,
/// the text encoders of predictor and model share a name; only the predictor's has lstms.
std::string module_of(std::string_view node, bool wrapped) {
  const std::string full = onnx_module_of(node);
  std::string name(wrapped ? inner_name(full) : full);
  if (!wrapped && name.starts_with("text_encoder.lstms.")) name.insert(0, "predictor.");
  const size_t last = name.find_last_not_of("0123456789");
  if (last != name.npos && last + 1 < name.size() && name[last] == '_') name.resize(last);
  const std::string_view head = std::string_view(name).substr(0, name.find('.'));
  const bool known = std::find(kModules.begin(), kModules.end(), head) != kModules.end();
  return name.empty() || known ? name : "predictor." + name;
}

class OnnxKokoro : public WeightSource {
 public:
  explicit OnnxKokoro(const std::string& path) : graph_(path) {
    for (const OnnxTensor& tensor : graph_.tensors()) name_plain(tensor);
    wrapped_ =
        std::none_of(graph_.tensors().begin(), graph_.tensors().end(),
                     [](const OnnxTensor& tensor) { return tensor.name.starts_with(kWholeModel); });
    for (const OnnxNode& node : graph_.nodes()) note_copy(node);
    for (const OnnxNode& node : graph_.nodes()) name_inputs(node);
    if (!has("decoder.generator.conv_post.weight") ||
        !has("bert.embeddings.word_embeddings.weight")) {
      graph_.fail("", "expected an ONNX export of Kokoro, with the modules bert and decoder");
    }
  }

  std::string where(const std::string&) const override { return graph_.path(); }
  bool has(const std::string& name) const override { return parts_.contains(name); }
  std::string describe(const std::string& name) const override {
    return tensor_of(parts_.at(name)).str();
  }
  std::optional<Shape> shape(const std::string& name) const override {
    const auto found = parts_.find(name);
    if (found == parts_.end()) return {};
    return shape_of(found->second);
  }
  View take(const std::string& name, const Shape& want) override {
    const auto found = parts_.find(name);
    if (found == parts_.end() || shape_of(found->second) != want) return {};
    Tensor& copy = copies_[name];
    if (copy.empty()) copy = made(found->second, want);
    return copy;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, part] : parts_) out.push_back(name);
    return out;
  }

 private:
  /// Describes how one weight is computed from a tensor of the graph.
  struct Part {
    enum Kind : uint8_t { kWhole, kTurned, kGateMatrix, kGateBias };
    size_t tensor = 0;
    Kind kind = kWhole;
    std::optional<size_t> scale = {},
                          zero = {};  ///< for 8-bit tensors: a value is (n - zero) * scale
    int64_t way = 0;                  ///< direction of an LSTM: 0 or 1
    int64_t half = 0;                 ///< half of an LSTM's bias: 0 for the input, 1 for the state
    bool inputs_first = false;        ///< gate matrices are [inputs, 4 hidden]
  };

  const OnnxTensor& tensor_of(const Part& part) const { return graph_.tensors()[part.tensor]; }

  std::optional<Shape> shape_of(const Part& part) const {
    std::vector<int64_t> sizes = tensor_of(part).sizes;
    const auto dims = sizes.size();
    if (part.kind == Part::kTurned && dims == 2) std::swap(sizes[0], sizes[1]);
    if (part.kind == Part::kGateBias) {
      if (dims != 2) return {};
      sizes = {sizes[1] / 2};
    } else if (part.kind == Part::kGateMatrix) {
      if (dims != 3) return {};
      sizes = {sizes[1], sizes[2]};
      if (part.inputs_first) std::swap(sizes[0], sizes[1]);
    }
    if (sizes.size() > Shape::kMaxDims) return {};
    return Shape(std::span<const int64_t>(sizes));
  }

  /// Returns the values of a tensor as f32. The tensor may have 8-bit integers.
  std::vector<float> numbers(const OnnxTensor& tensor) const {
    int64_t count = 1;
    for (const int64_t size : tensor.sizes) count *= size;
    std::vector<float> out(static_cast<size_t>(count));
    const bool narrow = tensor.type == kOnnxU8 || tensor.type == kOnnxI8;
    const std::optional<DType> dtype = onnx_dtype(tensor.type);
    if (narrow && !tensor.ints.empty()) {
      ProtoReader list(tensor.ints);
      uint64_t value = 0;
      for (float& number : out) {
        if (!list.varint(value)) graph_.fail(tensor.name, "its values are truncated");
        number = static_cast<float>(static_cast<int64_t>(value));
      }
      return out;
    }
    const size_t unit = narrow ? 1 : dtype ? dtype_size(*dtype) : 0;
    const bool real =
        narrow || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
    if (!real || tensor.data.size() != out.size() * unit) {
      graph_.fail(tensor.name, "expected numbers of f32, f16, bf16 or 8 bits, got " + tensor.str());
    }
    if (narrow) {
      for (size_t i = 0; i < out.size(); ++i) {
        const auto byte = static_cast<uint8_t>(tensor.data[i]);
        out[i] = tensor.type == kOnnxU8 ? static_cast<float>(byte)
                                        : static_cast<float>(static_cast<int8_t>(byte));
      }
      return out;
    }
    Tensor aligned(Shape{count}, *dtype);
    std::memcpy(aligned.view().data, tensor.data.data(), tensor.data.size());
    const Tensor wide = to_f32(aligned);
    std::copy_n(wide.f32(), count, out.data());
    return out;
  }

  /// Scales or zeros. One for each tensor, each output, or each direction of an LSTM.
  class Factors {
   public:
    Factors(std::vector<float> all, int64_t way, int64_t rows)
        : all_(std::move(all)), begin_(std::ssize(all_) > rows ? way * rows : 0), way_(way) {
      each_ = std::ssize(all_) == rows || std::ssize(all_) == 2 * rows;
    }
    /// Returns whether there is one factor per tensor, per output row, or per direction.
    bool fit(int64_t ways) const { return each_ || all_.size() == 1 || std::ssize(all_) == ways; }
    double of(int64_t row) const {
      if (each_) return all_[static_cast<size_t>(begin_ + row)];
      return all_[all_.size() == 1 ? 0 : static_cast<size_t>(way_)];
    }

   private:
    std::vector<float> all_;
    int64_t begin_, way_;
    bool each_;
  };
  Factors factors(std::optional<size_t> tensor, const Part& part, int64_t rows,
                  float otherwise) const {
    Factors out(tensor ? numbers(graph_.tensors()[*tensor]) : std::vector{otherwise}, part.way,
                rows);
    if (!out.fit(part.kind == Part::kGateMatrix ? 2 : 1)) {
      graph_.fail(graph_.tensors()[*tensor].name,
                  concat("expected one number, or one for each of ", rows, " outputs"));
    }
    return out;
  }

  Tensor made(const Part& part, const Shape& want) const {
    const OnnxTensor& tensor = tensor_of(part);
    const std::vector<float> all = numbers(tensor);
    const bool narrow = tensor.type == kOnnxU8 || tensor.type == kOnnxI8;
    if (narrow && !part.scale) graph_.fail(tensor.name, "has 8 bits and no scale");
    Tensor out(want, DType::kF32);
    const int64_t rows = want[0], columns = want.count() / std::max<int64_t>(rows, 1);
    const Factors scales = factors(narrow ? part.scale : std::nullopt, part, rows, 1);
    const Factors zeros = factors(narrow ? part.zero : std::nullopt, part, rows, 0);
    const bool gates = part.kind == Part::kGateMatrix || part.kind == Part::kGateBias;
    const int64_t hidden = rows / 4;
    const int64_t begin = gates ? (2 * part.way + part.half) * rows * columns : 0;
    const int64_t base = part.kind == Part::kGateMatrix ? part.way * rows * columns : begin;
    const bool turned =
        part.kind == Part::kTurned || (part.kind == Part::kGateMatrix && part.inputs_first);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t from =
          gates ? kGates[static_cast<size_t>(r / hidden)] * hidden + r % hidden : r;
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = base + (turned ? c * rows + from : from * columns + c);
        const double number = all[static_cast<size_t>(at)];
        out.f32()[r * columns + c] =
            static_cast<float>((number - zeros.of(from)) * scales.of(from));
      }
    }
    return out;
  }

  /// Returns the tensor that a node reads, directly or through identities and casts (in f16
  /// exports).
  std::optional<size_t> input(const OnnxNode& node, size_t index) const {
    if (index >= node.inputs.size()) return {};
    const auto copy = copied_.find(node.inputs[index]);
    return copy != copied_.end() ? copy->second : graph_.find(node.inputs[index]);
  }

  void note_copy(const OnnxNode& node) {
    if (node.op != "Cast" && node.op != "Identity") return;
    if (const auto from = input(node, 0)) copied_.emplace(node.output, *from);
  }

  /// Returns the scale of an 8-bit tensor. Its name differs only in the ending.
  std::optional<size_t> scale_of(size_t tensor) const {
    constexpr std::string_view kQuantized = "_quantized";
    std::string name = graph_.tensors()[tensor].name;
    if (!name.ends_with(kQuantized)) return {};
    name.resize(name.size() - kQuantized.size());
    return graph_.find(name + "_scale");
  }

  /// Registers a tensor that has the name of the authors' parameter.
  void name_plain(const OnnxTensor& tensor) {
    const std::string_view name = inner_name(tensor.name);
    const bool ours = std::any_of(kModules.begin(), kModules.end(), [&](std::string_view module) {
      return name.size() > module.size() && name.starts_with(module) && name[module.size()] == '.';
    });
    // Skips 8-bit tensors, and tensors of the inverse transform in the wrapper, by their names.
    if (!ours || name.size() == tensor.name.size() || name.starts_with("decoder.generator.stft.") ||
        name.find("_quantized") != name.npos || name.ends_with("_scale") ||
        name.ends_with("_zero_point")) {
      return;
    }
    parts_.emplace(std::string(name), Part{.tensor = *graph_.find(tensor.name)});
  }

  void name_inputs(const OnnxNode& node) {
    if (node.op == "DequantizeLinear" && !node.inputs.empty()) {
      const auto from = gathered_.find(node.inputs[0]);
      if (from != gathered_.end()) parts_[from->second].zero = input(node, 2);
      return;
    }
    const std::string module = module_of(node.name, wrapped_);
    if (module.empty() || module.find("stft") != module.npos) return;
    const auto put = [&](const std::string& name, Part part) { parts_.emplace(name, part); };
    const std::string weight = module + ".weight";
    if (is_convolution(node)) {
      const auto found = input(node, 1);
      if (found && graph_.tensors()[*found].name.find(".stft.") == std::string::npos) {
        put(weight, {.tensor = *found});
      }
    } else if (node.op == "ConvInteger" || node.op == "MatMulInteger") {
      const auto kind = node.op == "ConvInteger" ? Part::kWhole : Part::kTurned;
      if (const auto found = input(node, 1)) {
        put(weight, {*found, kind, scale_of(*found), input(node, 3)});
      }
    } else if (node.op == "MatMul") {
      if (const auto found = input(node, 1)) put(weight, {*found, Part::kTurned});
    } else if (node.op == "Gather") {
      gathered_[node.output] = weight;
      if (const auto found = input(node, 0)) put(weight, {*found, Part::kWhole, scale_of(*found)});
    } else if (node.op == "LSTM" || node.op == "DynamicQuantizeLSTM") {
      name_lstm(node, module);
    }
  }

  void name_lstm(const OnnxNode& node, const std::string& module) {
    const bool narrow = node.op != "LSTM";
    const auto w = input(node, 1), r = input(node, 2), b = input(node, 3);
    if (!w || !r || !b) graph_.fail(node.name, "expected its weights and biases in the file");
    for (const int64_t way : {0, 1}) {
      const std::string end = way == 0 ? "_l0" : "_l0_reverse";
      const auto matrix = [&](size_t tensor, size_t scale) {
        Part part{.tensor = tensor, .kind = Part::kGateMatrix, .way = way};
        if (narrow) part.scale = input(node, scale), part.zero = input(node, scale + 1);
        part.inputs_first = narrow;
        return part;
      };
      parts_.emplace(module + ".weight_ih" + end, matrix(*w, 8));
      parts_.emplace(module + ".weight_hh" + end, matrix(*r, 10));
      for (const int64_t half : {0, 1}) {
        parts_.emplace(module + (half == 0 ? ".bias_ih" : ".bias_hh") + end,
                       Part{.tensor = *b, .kind = Part::kGateBias, .way = way, .half = half});
      }
    }
  }

  OnnxGraph graph_;
  bool wrapped_ = true;  // module names begin with the wrapper's name
  std::map<std::string, Part> parts_;
  std::map<std::string, size_t>
      copied_;  // output of a node that only copies a tensor -> the tensor
  std::map<std::string, std::string>
      gathered_;  // output of a table lookup -> name of the table's weight
  std::map<std::string, Tensor> copies_;
};

}  // namespace

std::unique_ptr<WeightSource> open_kokoro_onnx(const std::string& path) {
  return std::make_unique<OnnxKokoro>(path);
}

}  // namespace syrinx::kokoro
