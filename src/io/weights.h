// The way layers take their weights while a model is built: by name within a scope, with the shape
// they expect. A checkpoint is taken whole or refused: what is missing, of another shape or type,
// left over, or not a number is a LoadError that lists the names.
//
//   Weights root(open_weights(dir));
//   root.build([&] { talker = Talker(config, root.scope("talker")); },  // calls take() / f32()
//              {"speaker_encoder.*"});                                  // left out on purpose
//
// Nothing fails at the first fault: a layer gets zeros of the asked shape instead, and the faults
// are reported together. But zeros are not made for ever: sizes that only a config has, and no
// tensor has, cost at most kMostZeros bytes before the faults so far are reported.
//
// Views live as long as any Weights of the same root; layers repack, so that all of them and with
// them the mapped file may go once the model is built. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {

/// Where weights come from. Names here are whole names, scope included.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// The file that holds or should hold `name`, for messages.
  virtual std::string where(const std::string& name) const = 0;
  virtual bool has(const std::string& name) const = 0;
  /// "bf16 [4, 2]"; only for names that it has.
  virtual std::string describe(const std::string& name) const = 0;
  /// Its sizes as stored; empty when it is absent or cannot be read.
  virtual std::optional<Shape> shape(const std::string& name) const = 0;
  /// In the stored type; valid while the source lives. Empty when `name` cannot be had in `shape`.
  virtual View take(const std::string& name, const Shape& shape) = 0;
  /// All names that the source could give; empty when it can give any.
  virtual std::vector<std::string> names() const = 0;
};

/// A checkpoint: what io/safetensors.h opens from `path` (a file, an index or a directory), or a
/// PyTorch file: `path` ending in .bin, .pt or .pth, or a directory that has pytorch_model.bin and
/// no safetensors.
std::unique_ptr<WeightSource> open_weights(const std::string& path);

/// Random weights of any asked shape in bf16, for measuring at full size: matrices are normal,
/// scaled by 1/sqrt(fan in); norms are one and biases zero. The same each time; costs a few
/// megabytes whatever is taken from it. Optional tensors are there when `has` says so.
std::unique_ptr<WeightSource> dummy_weights(std::function<bool(const std::string&)> has = {});

/// Names in which * stands for anything: "encoder.*", "*.num_batches_tracked".
using NamePatterns = std::vector<std::string>;

/// What was found wrong with the tensors under a scope. Each list is sorted and free of repeats.
struct WeightReport {
  std::vector<std::string> missing;  ///< names
  std::vector<std::string> wrong;    ///< "file: tensor name: expected ..., got ..."
  std::vector<std::string> unused;   ///< names
  /// At most ten of each list and the count of all; empty where there are none.
  std::string faults() const;
};

/// A scope of a source. Cheap to copy; copies share the source and the record of what was taken.
class Weights {
 public:
  explicit Weights(std::unique_ptr<WeightSource> source);

  /// scope("talker").scope("model") puts "talker.model." before names.
  Weights scope(const std::string& name) const;
  Weights scope(const std::string& name, int64_t index) const;  ///< "layers.3."
  /// The whole name of a tensor of this scope.
  std::string full(const std::string& name) const { return scope_ + name; }

  bool has(const std::string& name) const;
  /// The stored sizes, for layers whose config does not have them; empty when absent.
  std::optional<Shape> shape(const std::string& name) const;
  /// How many there are of the parts name.0, name.1, ...: one more than the highest number of which
  /// there is any tensor at all, so that a part of which some are missing counts. 0 where there are
  /// none, or the source cannot list its names. At most kMostParts.
  int64_t count(const std::string& name) const;

  /// A tensor in its stored type: f32, bf16 or f16. Never empty, also after a fault.
  View take(const std::string& name, const Shape& shape) const;
  /// The same converted to f32.
  Tensor f32(const std::string& name, const Shape& shape) const;
  /// Tensors of this scope that published files hold without a use here: buffers of the training,
  /// copies of tied tables. Heeded by the finish() of this scope and of those around it, not by
  /// those of scopes within.
  void ignore(const std::string& pattern) const;
  /// Records a fault that a layer found itself, for finish() to report.
  void fault(const std::string& name, const std::string& what) const;

  /// What was asked for and not there, or there and not asked for, under this scope so far.
  /// `extras` are names of this scope that may be there, of parts that are left out or built
  /// another time.
  WeightReport report(const NamePatterns& extras = {}) const;
  /// Throws LoadError when there is anything to report.
  void finish(const NamePatterns& extras = {}) const;
  /// Calls `make`, which builds layers of these weights, and then finish(). What `make` throws
  /// because of the weights comes out as a LoadError that names them: tensors that are not numbers,
  /// memory that is not there, checks of layers that the faults so far explain.
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
  std::string scope_;  // "" or ends with a dot
};

/// A float tensor of any float type as f32, element by element.
Tensor to_f32(const View& view);

}  // namespace syrinx
