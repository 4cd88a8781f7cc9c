#include "audio/sha256.h"

#include <array>
#include <memory>

#include "base/check.h"

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/sha.h>
}

namespace syrinx {

std::string sha256_hex(std::string_view bytes) {
  struct Free {
    void operator()(AVSHA* sha) const { av_free(sha); }
  };
  const std::unique_ptr<AVSHA, Free> sha(av_sha_alloc());
  SYRINX_CHECK(sha && av_sha_init(sha.get(), 256) == 0, "[sha256] no memory");
  av_sha_update(sha.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::array<uint8_t, 32> digest{};
  av_sha_final(sha.get(), digest.data());
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace syrinx
