#include "families/loading/gguf_parts.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/error.h"
#include "io/wrapped_weights.h"

namespace syrinx {
namespace {

class WithUsage : public WrappedWeights {
 public:
  explicit WithUsage(std::unique_ptr<WeightSource> inner) : WrappedWeights(std::move(inner)) {}

  std::optional<Shape> shape(const std::string& name) const override {
    const std::optional<Shape> shape = WrappedWeights::shape(name);
    return shape && wrapped(name) != name ? Shape{(*shape)[0]} : shape;
  }
  View take(const std::string& name, const Shape& want) override {
    if (wrapped(name) == name) return inner().take(name, want);
    if (shape(name) != want) return {};
    if (ones_.view().count() != want.count()) {
      ones_ = Tensor(want, DType::kF32);
      std::fill_n(ones_.f32(), want.count(), 1.f);
    }
    return ones_;
  }

 private:
  /// Returns the name of the sums for the name of a usage; returns other names unchanged.
  std::string wrapped(const std::string& name) const override {
    constexpr std::string_view kUsage = "cluster_usage";
    if (!name.ends_with(kUsage)) return name;
    const std::string book = name.substr(0, name.size() - kUsage.size());
    return book + (name.starts_with("decoder.") ? "embedding_sum" : "embed_sum");
  }

  Tensor ones_;
};

}  // namespace

std::string gguf_beside(const std::string& file, std::string_view word, std::string_view what,
                        std::string_view example) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  std::string found;
  uintmax_t most = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(parent.empty() ? "." : parent, error)) {
    const std::string name = entry.path().filename().string();
    const uintmax_t size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (error || !name.ends_with(".gguf") || name.find(word) == name.npos) continue;
    if (size > most) found = entry.path().string(), most = size;
  }
  if (!found.empty()) return found;
  throw LoadError(
      concat(file, ": expected the file of the ", what, " beside it, such as ", example));
}

std::unique_ptr<WeightSource> with_usage(std::unique_ptr<WeightSource> inner) {
  return std::make_unique<WithUsage>(std::move(inner));
}

}  // namespace syrinx
