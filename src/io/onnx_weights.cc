#include "io/onnx_weights.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "io/file.h"
#include "io/protobuf.h"

namespace syrinx {
namespace {

constexpr size_t kMaxTensors = 1 << 16, kMaxNodes = 1 << 20, kMaxName = 1024, kMaxSizes = 16;
constexpr size_t kInputs = 8;  // of a node; those after them hold no weights

// Field numbers of onnx.proto.
enum ModelField : uint32_t { kGraph = 7 };
enum GraphField : uint32_t { kNode = 1, kInitializer = 5 };
enum NodeField : uint32_t { kInput = 1, kOutput = 2, kNodeName = 3, kOpType = 4, kAttribute = 5 };
enum AttributeField : uint32_t { kAttributeName = 1, kInteger = 3, kIntegers = 8 };
constexpr uint64_t kMostAttribute = 1 << 20;
constexpr size_t kMostIntegers = 16;  // of an attribute of a convolution
enum TensorField : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kTensorName = 8,
  kRawData = 9,
  kExternalData = 13
};

std::optional<DType> dtype_of(uint64_t type) {
  switch (type) {
    case 1:
      return DType::kF32;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 10:
      return DType::kF16;
    case 16:
      return DType::kBF16;
    default:
      return {};
  }
}

struct OnnxTensor {
  std::string name;
  uint64_t type = 0;
  std::vector<int64_t> sizes;
  std::string_view data;
  bool external = false;
  bool transposed = false;  // used by a MatMul: [in, out] in the file

  /// As the layers see it.
  std::vector<int64_t> seen_sizes() const {
    return transposed && sizes.size() == 2 ? std::vector{sizes[1], sizes[0]} : sizes;
  }
  std::string str() const {
    const std::optional<DType> dtype = dtype_of(type);
    std::string text = "[";
    for (const int64_t size : seen_sizes())
      text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return (dtype ? std::string(dtype_name(*dtype)) : concat("type ", type)) + " " + text + "]";
  }
};

struct OnnxNode {
  std::string name, op, output;  // the first output
  std::vector<std::string> inputs;
  OnnxConvolution convolution;  // of a Conv or ConvTranspose
};

bool is_convolution(const OnnxNode& node) {
  return node.op == "Conv" || node.op == "ConvTranspose";
}

/// "/head/layer1/layer1.0/conv1/Conv" -> "head.layer1.0.conv1"; empty when there is no module.
std::string module_of(std::string_view node) {
  std::vector<std::string_view> parts;
  while (!node.empty()) {
    const size_t slash = std::min(node.find('/'), node.size());
    const std::string_view part = node.substr(0, slash);
    node.remove_prefix(std::min(slash + 1, node.size()));
    if (part.empty()) continue;
    // The module of a list comes after the list: "layer1", "layer1.0".
    const bool of_list = !parts.empty() && part.size() > parts.back().size() &&
                         part.starts_with(parts.back()) && part[parts.back().size()] == '.';
    if (of_list) parts.pop_back();
    parts.push_back(part);
  }
  if (!parts.empty()) parts.pop_back();  // the operation
  std::string module;
  for (const std::string_view part : parts) {
    if (!module.empty()) module += '.';
    module += part;
  }
  return module;
}

class OnnxWeights : public WeightSource {
 public:
  OnnxWeights(const std::string& path, OnnxNames names)
      : file_(MappedFile::open(path)), names_(std::move(names)) {
    const auto bytes = file_->bytes();
    const std::string_view model(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::vector<OnnxNode> nodes;
    bool found = false;
    for_each(model, "", [&](const ProtoField& field) {
      if (field.id != kGraph || field.wire != ProtoField::kBytes) return;
      if (std::exchange(found, true)) fail("", "has more than one graph");
      read_graph(field.bytes, nodes);
    });
    if (!found) fail("", "expected an ONNX model, found no graph");
    for (const OnnxNode& node : nodes) name_inputs(node);
  }

  std::string where(const std::string&) const override { return file_->path(); }
  bool has(const std::string& name) const override { return find(name) != nullptr; }
  std::string describe(const std::string& name) const override { return find(name)->str(); }
  std::optional<Shape> shape(const std::string& name) const override {
    const OnnxTensor* tensor = find(name);
    if (!tensor || tensor->sizes.size() > Shape::kMaxDims) return {};
    return Shape(std::span<const int64_t>(tensor->seen_sizes()));
  }
  View take(const std::string& name, const Shape& want) override {
    const OnnxTensor* tensor = find(name);
    if (!tensor || !dtype_of(tensor->type) || shape(name) != want) return {};
    return view(*tensor);
  }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, OnnxConvolution>& convolutions() const { return convolutions_; }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    load_fault(file_->path(), name.empty() ? "" : "tensor " + shown(name), what);
  }

  template <typename Use>
  void for_each(std::string_view message, const std::string& name, const Use& use) const {
    ProtoReader reader(message);
    ProtoField field;
    while (reader.next(field)) use(field);
    if (reader.broken() || !reader.empty()) fail(name, "is broken or cut off");
  }

  std::string text(const ProtoField& field) const {
    if (field.wire != ProtoField::kBytes || field.bytes.size() > kMaxName)
      fail("", concat("expected a name of at most ", kMaxName, " bytes, got ", field.bytes.size()));
    return std::string(field.bytes);
  }

  void read_graph(std::string_view graph, std::vector<OnnxNode>& nodes) {
    for_each(graph, "", [&](const ProtoField& field) {
      if (field.wire != ProtoField::kBytes) return;
      if (field.id == kNode) {
        if (nodes.size() >= kMaxNodes) fail("", "has too many nodes");
        nodes.push_back(read_node(field.bytes));
      } else if (field.id == kInitializer) {
        if (tensors_.size() >= kMaxTensors) fail("", "has too many tensors");
        tensors_.push_back(read_tensor(field.bytes));
        if (!by_name_.emplace(tensors_.back().name, tensors_.size() - 1).second)
          fail(tensors_.back().name, "is there twice");
      }
    });
  }

  OnnxNode read_node(std::string_view message) const {
    OnnxNode node;
    for_each(message, "", [&](const ProtoField& field) {
      if (field.id == kInput && node.inputs.size() < kInputs) node.inputs.push_back(text(field));
      if (field.id == kOutput && node.output.empty()) node.output = text(field);
      if (field.id == kNodeName) node.name = text(field);
      if (field.id == kOpType) node.op = text(field);
    });
    if (!is_convolution(node)) return node;
    for_each(message, node.name, [&](const ProtoField& field) {
      if (field.id == kAttribute && field.wire == ProtoField::kBytes) {
        read_attribute(field.bytes, node);
      }
    });
    return node;
  }

  void read_attribute(std::string_view message, OnnxNode& node) const {
    std::string name;
    std::vector<int64_t> values;
    const auto add = [&](uint64_t value) {
      if (value > kMostAttribute || values.size() >= kMostIntegers)
        fail(node.name, concat("expected at most ", kMostIntegers, " numbers up to ",
                               kMostAttribute, " in an attribute of a convolution"));
      values.push_back(static_cast<int64_t>(value));
    };
    for_each(message, node.name, [&](const ProtoField& field) {
      if (field.id == kAttributeName) name = text(field);
      if (field.id == kInteger && field.wire == ProtoField::kVarint) add(field.number);
      if (field.id != kIntegers) return;
      if (field.wire != ProtoField::kBytes) return add(field.number);
      ProtoReader list(field.bytes);
      for (uint64_t value = 0; list.varint(value);) add(value);
      if (!list.empty()) fail(node.name, "its attributes are broken");
    });
    if (values.empty()) return;
    OnnxConvolution& convolution = node.convolution;
    if (name == "strides") convolution.stride = values[0];
    if (name == "dilations") convolution.dilation = values[0];
    if (name == "group") convolution.groups = values[0];
    if (name == "pads") convolution.before = values[0], convolution.after = values.back();
  }

  void add_size(OnnxTensor& tensor, uint64_t size) const {
    if (tensor.sizes.size() >= kMaxSizes || size > (uint64_t{1} << 40))
      fail(tensor.name, "its sizes are too many or too large");
    tensor.sizes.push_back(static_cast<int64_t>(size));
  }

  OnnxTensor read_tensor(std::string_view message) const {
    OnnxTensor tensor;
    for_each(message, "", [&](const ProtoField& field) {
      const bool bytes = field.wire == ProtoField::kBytes;
      if (field.id == kDims && bytes) {
        ProtoReader list(field.bytes);
        for (uint64_t size = 0; list.varint(size);) add_size(tensor, size);
        if (!list.empty()) fail(tensor.name, "its sizes are broken");
      } else if (field.id == kDims) {
        add_size(tensor, field.number);
      } else if (field.id == kDataType) {
        tensor.type = field.number;
      } else if (field.id == kTensorName) {
        tensor.name = text(field);
      } else if (field.id == kRawData || field.id == kFloatData) {
        if (!bytes || !tensor.data.empty()) fail(tensor.name, "expected its numbers in one piece");
        tensor.data = field.bytes;
      } else if (field.id == kExternalData) {
        tensor.external = true;
      }
    });
    if (tensor.external) fail(tensor.name, "its numbers lie outside the file: not supported");
    check_size(tensor);
    return tensor;
  }

  void check_size(const OnnxTensor& tensor) const {
    const std::optional<DType> dtype = dtype_of(tensor.type);
    if (!dtype) return;  // may lie in a file, cannot be had
    int64_t bytes = static_cast<int64_t>(dtype_size(*dtype));
    for (const int64_t size : tensor.sizes)
      if (__builtin_mul_overflow(bytes, size, &bytes)) fail(tensor.name, "its sizes are too large");
    // Integers may be kept as varints, which no weights are.
    const bool integer = *dtype == DType::kI32 || *dtype == DType::kI64;
    if (static_cast<uint64_t>(bytes) != tensor.data.size() && !(integer && tensor.data.empty()))
      fail(tensor.name,
           concat("expected ", bytes, " bytes for ", tensor.str(), ", got ", tensor.data.size()));
  }

  /// The names that a node's module gives to its inputs.
  void name_inputs(const OnnxNode& node) {
    if (node.op == "Identity" && !node.inputs.empty()) {
      const auto found = by_name_.find(node.inputs[0]);
      if (found != by_name_.end()) by_name_.emplace(node.output, size_t{found->second});
    }
    const std::string module = module_of(node.name);
    if (module.empty()) return;
    const auto give = [&](size_t input, const char* what) {
      if (input >= node.inputs.size()) return;
      const auto found = by_name_.find(node.inputs[input]);
      if (found == by_name_.end() || found->second >= tensors_.size()) return;
      by_module_.emplace(module + "." + what, found->second);
    };
    if (is_convolution(node)) convolutions_.emplace(module, node.convolution);
    if (is_convolution(node) || node.op == "LayerNormalization" ||
        node.op == "BatchNormalization") {
      give(1, "weight"), give(2, "bias");
      if (node.op == "BatchNormalization") give(3, "running_mean"), give(4, "running_var");
    } else if (node.op == "MatMul") {
      for (const std::string& input : node.inputs) {
        const auto found = by_name_.find(input);
        if (found == by_name_.end()) continue;
        tensors_[found->second].transposed = true;
        by_module_.emplace(module + ".weight", found->second);
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
      for (const auto* table : {&by_module_, &by_name_}) {
        if (const auto found = table->find(each); found != table->end())
          return &tensors_[found->second];
      }
    }
    return nullptr;
  }

  View view(const OnnxTensor& tensor) {
    const DType dtype = *dtype_of(tensor.type);
    const std::vector<int64_t> sizes = tensor.seen_sizes();
    const Shape shape{std::span<const int64_t>(sizes)};
    const size_t unit = dtype_size(dtype), count = tensor.data.size() / unit;
    if (count != static_cast<size_t>(shape.count())) return {};  // integers kept as varints
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

  std::shared_ptr<const MappedFile> file_;
  OnnxNames names_;
  std::vector<OnnxTensor> tensors_;
  std::unordered_map<std::string, size_t> by_name_, by_module_;
  std::unordered_map<std::string, Tensor> copies_;  // at odd addresses, or turned round
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
