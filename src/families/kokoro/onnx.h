// The weights of a Kokoro-82M ONNX export, with the names of the authors' modules. The file may
// have f32, f16, or 8 bits with the scales of onnxruntime's dynamic quantisation. 8-bit weights
// become f32. The graph is read as data (io/onnx_graph.h). Free function. Source of the layout
// of LSTM: onnx:docs/Operators.md; of DynamicQuantizeLSTM:
// onnxruntime:docs/ContribOperators.md.
#pragma once

#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx::kokoro {

/// Opens the file. Throws LoadError if it is broken or its graph lacks Kokoro's modules.
std::unique_ptr<WeightSource> open_kokoro_onnx(const std::string& path);

}  // namespace syrinx::kokoro
