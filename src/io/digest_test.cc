#include "io/digest.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(Digest, IsTheBeginningOfSha256) {
  Digest digest;
  digest.bytes("abc", 3);  // an example in FIPS 180-4: ba7816bf 8f01cfea ...
  EXPECT_EQ(digest.key(), 0xba7816bf8f01cfeau);
}

TEST(Digest, FieldsKeepApart) {
  Digest a, b;
  a.text("ab"), a.text("c");
  b.text("a"), b.text("bc");
  EXPECT_NE(a.key(), b.key());
}

TEST(Sha256, OfBytes) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace syrinx
