// The path of the running program, beside which its voices and modules lie. Any thread.
#pragma once

#include <filesystem>

namespace syrinx {

/// Returns the absolute path of the running program; empty if unknown. `link`: the system's link to
/// the program. Without it the path is taken by which the program was started; a relative one is
/// found until the working directory changes.
std::filesystem::path program_path(const std::filesystem::path& link = "/proc/self/exe");

}  // namespace syrinx
