// The way layers take their weights while a model is built: by name within a scope, with the shape
// they expect. Nothing fails at the first fault: missing and mis-shaped tensors are collected, the
// layer gets zeros of the asked shape, and finish() throws one LoadError that lists them all.
//
//   Weights root(open_weights(dir));
//   Talker talker(config, root.scope("talker"));   // calls take() / f32()
//   std::string warning = root.finish();           // unused tensors, or empty
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

/// What was found wrong with the tensors under a scope. Each list is sorted and free of repeats.
struct WeightReport {
  std::vector<std::string> missing;  ///< names
  std::vector<std::string> wrong;    ///< "file: tensor name: expected ..., got ..."
  std::vector<std::string> unused;   ///< names
  /// At most ten of each list and the count of all; empty when there is nothing to say.
  std::string faults() const;
  std::string warnings() const;
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
  /// The stored sizes, for layers whose config does not tell them; empty when absent.
  std::optional<Shape> shape(const std::string& name) const;
  /// A tensor in its stored type, whichever that is. Never empty, also after a fault.
  View take(const std::string& name, const Shape& shape) const;
  /// A tensor of a float type, converted to f32.
  Tensor f32(const std::string& name, const Shape& shape) const;
  /// Counts every tensor whose name begins with this as used: parts that are left out on purpose.
  void ignore(const std::string& prefix) const;
  /// Records a fault that a layer found itself, for finish() to tell.
  void fault(const std::string& name, const std::string& what) const;

  /// What was asked for and not there, or there and not asked for, under this scope so far.
  WeightReport report() const;
  /// Throws LoadError when something under this scope was missing or wrong; otherwise returns the
  /// warning about unused tensors, or nothing.
  std::string finish() const;

 private:
  struct Ledger;
  Weights(std::shared_ptr<Ledger> ledger, std::string scope);
  std::shared_ptr<Ledger> ledger_;
  std::string scope_;  // "" or ends with a dot
};

/// A float tensor of any float type as f32, element by element.
Tensor to_f32(const View& view);

}  // namespace syrinx
