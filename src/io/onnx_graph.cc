#include "io/onnx_graph.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMaxTensors = 1 << 16, kMaxNodes = 1 << 20, kMaxName = 1024, kMaxSizes = 16;
constexpr size_t kInputs = 12;  // most inputs of a node that are kept; weights come first

// Field numbers of onnx.proto.
enum ModelField : uint32_t { kGraph = 7 };
enum GraphField : uint32_t { kNode = 1, kInitializer = 5 };
enum NodeField : uint32_t { kInput = 1, kOutput = 2, kNodeName = 3, kOpType = 4, kAttribute = 5 };
enum AttributeField : uint32_t { kAttributeName = 1, kInteger = 3, kIntegers = 8 };
constexpr uint64_t kMostAttribute = 1 << 20;
constexpr size_t kMostIntegers = 16;  // most numbers per attribute of a convolution
enum TensorField : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInts = 5,
  kTensorName = 8,
  kRawData = 9,
  kExternalData = 13
};

}  // namespace

std::optional<DType> onnx_dtype(uint64_t type) {
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

std::string OnnxTensor::str() const {
  const std::optional<DType> dtype = onnx_dtype(type);
  std::string text = "[";
  for (const int64_t size : seen_sizes())
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return (dtype ? std::string(dtype_name(*dtype)) : concat("type ", type)) + " " + text + "]";
}

bool is_convolution(const OnnxNode& node) {
  return node.op == "Conv" || node.op == "ConvTranspose";
}

/// Returns a node's module, or an empty string: "/head/layer1/layer1.0/conv1/Conv" becomes
/// "head.layer1.0.conv1".
std::string onnx_module_of(std::string_view node) {
  std::vector<std::string_view> parts;
  while (!node.empty()) {
    const size_t slash = std::min(node.find('/'), node.size());
    const std::string_view part = node.substr(0, slash);
    node.remove_prefix(std::min(slash + 1, node.size()));
    if (part.empty()) continue;
    // A list's name precedes its module, as in "layer1", "layer1.0". Drops the list's name.
    const bool of_list = !parts.empty() && part.size() > parts.back().size() &&
                         part.starts_with(parts.back()) && part[parts.back().size()] == '.';
    if (of_list) parts.pop_back();
    parts.push_back(part);
  }
  if (!parts.empty()) parts.pop_back();  // removes the name of the operator
  std::string module;
  for (const std::string_view part : parts) {
    if (!module.empty()) module += '.';
    module += part;
  }
  return module;
}

void OnnxGraph::fail(const std::string& name, const std::string& what) const {
  load_fault(file_->path(), name.empty() ? "" : "tensor " + shown(name), what);
}

template <typename Use>
void OnnxGraph::for_each(std::string_view message, const std::string& name, const Use& use) const {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) use(field);
  if (reader.broken() || !reader.empty()) fail(name, "is broken or cut off");
}

std::string OnnxGraph::text(const ProtoField& field) const {
  if (field.wire != ProtoField::kBytes || field.bytes.size() > kMaxName)
    fail("", concat("expected a name of at most ", kMaxName, " bytes, got ", field.bytes.size()));
  return std::string(field.bytes);
}

void OnnxGraph::read_graph(std::string_view graph) {
  for_each(graph, "", [&](const ProtoField& field) {
    if (field.wire != ProtoField::kBytes) return;
    if (field.id == kNode) {
      if (nodes_.size() >= kMaxNodes) fail("", "has too many nodes");
      nodes_.push_back(read_node(field.bytes));
    } else if (field.id == kInitializer) {
      if (tensors_.size() >= kMaxTensors) fail("", "has too many tensors");
      tensors_.push_back(read_tensor(field.bytes));
      if (!by_name_.emplace(tensors_.back().name, tensors_.size() - 1).second)
        fail(tensors_.back().name, "occurs twice");
    }
  });
}

OnnxNode OnnxGraph::read_node(std::string_view message) const {
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

void OnnxGraph::read_attribute(std::string_view message, OnnxNode& node) const {
  std::string name;
  std::vector<int64_t> values;
  const auto add = [&](uint64_t value) {
    if (value > kMostAttribute || values.size() >= kMostIntegers)
      fail(node.name, concat("expected at most ", kMostIntegers, " numbers up to ", kMostAttribute,
                             " in an attribute of a convolution"));
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

void OnnxGraph::add_size(OnnxTensor& tensor, uint64_t size) const {
  if (tensor.sizes.size() >= kMaxSizes || size > (uint64_t{1} << 40))
    fail(tensor.name, "it has too many dimensions, or they are too large");
  tensor.sizes.push_back(static_cast<int64_t>(size));
}

OnnxTensor OnnxGraph::read_tensor(std::string_view message) const {
  OnnxTensor tensor;
  for_each(message, "", [&](const ProtoField& field) {
    const bool bytes = field.wire == ProtoField::kBytes;
    if (field.id == kDims && bytes) {
      ProtoReader list(field.bytes);
      for (uint64_t size = 0; list.varint(size);) add_size(tensor, size);
      if (!list.empty()) fail(tensor.name, "its list of dimensions is damaged");
    } else if (field.id == kDims) {
      add_size(tensor, field.number);
    } else if (field.id == kDataType) {
      tensor.type = field.number;
    } else if (field.id == kTensorName) {
      tensor.name = text(field);
    } else if (field.id == kRawData || field.id == kFloatData) {
      if (!bytes || !tensor.data.empty()) fail(tensor.name, "expected its numbers in one piece");
      tensor.data = field.bytes;
    } else if (field.id == kInts && bytes) {
      tensor.ints = field.bytes;
    } else if (field.id == kExternalData) {
      tensor.external = true;
    }
  });
  if (tensor.external) fail(tensor.name, "its numbers are in another file, which is not supported");
  check_size(tensor);
  return tensor;
}

void OnnxGraph::check_size(const OnnxTensor& tensor) const {
  const std::optional<DType> dtype = onnx_dtype(tensor.type);
  const bool narrow = tensor.type == kOnnxU8 || tensor.type == kOnnxI8;
  if (!dtype && !narrow) return;  // the file may contain such a tensor, but it cannot be read
  int64_t bytes = narrow ? 1 : static_cast<int64_t>(dtype_size(*dtype));
  for (const int64_t size : tensor.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes)) fail(tensor.name, "its sizes are too large");
  // Integers may be stored as varints; weights never are.
  const bool integer = narrow || *dtype == DType::kI32 || *dtype == DType::kI64;
  if (static_cast<uint64_t>(bytes) != tensor.data.size() && !(integer && tensor.data.empty()))
    fail(tensor.name,
         concat("expected ", bytes, " bytes for ", tensor.str(), ", got ", tensor.data.size()));
}

OnnxGraph::OnnxGraph(const std::string& path) : file_(MappedFile::read(path)) {
  const auto bytes = file_->bytes();
  const std::string_view model(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool found = false;
  for_each(model, "", [&](const ProtoField& field) {
    if (field.id != kGraph || field.wire != ProtoField::kBytes) return;
    if (std::exchange(found, true)) fail("", "has more than one graph");
    read_graph(field.bytes);
  });
  if (!found) fail("", "expected an ONNX model, found no graph");
}

std::optional<size_t> OnnxGraph::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace syrinx
