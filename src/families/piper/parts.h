// Takes the layers of a Piper voice from its ONNX graph: by the names of the authors' modules
// (VITS: enc_p, dp, flow, dec), with sizes, strides and dilations as the graph says. Everything is
// bounded before memory is taken for it. For the time of loading; one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "families/piper/stream_conv.h"
#include "io/onnx_weights.h"
#include "nn/layers.h"

namespace syrinx::piper {

class VoiceParts {
 public:
  /// `type`: as type() has it, for convolutions. Throws
  /// LoadError for a file that is not an ONNX graph.
  explicit VoiceParts(const std::string& path, WeightType type = WeightType::kF32);

  const std::string& path() const { return path_; }
  const Weights& weights() const { return weights_; }
  /// How layers keep their weights, but for those of the durations, which are f32: a rounding
  /// could make a phoneme a frame longer.
  WeightType type() const { return type_; }
  bool has(const std::string& name) const { return weights_.has(name); }
  /// How many of the modules name.0.<part>, name.1.<part>, ... there are.
  int64_t count(const std::string& name, const std::string& part) const;

  /// The sizes of a tensor that Piper's graphs have. Throws LoadError with the expected shape:
  /// it is missing, has another rank, or a size outside [1, 8192].
  Shape shape(const std::string& name, int dims) const;
  /// Weight and bias of a convolution of one tap, [out, in] and [out]; `in` and `out` -1: any.
  LinearPart one_tap(const std::string& module, int64_t in, int64_t out = -1) const;
  PackedLinear linear(const std::string& module, int64_t in, int64_t out = -1,
                      WeightType type = WeightType::kF32) const;
  /// gamma and beta, [width].
  Tensor f32(const std::string& name, const Shape& shape) const;
  /// A "same" convolution of a stream, which looks ahead.
  StreamConv stream_conv(const std::string& module, int64_t in, int64_t out = -1,
                         bool has_bias = true) const;
  CausalConvTranspose1d upsampling(const std::string& module, int64_t in) const;
  OnnxConvolution convolution(const std::string& module) const;

  /// Throws LoadError: path, tensor or module, what.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  View bias(const std::string& module, int64_t out) const;
  std::string path_;
  Weights weights_;
  WeightType type_;
  std::map<std::string, OnnxConvolution> convolutions_;
};

}  // namespace syrinx::piper
