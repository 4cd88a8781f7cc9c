#include "families/s3/pickled_voices.h"

#include "io/file.h"

namespace syrinx {

void PickledVoices::fail(const std::string& name, const std::string& what) const {
  load_fault(file_.path(), name, what);
}

const TorchTensor& PickledVoices::get(const std::string& name) const {
  const TorchTensor* tensor = file_.find(name);
  if (!tensor) fail(name, "is missing");
  return *tensor;
}

std::vector<int32_t> PickledVoices::ids(const std::string& name, int64_t bound) const {
  const TorchTensor& tensor = get(name);
  if (tensor.count() > kMostTokens) {
    fail(name, concat("expected at most ", kMostTokens, " ids, got ", tensor.str()));
  }
  const View view = file_.view(tensor);
  std::vector<int32_t> out;
  for (int64_t i = 0; i < view.count(); ++i) {
    int64_t id = -1;
    if (view.dtype == DType::kI32) {
      id = view.i32()[i];
    } else if (view.dtype == DType::kI64) {
      id = static_cast<const int64_t*>(view.data)[i];
    } else {
      fail(name, "expected i32 or i64, got " + tensor.str());
    }
    if (id < 0 || id >= bound) fail(name, concat("id ", id, " is outside [0, ", bound, ")"));
    out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

View PickledVoices::floats(const TorchTensor& tensor) const {
  const bool known =
      tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16;
  if (!known) fail(tensor.name, "expected floats, got " + tensor.str());
  return file_.view(tensor);
}

}  // namespace syrinx
