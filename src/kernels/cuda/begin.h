// When a kernel may begin: see docs/decisions/0005-cuda-kernels.md.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace syrinx::gpu {

/// How a kernel may begin. kEarly: it calls wait_for_earlier(), so it may begin while the previous
/// kernel of its stream still runs, if SYRINX_GPU_PDL=on and the chip can do it (sm_90 and later).
enum class Begin : uint8_t { kAfter, kEarly };

inline bool early_wanted() {
  const char* value = std::getenv("SYRINX_GPU_PDL");
  return value != nullptr && std::string_view(value) == "on";
}

}  // namespace syrinx::gpu
