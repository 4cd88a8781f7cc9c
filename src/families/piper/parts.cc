#include "families/piper/parts.h"

#include "base/check.h"
#include "io/file.h"

namespace syrinx::piper {
namespace {

constexpr int64_t kMostSize = 8192, kMostParts = 64;
constexpr int64_t kMostReach = 4096;  // most rows that a stream keeps for one convolution

}  // namespace

VoiceParts::VoiceParts(const std::string& path, WeightType type)
    : path_(path),
      weights_(open_onnx_weights(path)),
      type_(for_convolution(type)),
      convolutions_(read_onnx_convolutions(path)) {}

void VoiceParts::fail(const std::string& name, const std::string& what) const {
  load_fault(path_, name, what);
}

int64_t VoiceParts::count(const std::string& name, const std::string& part) const {
  int64_t n = 0;
  while (n < kMostParts && has(name + concat(".", n) + "." + part)) ++n;
  return n;
}

Shape VoiceParts::shape(const std::string& name, int dims) const {
  const std::optional<Shape> found = weights_.shape(name);
  if (!found) {
    fail(name,
         "is missing: expected a Piper voice, a VITS graph with the modules enc_p, dp, flow "
         "and dec");
  }
  bool good = found->dims() == dims;
  for (int i = 0; i < found->dims(); ++i) {
    good = good && (*found)[i] >= 1 && (*found)[i] <= kMostSize;
  }
  if (!good) {
    fail(name, concat("expected ", dims, " sizes from 1 to ", kMostSize, ", got ", found->str()));
  }
  return *found;
}

View VoiceParts::bias(const std::string& module, int64_t out) const {
  return weights_.take(module + ".bias", {out});
}

LinearPart VoiceParts::one_tap(const std::string& module, int64_t in, int64_t out) const {
  const Shape sizes = shape(module + ".weight", 3);
  const Shape want{out < 0 ? sizes[0] : out, in, 1};
  const View weight = weights_.take(module + ".weight", want);
  return {weight.reshape({want[0], in}), bias(module, want[0])};
}

PackedLinear VoiceParts::linear(const std::string& module, int64_t in, int64_t out,
                                WeightType type) const {
  const LinearPart part = one_tap(module, in, out);
  return PackedLinear::pack(part.weight, type, part.bias);
}

Tensor VoiceParts::f32(const std::string& name, const Shape& shape) const {
  return weights_.f32(name, shape);
}

OnnxConvolution VoiceParts::convolution(const std::string& module) const {
  const auto found = convolutions_.find(module);
  if (found == convolutions_.end()) fail(module, "is missing: expected a convolution of that name");
  return found->second;
}

CausalConv1d VoiceParts::stream_conv(const std::string& module, int64_t in, int64_t out,
                                     bool has_bias) const {
  const Shape sizes = shape(module + ".weight", 3);
  const OnnxConvolution conv = convolution(module);
  const int64_t taps = sizes[2], reach = conv.dilation * (taps - 1);
  if (conv.stride != 1 || conv.groups != 1 || conv.dilation < 1 || reach > kMostReach ||
      conv.before + conv.after != reach) {
    fail(module, "expected one group, a stride of 1 and as many rows out as in");
  }
  const int64_t made = out < 0 ? sizes[0] : out;
  return {weights_.take(module + ".weight", {made, in, taps}),
          has_bias ? bias(module, made) : View{},
          {.dilation = conv.dilation, .ahead = conv.after, .type = type_}};
}

CausalConvTranspose1d VoiceParts::upsampling(const std::string& module, int64_t in) const {
  const Shape sizes = shape(module + ".weight", 3);
  const OnnxConvolution conv = convolution(module);
  const int64_t taps = sizes[2];
  if (conv.stride < 1 || conv.groups != 1 || conv.dilation != 1 || conv.before > conv.stride ||
      conv.before + conv.after != taps - conv.stride) {
    fail(module, "expected one group, no dilation and stride times as many rows out as in");
  }
  return {weights_.take(module + ".weight", {in, sizes[1], taps}), bias(module, sizes[1]),
          conv.stride, type_, conv.before};
}

}  // namespace syrinx::piper
