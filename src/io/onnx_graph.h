// Reads an ONNX graph as data: its tensors, and the names, types and inputs of its nodes.
// Nothing is executed. Nothing in the file is trusted: counts, sizes and offsets are
// checked. Every fault is a LoadError with file, tensor, expected and actual value. The
// whole file is read into memory (MappedFile::read). One thread. Format:
// onnx:onnx/onnx.proto (protobuf's wire format).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/file.h"
#include "io/onnx_weights.h"
#include "io/protobuf.h"

namespace syrinx {

/// Converts a type of ONNX to a DType; empty if Syrinx cannot compute with it.
std::optional<DType> onnx_dtype(uint64_t type);

/// TensorProto.DataType of 8-bit integers. Quantised graphs use them together with a scale.
enum OnnxType : uint64_t { kOnnxU8 = 2, kOnnxI8 = 3 };

/// An initializer of the graph. Its views point into the file's bytes in memory.
struct OnnxTensor {
  std::string name;
  uint64_t type = 0;  ///< a TensorProto.DataType
  std::vector<int64_t> sizes;
  std::string_view data;  ///< values as stored, not aligned
  std::string_view ints;  ///< integers as varints, if the file stores them so
  bool external = false;
  bool transposed = false;  ///< used by a MatMul: the file stores it as [in, out]

  /// Returns the sizes as layers expect them.
  std::vector<int64_t> seen_sizes() const {
    return transposed && sizes.size() == 2 ? std::vector{sizes[1], sizes[0]} : sizes;
  }
  /// Returns text for messages, e.g. "f32 [4, 2]".
  std::string str() const;
};

/// A node of the graph: its operator and the names of its tensors.
struct OnnxNode {
  std::string name, op, output;  ///< `output` is the first output
  std::vector<std::string> inputs;
  OnnxConvolution convolution;  ///< attributes of a Conv or ConvTranspose
};

/// Returns whether the node is a Conv or ConvTranspose.
bool is_convolution(const OnnxNode& node);

/// Returns a node's module, or an empty string: "/head/layer1/layer1.0/conv1/Conv" becomes
/// "head.layer1.0.conv1".
std::string onnx_module_of(std::string_view node);

/// One file in memory, with its tensors and nodes.
class OnnxGraph {
 public:
  /// Reads the file. Throws LoadError.
  explicit OnnxGraph(const std::string& path);

  const std::string& path() const { return file_->path(); }
  std::vector<OnnxTensor>& tensors() { return tensors_; }
  const std::vector<OnnxTensor>& tensors() const { return tensors_; }
  const std::vector<OnnxNode>& nodes() const { return nodes_; }
  /// Returns the index of the tensor `name`; empty if the graph lacks it.
  std::optional<size_t> find(const std::string& name) const;
  /// Throws LoadError about the tensor or node `name`, or about the file if `name` is empty.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  template <typename Use>
  void for_each(std::string_view message, const std::string& name, const Use& use) const;
  std::string text(const ProtoField& field) const;
  void read_graph(std::string_view graph);
  OnnxNode read_node(std::string_view message) const;
  void read_attribute(std::string_view message, OnnxNode& node) const;
  void add_size(OnnxTensor& tensor, uint64_t size) const;
  OnnxTensor read_tensor(std::string_view message) const;
  void check_size(const OnnxTensor& tensor) const;

  std::shared_ptr<const MappedFile> file_;
  std::vector<OnnxTensor> tensors_;
  std::vector<OnnxNode> nodes_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace syrinx
