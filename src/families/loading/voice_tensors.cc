#include "families/loading/voice_tensors.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "io/file.h"
#include "io/weights.h"

namespace syrinx {
namespace {

Error unfit(const std::string& name, const std::string& what) {
  return {ErrorCode::kInvalid, concat("the voice's \"", name, "\" ", what), "voice"};
}

}  // namespace

Tensor tensor_of(std::span<const int32_t> values) {
  Tensor out({static_cast<int64_t>(values.size())}, DType::kI32);
  std::copy(values.begin(), values.end(), out.i32());
  return out;
}

Tensor tensor_of(std::span<const float> values) {
  Tensor out({static_cast<int64_t>(values.size())}, DType::kF32);
  std::copy(values.begin(), values.end(), out.f32());
  return out;
}

Result<std::vector<int32_t>> voice_ids(const Voice& voice, const std::string& name, int64_t most,
                                       int64_t bound) {
  const Tensor* tensor = voice.find(name);
  if (!tensor) return unfit(name, "is missing");
  if (tensor->dtype() != DType::kI32 || tensor->shape().dims() != 1 || tensor->shape()[0] > most) {
    return unfit(name, concat("is ", dtype_name(tensor->dtype()), " ", tensor->shape().str(),
                              ", expected at most ", most, " i32"));
  }
  std::vector<int32_t> out(tensor->i32(), tensor->i32() + tensor->shape()[0]);
  for (const int32_t id : out) {
    if (id < 0 || id >= bound) return unfit(name, concat("has the id ", id, ", not below ", bound));
  }
  return out;
}

Result<std::vector<float>> voice_floats(const Voice& voice, const std::string& name,
                                        int64_t count) {
  const Tensor* tensor = voice.find(name);
  if (!tensor) return unfit(name, "is missing");
  if (tensor->dtype() != DType::kF32 || tensor->view().count() != count) {
    return unfit(name, concat("is ", dtype_name(tensor->dtype()), " ", tensor->shape().str(),
                              ", expected ", count, " f32"));
  }
  std::vector<float> out(tensor->f32(), tensor->f32() + count);
  if (!all_finite(out)) return unfit(name, "has numbers that are not finite");
  return out;
}

bool all_finite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

Tensor stored_floats(const View& stored, const std::string& path, const std::string& name) {
  const DType type = stored.dtype;
  if (type != DType::kF32 && type != DType::kBF16 && type != DType::kF16)
    load_fault(path, name, concat("expected floats, got ", dtype_name(type)));
  Tensor numbers = to_f32(stored);
  if (!all_finite({numbers.f32(), static_cast<size_t>(numbers.shape().count())}))
    load_fault(path, name, "a number is not finite");
  return numbers;
}

Result<Voice> embedding_voice(const std::string& family, const std::string& mode,
                              const std::string& name, std::span<const float> embedding,
                              int64_t width) {
  const auto refuse = [](std::string why) {
    return Error{ErrorCode::kInvalid, std::move(why), "speaker_embedding"};
  };
  if (std::ssize(embedding) != width) {
    return refuse(concat("a speaker embedding of this model has ", width, " numbers, got ",
                         embedding.size()));
  }
  if (!all_finite(embedding))
    return refuse("the speaker embedding has numbers that are not finite");
  Voice voice{.family = family, .encoder = "given", .mode = mode};
  voice.tensors.emplace(name, tensor_of(embedding));
  return voice;
}

}  // namespace syrinx
