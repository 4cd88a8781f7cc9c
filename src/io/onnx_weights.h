// The weights of an ONNX graph that was exported from a torch network, as a WeightSource. The file
// is read as data: initialisers, and of the nodes only names, types and inputs; nothing is run.
// Nothing in it is trusted: counts, sizes and offsets are checked, and every fault is a LoadError
// naming file, tensor, expected and got. The file is mapped, not copied.
// Format: onnx:onnx/onnx.proto (protobuf's wire format).
//
// Names. Exporters keep some tensors' names ("xvector.block1.tdnnd1.linear1.weight") and number
// others ("onnx::Conv_4423"), but nodes are named after modules: the Conv at
// "/head/layer1/layer1.0/conv1/Conv" is the module head.layer1.0.conv1. So a tensor can be had by
// its own name and by that of the module that uses it: .weight and .bias of Conv,
// LayerNormalization and BatchNormalization (with .running_mean and .running_var), .weight of
// MatMul, .bias of Add. Matrices of MatMul are given as torch keeps them, [out, in].
#pragma once

#include <functional>
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

}  // namespace syrinx
