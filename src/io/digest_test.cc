#include "io/digest.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(Digest, IsTheBeginningOfSha256) {
  Digest digest;
  digest.bytes("abc", 3);  // FIPS 180-4's example: ba7816bf 8f01cfea ...
  EXPECT_EQ(digest.key(), 0xba7816bf8f01cfeau);
}

TEST(Digest, FieldsKeepApart) {
  Digest a, b;
  a.text("ab"), a.text("c");
  b.text("a"), b.text("bc");
  EXPECT_NE(a.key(), b.key());
}

}  // namespace
}  // namespace syrinx
