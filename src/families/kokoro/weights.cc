#include "families/kokoro/weights.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "families/kokoro/onnx.h"
#include "io/torch_weights.h"

namespace syrinx::kokoro {
namespace {

/// Finds weights by the names of the authors' modules. In a file, "module." may follow the first
/// part of a name.
class UnwrappedWeights : public WeightSource {
 public:
  explicit UnwrappedWeights(std::unique_ptr<WeightSource> stored) : stored_(std::move(stored)) {}

  std::string where(const std::string& name) const override {
    return stored_->where(stored_name(name));
  }
  bool has(const std::string& name) const override { return stored_->has(stored_name(name)); }
  std::string describe(const std::string& name) const override {
    return stored_->describe(stored_name(name));
  }
  std::optional<Shape> shape(const std::string& name) const override {
    return stored_->shape(stored_name(name));
  }
  View take(const std::string& name, const Shape& shape) override {
    return stored_->take(stored_name(name), shape);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = stored_->names();
    for (std::string& name : names) {
      const size_t dot = name.find('.');
      if (dot != name.npos && name.compare(dot + 1, kWrap.size(), kWrap) == 0) {
        name.erase(dot + 1, kWrap.size());
      }
    }
    return names;
  }

 private:
  inline static const std::string kWrap = "module.";

  std::string stored_name(const std::string& name) const override {
    const size_t dot = name.find('.');
    if (dot == name.npos) return name;
    std::string wrapped = name.substr(0, dot + 1) + kWrap + name.substr(dot + 1);
    return stored_->has(wrapped) ? wrapped : name;
  }

  std::unique_ptr<WeightSource> stored_;
};

std::vector<std::string> files_with(const std::string& dir, const std::string& ending) {
  std::vector<std::string> found;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(dir, fault)) {
    if (entry.path().extension() == ending) found.push_back(entry.path().string());
  }
  return found;
}

}  // namespace

std::unique_ptr<WeightSource> open_kokoro_weights(const std::string& dir) {
  const auto only = [&](const std::string& ending) {
    const std::vector<std::string> found = files_with(dir, ending);
    if (found.size() > 1) {
      throw LoadError(concat(dir, ": expected one *", ending, ", got ", found.size()));
    }
    return found.empty() ? "" : found[0];
  };
  const std::string pickle = only(".pth");
  // The file is read, not mapped, because a mapped file that is cut meanwhile ends the process.
  if (!pickle.empty()) {
    return std::make_unique<UnwrappedWeights>(open_torch_weights(MappedFile::read(pickle)));
  }
  const std::string graph = only(".onnx");
  if (!graph.empty()) return open_kokoro_onnx(graph);
  return std::make_unique<UnwrappedWeights>(open_weights(dir));
}

}  // namespace syrinx::kokoro
