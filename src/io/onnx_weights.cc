#include "io/onnx_weights.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "io/onnx_graph.h"

namespace syrinx {
namespace {

class OnnxWeights : public WeightSource {
 public:
  OnnxWeights(const std::string& path, OnnxNames names) : graph_(path), names_(std::move(names)) {
    for (const OnnxNode& node : graph_.nodes()) name_inputs(node);
  }

  std::string where(const std::string&) const override { return graph_.path(); }
  bool has(const std::string& name) const override { return find(name) != nullptr; }
  std::string describe(const std::string& name) const override { return find(name)->str(); }
  std::optional<Shape> shape(const std::string& name) const override {
    const OnnxTensor* tensor = find(name);
    if (!tensor || tensor->sizes.size() > Shape::kMaxDims) return {};
    return Shape(std::span<const int64_t>(tensor->seen_sizes()));
  }
  View take(const std::string& name, const Shape& want) override {
    const OnnxTensor* tensor = find(name);
    if (!tensor || !onnx_dtype(tensor->type) || shape(name) != want) return {};
    return view(*tensor);
  }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, OnnxConvolution>& convolutions() const { return convolutions_; }

 private:
  /// Finds a tensor by its own name, or by the name of an Identity that refers to it.
  std::optional<size_t> tensor(const std::string& name) const {
    if (const auto found = graph_.find(name)) return found;
    const auto found = second_.find(name);
    return found == second_.end() ? std::nullopt : std::optional(found->second);
  }

  int64_t count(size_t tensor) {
    return Shape(std::span<const int64_t>(graph_.tensors()[tensor].sizes)).count();
  }

  void name_inputs(const OnnxNode& node) {
    if (node.op == "Identity" && !node.inputs.empty()) {
      if (const auto found = tensor(node.inputs[0])) second_.emplace(node.output, *found);
    }
    const std::string module = onnx_module_of(node.name);
    if (module.empty()) return;
    const auto give = [&](size_t input, const char* what) {
      if (input >= node.inputs.size()) return;
      const auto found = tensor(node.inputs[input]);
      if (!found) return;
      // In a norm exported as single operations, the Add of epsilon precedes the Add of the bias.
      const auto [place, fresh] = by_module_.emplace(module + "." + what, *found);
      if (!fresh && count(place->second) == 1 && count(*found) > 1) place->second = *found;
    };
    if (is_convolution(node)) convolutions_.emplace(module, node.convolution);
    if (is_convolution(node) || node.op == "LayerNormalization" ||
        node.op == "BatchNormalization") {
      give(1, "weight"), give(2, "bias");
      if (node.op == "BatchNormalization") give(3, "running_mean"), give(4, "running_var");
    } else if (node.op == "MatMul") {
      for (const std::string& input : node.inputs) {
        const auto found = tensor(input);
        if (!found) continue;
        graph_.tensors()[*found].transposed = true;
        by_module_.emplace(module + ".weight", *found);
      }
    } else if (node.op == "Add") {
      give(0, "bias"), give(1, "bias");
    } else if (node.op == "Mul") {
      give(0, "scale"), give(1, "scale");
    } else if (node.op == "Exp") {
      give(0, "exponent");
    } else if (node.op == "Gather") {
      give(0, "weight");
    }
  }

  const OnnxTensor* find(const std::string& name) const {
    for (const std::string& each : names_ ? names_(name) : std::vector{name}) {
      const auto found = by_module_.find(each);
      const std::optional<size_t> at = found != by_module_.end() ? found->second : tensor(each);
      if (at) return &graph_.tensors()[*at];
    }
    return nullptr;
  }

  View view(const OnnxTensor& tensor) {
    const DType dtype = *onnx_dtype(tensor.type);
    const std::vector<int64_t> sizes = tensor.seen_sizes();
    const Shape shape{std::span<const int64_t>(sizes)};
    const size_t unit = dtype_size(dtype), count = tensor.data.size() / unit;
    if (count != static_cast<size_t>(shape.count())) return {};  // integers, stored as varints
    const bool turn = tensor.transposed && sizes.size() == 2;
    if (!turn && reinterpret_cast<uintptr_t>(tensor.data.data()) % unit == 0)
      return {const_cast<char*>(tensor.data.data()), dtype, shape, Device::kCpu};
    Tensor& copy = copies_[tensor.name];
    if (copy.empty()) {
      copy = Tensor(shape, dtype);
      auto* to = static_cast<char*>(copy.view().data);
      if (!turn) {
        std::memcpy(to, tensor.data.data(), tensor.data.size());
        return copy;
      }
      const auto out = static_cast<size_t>(sizes[0]), in = static_cast<size_t>(sizes[1]);
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i)
          std::memcpy(to + (o * in + i) * unit, tensor.data.data() + (i * out + o) * unit, unit);
    }
    return copy;
  }

  OnnxGraph graph_;
  OnnxNames names_;
  std::unordered_map<std::string, size_t> second_, by_module_;
  std::unordered_map<std::string, Tensor> copies_;  // copies of unaligned or transposed tensors
  std::map<std::string, OnnxConvolution> convolutions_;
};

}  // namespace

std::unique_ptr<WeightSource> open_onnx_weights(const std::string& path, OnnxNames names) {
  return std::make_unique<OnnxWeights>(path, std::move(names));
}

std::map<std::string, OnnxConvolution> read_onnx_convolutions(const std::string& path) {
  return OnnxWeights(path, {}).convolutions();
}

}  // namespace syrinx
