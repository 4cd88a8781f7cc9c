// SHA-256 (FIPS 180-4, by OpenSSL) of bytes and of sequences of fields: names for contents that
// strangers choose, such as voices and the beginnings of prompts, so that a stranger cannot make
// two that share one. A Digest is one thread's; the rest is free functions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// A digest of fields that come one after another.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void bytes(const void* data, size_t size);
  void number(uint64_t n) { bytes(&n, sizeof n); }
  /// With its length, so that neighbours cannot flow into each other.
  void text(std::string_view s);
  template <typename T>
  void values(std::span<const T> all) {
    number(all.size());
    bytes(all.data(), all.size_bytes());
  }
  /// The first 64 bits of the digest; ends it.
  uint64_t key();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// The digest of bytes, as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace syrinx
