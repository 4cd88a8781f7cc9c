#include "model/voice_mix.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

std::string shown(std::string_view text) {
  const auto shares = parse_voice_mix(text);
  if (!shares) return shares.error().param + "!";
  std::string out;
  for (const NamedShare& share : shares.value()) {
    out += share.name + ":" + std::to_string(share.weight).substr(0, 4) + " ";
  }
  return out;
}

TEST(VoiceMix, IsReadOrRefused) {
  EXPECT_EQ(shown("anna"), "anna:1.00 ");
  EXPECT_EQ(shown("anna+ben"), "anna:1.00 ben:1.00 ");
  EXPECT_EQ(shown(" anna (2) + ben(0.5)"), "anna:2.00 ben:0.50 ");
  EXPECT_EQ(shown("Anna Bell(3)"), "Anna Bell:3.00 ");
  EXPECT_EQ(shown("a+b+c+d+e+f+g+h").size(), 8u * 7);
  for (const char* bad :
       {"", "+", "a+", "+a", "a++b", "a()", "a(0)", "a(-1)", "a(nan)", "a(inf)", "a(1e9)", "a(2",
        "a(2)b", "a)", "(2)", "a(1)(2)", "a(0x2)", "a+b+c+d+e+f+g+h+i"}) {
    EXPECT_EQ(shown(bad), "voice!") << bad;
  }
}

}  // namespace
}  // namespace syrinx
