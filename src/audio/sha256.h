// SHA-256 of bytes, to name things by what is in them. Free function; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace syrinx
