// The weights of an ONNX graph that was exported from a torch network, as a WeightSource. The file
// is read as data: initialisers, and of the nodes only names, types and inputs; nothing is run.
// Nothing in it is trusted: counts, sizes and offsets are checked, and every fault is a LoadError
// naming file, tensor, expected and got. The file is mapped, not copied.
// Format: onnx:onnx/onnx.proto (protobuf's wire format).
//
// Names. Exporters keep some tensors' names ("xvector.block1.tdnnd1.linear1.weight") and number
// others ("onnx::Conv_4423"), but nodes are named after modules: the Conv at
// "/head/layer1/layer1.0/conv1/Conv" is the module head.layer1.0.conv1. So a tensor can be had by
// its own name and by that of the module that uses it: .weight and .bias of Conv, ConvTranspose,
// LayerNormalization and BatchNormalization (with .running_mean and .running_var), .weight of
// MatMul and Gather, .bias of Add, .scale of Mul, .exponent of Exp. Matrices of MatMul are given as
// torch keeps them, [out, in]. An Identity gives its tensor a second name: exporters keep equal
// tensors once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/weights.h"

namespace syrinx {

/// Names to try, in order, for a tensor that a layer asks for.
using OnnxNames = std::function<std::vector<std::string>(const std::string& name)>;

/// Without `names`, tensors are asked for as they are named above. What is never asked for is not
/// reported as unused.
std::unique_ptr<WeightSource> open_onnx_weights(const std::string& path, OnnxNames names = {});

/// What a one-dimensional Conv or ConvTranspose is beside its weights; ONNX's defaults.
struct OnnxConvolution {
  int64_t stride = 1, dilation = 1, groups = 1;
  int64_t before = 0, after = 0;  ///< rows of padding
};

/// The convolutions of a graph by their modules. Throws LoadError for a file that is broken or has
/// an attribute outside [0, 2^20].
std::map<std::string, OnnxConvolution> read_onnx_convolutions(const std::string& path);

}  // namespace syrinx
