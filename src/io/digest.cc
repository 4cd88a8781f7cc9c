#include "io/digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace syrinx {
namespace {

const EVP_MD* sha256() {
  // Fetched once, because fetching is slow.
  static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kSha256;
}

}  // namespace

struct Digest::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Digest::Digest() : context_(std::make_unique<Context>()) {
  SYRINX_CHECK(context_->md && EVP_DigestInit_ex(context_->md, sha256(), nullptr) == 1,
               "OpenSSL has no SHA-256");
}

Digest::~Digest() = default;

void Digest::bytes(const void* data, size_t size) {
  SYRINX_CHECK(EVP_DigestUpdate(context_->md, data, size) == 1, "SHA-256 failed");
}

void Digest::text(std::string_view s) {
  number(s.size());
  bytes(s.data(), s.size());
}

uint64_t Digest::key() {
  unsigned char sum[EVP_MAX_MD_SIZE];
  SYRINX_CHECK(EVP_DigestFinal_ex(context_->md, sum, nullptr) == 1, "SHA-256 failed");
  uint64_t key = 0;
  for (int i = 0; i < 8; ++i) key = key << 8 | sum[i];
  return key;
}

std::string sha256_hex(std::string_view bytes) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  SYRINX_CHECK(EVP_Digest(bytes.data(), bytes.size(), sum, &size, sha256(), nullptr) == 1,
               "SHA-256 failed");
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += "0123456789abcdef"[sum[i] >> 4];
    out += "0123456789abcdef"[sum[i] & 15];
  }
  return out;
}

}  // namespace syrinx
