// Reads arrays in joblib's files (.mdl, .joblib, .pkl), the format of scikit-learn's models: a
// pickle in which the bytes of each array follow its description. The file is read as data; nothing
// is executed. Compressed files are refused. Free function; any thread. Format:
// joblib:joblib/numpy_pickle.py (NumpyArrayWrapper).
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace syrinx {

/// Reads the array that is attribute `name` ("cluster_centers_") of the file's object, as f32.
/// Throws LoadError for a faulty file. Also for an array that is not f4 or f8, is not finite, has
/// more than two dimensions, or is not in C order.
Tensor read_joblib_array(const std::string& path, const std::string& name);

}  // namespace syrinx
