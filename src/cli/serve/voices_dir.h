// A directory of Piper voices as models of a server. Free function; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace syrinx {

/// Paths of every NAME.onnx in `dir` that has NAME.onnx.json beside it, sorted by name. Reports
/// each that has none. Throws UsageError where the directory cannot be read or has no voice.
std::vector<std::string> voice_files(const std::string& dir,
                                     const std::function<void(const std::string& line)>& report);

}  // namespace syrinx
