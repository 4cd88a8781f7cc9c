#include "io/renamed_weights.h"

#include <set>

namespace syrinx {
namespace {

class Renamed : public WeightSource {
 public:
  Renamed(std::unique_ptr<WeightSource> source, std::map<std::string, std::string> names)
      : source_(std::move(source)), names_(std::move(names)) {}

  std::string where(const std::string& name) const override { return source_->where(stored(name)); }
  bool has(const std::string& name) const override {
    return names_.contains(name) && source_->has(stored(name));
  }
  std::string describe(const std::string& name) const override {
    return source_->describe(stored(name));
  }
  std::optional<Shape> shape(const std::string& name) const override {
    return has(name) ? source_->shape(stored(name)) : std::nullopt;
  }
  View take(const std::string& name, const Shape& want) override {
    return has(name) ? source_->take(stored(name), want) : View{};
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
