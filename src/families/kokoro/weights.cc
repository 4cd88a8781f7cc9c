#include "families/kokoro/weights.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "families/kokoro/onnx.h"
#include "io/torch_weights.h"
#include "io/wrapped_weights.h"

namespace syrinx::kokoro {
namespace {

/// Finds weights by the names of the authors' modules. In a file, "module." may follow the first
/// part of a name.
class UnwrappedWeights : public WrappedWeights {
 public:
  explicit UnwrappedWeights(std::unique_ptr<WeightSource> stored)
      : WrappedWeights(std::move(stored)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names = WrappedWeights::names();
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

  std::string wrapped(const std::string& name) const override {
    const size_t dot = name.find('.');
    if (dot == name.npos) return name;
    std::string in_module = name.substr(0, dot + 1) + kWrap + name.substr(dot + 1);
    return inner().has(in_module) ? in_module : name;
  }
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
