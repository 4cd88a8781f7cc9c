// A directory of Piper voices as models of a server. Free function; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace syrinx {

/// Returns the paths of every NAME.onnx with a NAME.onnx.json in `dir`, sorted. Reports each
/// NAME.onnx without NAME.onnx.json. Throws UsageError if `dir` is unreadable or lacks voices.
std::vector<std::string> voice_files(const std::string& dir,
                                     const std::function<void(const std::string& line)>& report);

}  // namespace syrinx
