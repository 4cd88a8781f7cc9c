// The interface through which layers take their weights while a model is built: by name within a
// scope, with the expected shape. A checkpoint is accepted or refused as a whole. If tensors are
// missing, unused or not finite, or have a wrong shape or type, a LoadError lists their names.
//
//   Weights root(open_weights(dir));
//   root.build([&] { talker = Talker(config, root.scope("talker")); },  // calls take() / f32()
//              {"speaker_encoder.*"});                                  // omitted on purpose
//
// Loading continues after a fault: a layer gets zeros of the requested shape, and all faults are
// reported together. If a tensor's size is known only from a config, at most kMostZeros bytes of
// zeros are made. Beyond that the faults so far are reported.
//
// Views are valid as long as any Weights of the same root exists. Layers repack their weights, so
// all Weights, and with them the mapped file, may be destroyed once the model is built. One thread
// at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {

/// A source of weights. Its names are complete, including the scope.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Returns the file that has or should have tensor `name`, for messages.
  virtual std::string where(const std::string& name) const = 0;
  virtual bool has(const std::string& name) const = 0;
  /// Returns the name in the file, for messages, if networks use another one.
  virtual std::string stored_name(const std::string& name) const { return name; }
  /// Returns e.g. "bf16 [4, 2]". `name` must be a name that the source has.
  virtual std::string describe(const std::string& name) const = 0;
  /// Returns the stored sizes; empty if the tensor is absent or cannot be read.
  virtual std::optional<Shape> shape(const std::string& name) const = 0;
  /// Returns the tensor in its stored type; valid as long as the source. Returns an empty View if
  /// the source does not have it in `shape`.
  virtual View take(const std::string& name, const Shape& shape) = 0;
  /// Returns all names of the source; empty if the source accepts every name.
  virtual std::vector<std::string> names() const = 0;
};

/// Opens a checkpoint. `path` is anything that io/safetensors.h opens (a file, an index or a
/// directory), or a PyTorch file: a path that ends in .bin, .pt or .pth, or a directory with
/// pytorch_model.bin and without safetensors.
std::unique_ptr<WeightSource> open_weights(const std::string& path);

/// Returns random weights of any requested shape in bf16, for measurements at full size. Matrices
/// are normal, scaled by 1/sqrt(fan in). Norms are one and biases zero. The weights are the same in
/// every run. They use a few megabytes for any number of tensors. `has` decides which optional
/// tensors exist.
std::unique_ptr<WeightSource> dummy_weights(std::function<bool(const std::string&)> has = {});

/// Patterns of names, in which * matches any text: "encoder.*", "*.num_batches_tracked".
using NamePatterns = std::vector<std::string>;

/// Faults of the tensors under a scope. Each list is sorted and free of repeats.
struct WeightReport {
  std::vector<std::string> missing;  ///< names of missing tensors
  std::vector<std::string> wrong;    ///< "file: tensor name: expected ..., got ..."
  std::vector<std::string> unused;   ///< names of unused tensors
  /// Returns the length and at most ten items of each list; empty if all lists are empty.
  std::string faults() const;
};

/// A scope of a source. Cheap to copy. Copies share the source and the record of taken tensors.
class Weights {
 public:
  explicit Weights(std::unique_ptr<WeightSource> source);

  /// Returns an inner scope: scope("talker").scope("model") puts "talker.model." before names.
  Weights scope(const std::string& name) const;
  Weights scope(const std::string& name, int64_t index) const;  ///< e.g. "layers.3."
  /// Returns the complete name of a tensor of this scope.
  std::string full(const std::string& name) const { return scope_ + name; }

  bool has(const std::string& name) const;
  /// Returns the stored sizes, for layers whose config lacks them; empty if the tensor is
  /// absent.
  std::optional<Shape> shape(const std::string& name) const;
  /// Returns the number of parts name.0, name.1, ...: one more than the highest index of any
  /// tensor, so that incomplete parts count. Returns 0 without parts, or if the source cannot list
  /// its names. At most kMostParts.
  int64_t count(const std::string& name) const;

  /// Takes a tensor in its stored type: f32, bf16 or f16. Returns zeros after a fault.
  View take(const std::string& name, const Shape& shape) const;
  /// Takes a tensor converted to f32.
  Tensor f32(const std::string& name, const Shape& shape) const;
  /// Stops tensors of this scope from counting as unused. For tensors of published files that
  /// inference does not need: training buffers, copies of tied tables. Applies to finish() of this
  /// scope and of its outer scopes, not of inner scopes.
  void ignore(const std::string& pattern) const;
  /// Records a fault that a layer found. finish() reports it.
  void fault(const std::string& name, const std::string& what) const;

  /// Returns the faults under this scope so far: requested tensors that are missing or do not fit,
  /// and tensors that were not requested. `extras` are patterns of names that may be unused,
  /// because their parts are omitted or built later.
  WeightReport report(const NamePatterns& extras = {}) const;
  /// Throws LoadError if report() has any fault.
  void finish(const NamePatterns& extras = {}) const;
  /// Calls `make`, which builds layers from these weights, then finish(). If `make` throws because
  /// of the weights, throws a LoadError with their names. Such causes are values that are not
  /// finite, lack of memory, and failed checks of layers that earlier faults explain.
  void build(const std::function<void()>& make, const NamePatterns& extras = {}) const;

  static constexpr size_t kMostZeros = 64 << 20;
  static constexpr int64_t kMostParts = 512;

 private:
  struct Ledger;
  Weights(std::shared_ptr<Ledger> ledger, std::string scope);
  View zeros(const Shape& shape) const;
  [[noreturn]] void refuse(const WeightReport& report, const std::string& more = {}) const;
  void name_what_is_not_finite() const;
  std::shared_ptr<Ledger> ledger_;
  std::string scope_;  // empty, or ends with a dot
};

/// Converts a tensor of any float type to f32.
Tensor to_f32(const View& view);

}  // namespace syrinx
