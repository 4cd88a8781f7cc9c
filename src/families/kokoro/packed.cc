#include "families/kokoro/packed.h"

#include <zlib.h>

#include "base/check.h"

namespace syrinx::kokoro {

std::string unpacked(std::string_view gzip) {
  constexpr int kWindowBits = 15, kGzipHeader = 16;
  constexpr size_t kMost = 8 << 20;
  std::string out(kMost, '\0');
  z_stream stream{};
  SYRINX_CHECK(inflateInit2(&stream, kWindowBits + kGzipHeader) == Z_OK, "inflateInit2 failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const size_t size = out.size() - stream.avail_out;
  inflateEnd(&stream);
  SYRINX_CHECK(status == Z_STREAM_END, "[kokoro] a packed table is broken");
  out.resize(size);
  return out;
}

}  // namespace syrinx::kokoro
