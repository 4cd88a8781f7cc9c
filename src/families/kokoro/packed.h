// Tables that are linked into the program as gzip. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx::kokoro {

/// Unpacks a gzip stream of at most 8 MB that CMake has linked into the program. Throws
/// InternalError for a broken stream.
std::string unpacked(std::string_view gzip);

}  // namespace syrinx::kokoro
