// SHA-256 (FIPS 180-4, by OpenSSL) of bytes and of sequences of fields. Digests name contents from
// untrusted clients, such as voices and beginnings of prompts: a client cannot make two contents
// with the same digest. A Digest is for one thread; free functions are for any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// A digest of consecutive fields.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void bytes(const void* data, size_t size);
  void number(uint64_t n) { bytes(&n, sizeof n); }
  /// Adds a text and its length, so that ("ab", "c") and ("a", "bc") differ.
  void text(std::string_view s);
  template <typename T>
  void values(std::span<const T> all) {
    number(all.size());
    bytes(all.data(), all.size_bytes());
  }
  /// Returns the first 64 bits of the digest. No fields may be added afterwards.
  uint64_t key();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Returns the digest of bytes as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace syrinx
