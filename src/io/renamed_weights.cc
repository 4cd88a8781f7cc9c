#include "io/renamed_weights.h"

#include <set>
#include <vector>

#include "io/wrapped_weights.h"

namespace syrinx {
namespace {

/// Returns the sizes without the first sizes of 1, but at least one size.
Shape shortened(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.dims(); ++i)
    if (!sizes.empty() || shape[i] != 1 || i + 1 == shape.dims()) sizes.push_back(shape[i]);
  return Shape(sizes);
}

/// Returns the sizes of one of `parts` parts; empty if the first size is not divisible.
std::optional<Shape> part_of(const Shape& whole, int64_t parts) {
  if (parts == 1) return whole;
  if (whole.dims() == 0 || whole[0] % parts != 0) return {};
  std::vector<int64_t> sizes;
  for (int i = 0; i < whole.dims(); ++i) sizes.push_back(whole[i]);
  sizes[0] /= parts;
  return Shape(sizes);
}

class Renamed : public WrappedWeights {
 public:
  Renamed(std::unique_ptr<WeightSource> source, StoredNames names)
      : WrappedWeights(std::move(source)), names_(std::move(names)) {}

  bool has(const std::string& name) const override {
    return names_.contains(name) && WrappedWeights::has(name);
  }
  std::optional<Shape> shape(const std::string& name) const override {
    const std::optional<Shape> sizes = stored_sizes(name);
    return sizes ? shortened(*sizes) : sizes;
  }
  View take(const std::string& name, const Shape& want) override {
    const std::optional<Shape> sizes = stored_sizes(name);
    if (!sizes || (want != *sizes && want != shortened(*sizes))) return {};
    const StoredTensor& stored = names_.at(name);
    const View view = inner().take(stored.name, *inner().shape(stored.name));
    if (view.empty()) return view;
    const int64_t rows = view.shape[0] / stored.parts;
    const bool whole = stored.parts == 1;
    return (whole ? view : view.slice(stored.part * rows, (stored.part + 1) * rows)).reshape(want);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    std::set<std::string> known;
    for (const auto& [ours, theirs] : names_) {
      if (inner().has(theirs.name)) out.push_back(ours);
      known.insert(theirs.name);
    }
    for (const std::string& name : inner().names())
      if (!known.contains(name)) out.push_back(name);
    return out;
  }

 private:
  std::string wrapped(const std::string& name) const override {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second.name;
  }
  /// Returns the stored sizes of a tensor or part; empty if it is absent.
  std::optional<Shape> stored_sizes(const std::string& name) const {
    if (!has(name)) return {};
    const StoredTensor& stored = names_.at(name);
    const std::optional<Shape> whole = inner().shape(stored.name);
    return whole ? part_of(*whole, stored.parts) : whole;
  }

  StoredNames names_;
};

}  // namespace

std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source, StoredNames names) {
  return std::make_unique<Renamed>(std::move(source), std::move(names));
}

}  // namespace syrinx
