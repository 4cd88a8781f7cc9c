// Reads the layers of a Piper voice from its ONNX graph: by the names of the authors' modules
// (VITS: enc_p, dp, flow, dec), with the sizes, strides and dilations of the graph. All sizes are
// checked before memory is allocated. Used only while loading; one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/onnx_weights.h"
#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx::piper {

class VoiceParts {
 public:
  /// Opens the graph. `type`: see type(). Throws LoadError if the file is not an ONNX graph.
  explicit VoiceParts(const std::string& path, WeightType type = WeightType::kF32);

  const std::string& path() const { return path_; }
  const Weights& weights() const { return weights_; }
  /// Returns the type in which layers store their weights. The weights of the durations are always
  /// f32, because rounding could make a phoneme a frame longer.
  WeightType type() const { return type_; }
  bool has(const std::string& name) const { return weights_.has(name); }
  /// Returns how many of the modules name.0.<part>, name.1.<part>, ... exist.
  int64_t count(const std::string& name, const std::string& part) const;

  /// Returns the shape of a tensor. If the tensor is missing, has another rank, or has a size
  /// outside [1, 8192], throws LoadError with the expected shape.
  Shape shape(const std::string& name, int dims) const;
  /// Returns weight [out, in] and bias [out] of a convolution of one tap. If `in` or `out` is -1,
  /// that size is not checked.
  LinearPart one_tap(const std::string& module, int64_t in, int64_t out = -1) const;
  PackedLinear linear(const std::string& module, int64_t in, int64_t out = -1,
                      WeightType type = WeightType::kF32) const;
  /// Returns the tensor `name` as f32. Throws LoadError if it has another shape.
  Tensor f32(const std::string& name, const Shape& shape) const;
  /// Returns a "same" convolution for a stream. It needs lookahead.
  CausalConv1d stream_conv(const std::string& module, int64_t in, int64_t out = -1,
                           bool has_bias = true) const;
  CausalConvTranspose1d upsampling(const std::string& module, int64_t in) const;
  OnnxConvolution convolution(const std::string& module) const;

  /// Throws LoadError with the path, the name of the tensor or module, and `what`.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  View bias(const std::string& module, int64_t out) const;
  std::string path_;
  Weights weights_;
  WeightType type_;
  std::map<std::string, OnnxConvolution> convolutions_;
};

}  // namespace syrinx::piper
