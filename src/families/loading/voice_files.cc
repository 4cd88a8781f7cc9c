#include "families/loading/voice_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "io/file.h"

namespace syrinx {

std::map<std::string, std::string> files_below(const std::string& dir,
                                               std::initializer_list<const char*> folders,
                                               const char* extension) {
  std::map<std::string, std::string> paths;
  for (const char* folder : folders) {
    std::error_code none;
    std::vector<std::filesystem::path> found;
    for (std::filesystem::recursive_directory_iterator it(join_path(dir, folder), none), end;
         it != end; it.increment(none)) {
      if (it->path().extension() == extension) found.push_back(it->path());
    }
    std::ranges::sort(found);
    for (const auto& path : found) paths.emplace(path.stem().string(), path.string());
  }
  return paths;
}

}  // namespace syrinx
