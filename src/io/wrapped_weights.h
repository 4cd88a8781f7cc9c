// Weights under other names: the base of sources that read each tensor from another source.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/weights.h"

namespace syrinx {

/// Passes every call to the wrapped source, with the name that this source uses.
class WrappedWeights : public WeightSource {
 public:
  std::string where(const std::string& name) const override { return inner_->where(wrapped(name)); }
  bool has(const std::string& name) const override { return inner_->has(wrapped(name)); }
  std::string stored_name(const std::string& name) const override {
    return inner_->stored_name(wrapped(name));
  }
  std::string describe(const std::string& name) const override {
    return inner_->describe(wrapped(name));
  }
  std::optional<Shape> shape(const std::string& name) const override {
    return inner_->shape(wrapped(name));
  }
  View take(const std::string& name, const Shape& shape) override {
    return inner_->take(wrapped(name), shape);
  }
  std::vector<std::string> names() const override { return inner_->names(); }

 protected:
  explicit WrappedWeights(std::unique_ptr<WeightSource> inner) : inner_(std::move(inner)) {}

  /// Returns the wrapped source's name of a tensor.
  virtual std::string wrapped(const std::string& name) const = 0;
  WeightSource& inner() const { return *inner_; }

 private:
  std::unique_ptr<WeightSource> inner_;
};

}  // namespace syrinx
