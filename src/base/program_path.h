// The path of the running program. Its voices and modules are beside it. Any thread.
#pragma once

#include <filesystem>

namespace syrinx {

/// Returns the absolute path of the running program; empty if unknown. `link`: the system's link to
/// the program. Without the link, uses the path by which the program was started. If that path is
/// relative, it is valid until the working directory changes.
std::filesystem::path program_path(const std::filesystem::path& link = "/proc/self/exe");

}  // namespace syrinx
