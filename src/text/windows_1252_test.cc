#include "text/windows_1252.h"

#include <gtest/gtest.h>

#include <string>

#include "text/utf8.h"

namespace syrinx {
namespace {

TEST(Windows1252, ReadsItsCharacters) {
  EXPECT_EQ(from_windows_1252("\x93Gr\xfc\xdf Gott\x94 \x96 5 \x80, it\x92s"),
            "\u201cGr\u00fc\u00df Gott\u201d \u2013 5 \u20ac, it\u2019s");
  EXPECT_EQ(from_windows_1252("\x81"), "\ufffd");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_TRUE(utf8_valid(from_windows_1252(all)));
  EXPECT_EQ(utf8_count(from_windows_1252(all)), 256u);
}

TEST(Windows1252, IsDistinguishedFromUtf8WithAccidents) {
  EXPECT_TRUE(looks_windows_1252("caf\xe9"));
  EXPECT_TRUE(looks_windows_1252("\x93Quotes\x94 and \xa9"));
  EXPECT_FALSE(looks_windows_1252("plain"));
  EXPECT_FALSE(looks_windows_1252("gr\u00fcn"));
  EXPECT_FALSE(looks_windows_1252("gr\u00fcn \u00df \xff"));  // one invalid byte among valid UTF-8
  EXPECT_FALSE(looks_windows_1252("a \x81 b"));               // not a byte of Windows-1252
}

}  // namespace
}  // namespace syrinx
