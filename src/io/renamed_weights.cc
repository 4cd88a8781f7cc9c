#include "io/renamed_weights.h"

#include <set>
#include <vector>

namespace syrinx {
namespace {

/// Returns the sizes without the first sizes of 1, but at least one size.
Shape shortened(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.dims(); ++i)
    if (!sizes.empty() || shape[i] != 1 || i + 1 == shape.dims()) sizes.push_back(shape[i]);
  return Shape(sizes);
}

class Renamed : public WeightSource {
 public:
  Renamed(std::unique_ptr<WeightSource> source, std::map<std::string, std::string> names)
      : source_(std::move(source)), names_(std::move(names)) {}

  std::string where(const std::string& name) const override { return source_->where(stored(name)); }
  bool has(const std::string& name) const override {
    return names_.contains(name) && source_->has(stored(name));
  }
  std::string stored_name(const std::string& name) const override { return stored(name); }
  std::string describe(const std::string& name) const override {
    return source_->describe(stored(name));
  }
  std::optional<Shape> shape(const std::string& name) const override {
    if (!has(name)) return {};
    const std::optional<Shape> whole = source_->shape(stored(name));
    return whole ? shortened(*whole) : whole;
  }
  View take(const std::string& name, const Shape& want) override {
    if (!has(name)) return {};
    const std::optional<Shape> whole = source_->shape(stored(name));
    if (!whole || (want != *whole && want != shortened(*whole))) return {};
    const View view = source_->take(stored(name), *whole);
    return view.empty() ? view : view.reshape(want);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    std::set<std::string> known;
    for (const auto& [ours, theirs] : names_) {
      if (source_->has(theirs)) out.push_back(ours);
      known.insert(theirs);
    }
    for (const std::string& name : source_->names())
      if (!known.contains(name)) out.push_back(name);
    return out;
  }

 private:
  const std::string& stored(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }
  std::unique_ptr<WeightSource> source_;
  std::map<std::string, std::string> names_;
};

}  // namespace

std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source,
                                      std::map<std::string, std::string> names) {
  return std::make_unique<Renamed>(std::move(source), std::move(names));
}

}  // namespace syrinx
