// The weights of an ONNX graph that was exported from a torch network, as a WeightSource. The file
// is read as data: initialisers, and the names, types and inputs of nodes. Nothing is executed.
// Nothing in the file is trusted: counts, sizes and offsets are checked. Every fault is a LoadError
// with file, tensor, expected and actual value. The file is read into memory. Format:
// onnx:onnx/onnx.proto (protobuf's wire format).
//
// Names. Exporters keep the names of some tensors ("xvector.block1.tdnnd1.linear1.weight") and
// replace others by numbers ("onnx::Conv_4423"). But nodes are named after modules: the Conv at
// "/head/layer1/layer1.0/conv1/Conv" is the module head.layer1.0.conv1. So a tensor has two names:
// its own, and the name of the module that uses it with a suffix: .weight or .bias for Conv,
// ConvTranspose, LayerNormalization and BatchNormalization (also .running_mean and .running_var);
// .weight for MatMul and Gather; .bias for Add; .scale for Mul; .exponent for Exp.
// Matrices of MatMul are returned in torch's order, [out, in]. An Identity gives its tensor a
// second name, because exporters store equal tensors once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/weights.h"

namespace syrinx {

/// Returns the names to try, in order, for the tensor `name` of a layer.
using OnnxNames = std::function<std::vector<std::string>(const std::string& name)>;

/// Opens a file. Without `names`, layers use the names above. Tensors that no layer takes are not
/// reported as unused.
std::unique_ptr<WeightSource> open_onnx_weights(const std::string& path, OnnxNames names = {});

/// Attributes of a one-dimensional Conv or ConvTranspose. The defaults are ONNX's.
struct OnnxConvolution {
  int64_t stride = 1, dilation = 1, groups = 1;
  int64_t before = 0, after = 0;  ///< rows of padding
};

/// Reads the convolutions of a graph, by module. Throws LoadError for a broken file or an attribute
/// outside [0, 2^20].
std::map<std::string, OnnxConvolution> read_onnx_convolutions(const std::string& path);

}  // namespace syrinx
