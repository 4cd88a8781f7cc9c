// Gives the tensors of a GGUF file to networks, under the names of another layout. Quantized values
// become f32 exactly. Free functions: any thread. One thread at a time may use a WeightSource.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "io/gguf.h"
#include "io/weights.h"

namespace syrinx {

/// Returns the tensor in the mapped file. Returns nullopt if its type is quantized, or if its data
/// is not aligned for its type. The tensor's type must be known.
std::optional<View> plain_view(const GgufTensor& tensor);

/// Unpacks the row `row` of a tensor of any known type to f32. A row is the tensor's innermost
/// dimension; rows of more than two dimensions are counted over all outer dimensions.
void unpack_row(const GgufTensor& tensor, int64_t row, float* to);

/// A tensor in a GGUF file.
struct GgufStored {
  GgufStored() = default;
  GgufStored(std::string stored, int heads_in_pairs = 0)  // NOLINT: a name
      : name(std::move(stored)), paired_heads(heads_in_pairs) {}
  GgufStored(const char* stored) : name(stored) {}  // NOLINT: a name

  std::string name;
  /// Number of heads whose rows the file stores as adjacent pairs; networks have the rows of a pair
  /// half a head apart. 0: the rows are in the order of networks.
  int paired_heads = 0;
};

/// The stored tensor for each name that networks use.
using GgufNames = std::map<std::string, GgufStored>;

/// Returns the tensors of `file`. Tensors that `names` lacks keep their names and are reported as
/// unused, except those in `elsewhere` (names in the file), which other code reads. `tables` has
/// names (those of networks) of tensors that networks read in place: if quantized, they are
/// unpacked to f16 and stay in memory. Only the latest eight other unpacked tensors stay, because a
/// layer packs its tensors before the next layer reads any. First and last sizes of 1 may be
/// missing, or be in the file only.
std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file, GgufNames names,
                                           std::set<std::string> tables = {},
                                           std::set<std::string> elsewhere = {});

}  // namespace syrinx
