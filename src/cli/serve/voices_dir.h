// A directory of Piper voices as models of a server. Free function; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace syrinx {

/// Returns the paths of every NAME.onnx in `dir` with a NAME.onnx.json, sorted by name. Reports
/// each NAME.onnx without one. Throws UsageError for an unreadable directory or one without voices.
std::vector<std::string> voice_files(const std::string& dir,
                                     const std::function<void(const std::string& line)>& report);

}  // namespace syrinx
