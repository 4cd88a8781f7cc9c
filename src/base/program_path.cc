#include "base/program_path.h"

#include <sys/auxv.h>

namespace syrinx {

std::filesystem::path program_path(const std::filesystem::path& link) {
  std::error_code fault;
  std::filesystem::path path = std::filesystem::read_symlink(link, fault);
  if (!fault) return path;
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr) return {};
  path = std::filesystem::canonical(started, fault);
  return fault ? std::filesystem::path() : path;
}

}  // namespace syrinx
