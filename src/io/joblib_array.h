// Arrays of joblib's files (.mdl, .joblib, .pkl), in which scikit-learn keeps its models: a pickle
// with the bytes of every array behind what describes it. Read as data, nothing is ever run;
// compressed files are refused. Free function; any thread.
// Format: joblib:joblib/numpy_pickle.py (NumpyArrayWrapper).
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace syrinx {

/// The array that the file's object keeps under a name ("cluster_centers_"), as f32. Throws
/// LoadError, also for an array that is not of floats, not [.., ..] in C's order, or not finite.
Tensor read_joblib_array(const std::string& path, const std::string& name);

}  // namespace syrinx
