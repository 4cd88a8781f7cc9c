#include "cli/serve/voices_dir.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "cli/line/exit.h"

namespace syrinx {

std::vector<std::string> voice_files(const std::string& dir,
                                     const std::function<void(const std::string& line)>& report) {
  std::vector<std::string> found;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(dir, fault)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".onnx") continue;
    if (std::filesystem::exists(path + ".json")) {
      found.push_back(path);
    } else {
      report(concat("syrinx: ", path, ": not served, because ", path, ".json is missing"));
    }
  }
  if (fault) throw UsageError(concat("--voices-dir ", dir, ": ", fault.message()));
  if (found.empty()) {
    throw UsageError(
        concat("--voices-dir ", dir, ": expected voices, NAME.onnx and NAME.onnx.json"));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace syrinx
