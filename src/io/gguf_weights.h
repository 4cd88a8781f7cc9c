// Gives the tensors of a GGUF file to networks, under the names of another layout. Quantized values
// become f32 exactly. Free functions: any thread. One thread at a time may use a WeightSource.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "io/gguf.h"
#include "io/weights.h"

namespace syrinx {

/// Returns the tensor in the mapped file. Returns nullopt if its type is quantized, or if its data
/// is not aligned for its type. The tensor's type must be known.
std::optional<View> plain_view(const GgufTensor& tensor);

/// Unpacks the row `row` of a tensor of any known type to f32. A row is the tensor's innermost
/// dimension; rows of more than two dimensions are counted over all outer dimensions.
void unpack_row(const GgufTensor& tensor, int64_t row, float* to);

/// Returns the tensors of `file`. `names` maps each name that networks use to the name in the file;
/// tensors that the map lacks keep their names and are reported as unused. `tables`: tensors that
/// networks read in place. If quantized, they are unpacked to f16 and stay in memory. Only the
/// latest eight other unpacked tensors stay, because a layer packs its tensors before the next
/// layer reads any. First sizes of 1 may be missing in the file.
std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file,
                                           std::map<std::string, std::string> names,
                                           std::set<std::string> tables = {});

}  // namespace syrinx
