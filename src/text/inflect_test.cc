#include "text/inflect.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

// More comparisons with the package: families/cosyvoice2/parity_test.cc, zonos_test.cc.
TEST(Inflect, NumbersInWords) {
  EXPECT_EQ(inflect_number("0"), "zero");
  EXPECT_EQ(inflect_number("007"), "seven");
  EXPECT_EQ(inflect_number("1100"), "one thousand, one hundred");
  EXPECT_EQ(inflect_number("1234"), "one thousand, two hundred and thirty-four");
  EXPECT_EQ(inflect_number("1234", false), "one thousand, two hundred thirty-four");
  EXPECT_EQ(inflect_number("1000001"), "one million and one");
  EXPECT_EQ(inflect_number("1001000"), "one million, one thousand");
  EXPECT_EQ(inflect_number("1" + std::string(35, '0')), "one hundred decillion");
  EXPECT_EQ(inflect_number(std::string(37, '1')).substr(0, 11), "one one one");
}

TEST(Inflect, OnlyDigitsBecomeWords) {
  EXPECT_EQ(inflect_numbers("v2.0 of 17"), "vtwo.zero of seventeen");
  EXPECT_EQ(inflect_numbers("none, ² and ٣"), "none, ² and ٣");
  EXPECT_EQ(inflect_numbers(""), "");
}

}  // namespace
}  // namespace syrinx
