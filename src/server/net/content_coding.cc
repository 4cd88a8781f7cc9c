#include "server/net/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

ApiError bad_gzip(const char* what) {
  return {.message = concat("The body is declared as Content-Encoding: gzip, but it ", what, "."),
          .code = "invalid_encoding"};
}

}  // namespace

std::optional<ContentCoding> content_coding(std::string_view header) {
  const std::string_view name = trimmed(header);
  if (name.empty() || same_but_case(name, "identity")) return ContentCoding::kNone;
  if (same_but_case(name, "gzip") || same_but_case(name, "x-gzip")) return ContentCoding::kGzip;
  return {};
}

Gunzipped gunzip(std::string_view bytes, size_t limit) {
  constexpr int kWindowBits = 15, kGzipHeader = 16;
  constexpr size_t kPiece = size_t{1} << 30;  // bytes per call, because zlib counts in 32 bits
  z_stream stream{};
  SYRINX_CHECK(inflateInit2(&stream, kWindowBits + kGzipHeader) == Z_OK, "inflateInit2 failed");
  const auto end = [](z_stream* each) { inflateEnd(each); };
  const std::unique_ptr<z_stream, decltype(end)> closer(&stream, end);
  Gunzipped out;
  std::array<char, 64 << 10> room;
  int status = Z_OK;
  while (true) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      const size_t taken = std::min(bytes.size(), kPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(taken);
      bytes.remove_prefix(taken);
    }
    if (status == Z_STREAM_END) {  // another member may follow
      if (stream.avail_in == 0) return out;
      inflateReset(&stream);
    }
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const size_t made = room.size() - stream.avail_out;
    if (out.bytes.size() + made > limit) return {.too_large = true};
    out.bytes.append(room.data(), made);
    if (status == Z_BUF_ERROR ||
        (status == Z_OK && stream.avail_in == 0 && bytes.empty() && stream.avail_out > 0)) {
      return {.error = bad_gzip("ends too early")};
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      return {.error = bad_gzip("has other or damaged bytes")};
    }
  }
}

}  // namespace syrinx
