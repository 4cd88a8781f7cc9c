#include "text/english/numbers.h"

#include <gtest/gtest.h>

namespace syrinx::english {
namespace {

TEST(Numbers, InWords) {
  EXPECT_EQ(number_words("0"), "zero");
  EXPECT_EQ(number_words("1,250"), "one thousand two hundred fifty");
  EXPECT_EQ(number_words("-3.05"), "minus three point zero five");
  EXPECT_EQ(number_words("1984"), "nineteen eighty four");
  EXPECT_EQ(cardinal_words("1984"), "one thousand nine hundred eighty four");
  EXPECT_EQ(number_words("1906"), "nineteen oh six");
  EXPECT_EQ(number_words("2005"), "two thousand five");
  EXPECT_EQ(number_words("007"), "zero zero seven");
  EXPECT_EQ(number_words("123456789012345"),
            "one hundred twenty three trillion four hundred fifty six billion seven hundred "
            "eighty nine million twelve thousand three hundred forty five");
  EXPECT_EQ(number_words("1234567890123456").substr(0, 13), "one two three");
}

TEST(Numbers, OrdinalsDecadesFractions) {
  EXPECT_EQ(ordinal_words(12), "twelfth");
  EXPECT_EQ(ordinal_words(40), "fortieth");
  EXPECT_EQ(ordinal_words(101), "one hundred first");
  EXPECT_EQ(decade_words(1990), "nineteen nineties");
  EXPECT_EQ(decade_words(2000), "two thousands");
  EXPECT_EQ(fraction_words(5, 8), "five eighths");
  EXPECT_EQ(fraction_words(22, 7), "twenty two over seven");
}

TEST(Numbers, AreRecognised) {
  for (const char* text : {"1", "1,234", "1,234,567.5", "-3", "+3", ".5", "12345"}) {
    EXPECT_TRUE(is_number(text)) << text;
  }
  for (const char* text : {"", "-", "1,2", "1,2345", "1.", "1.2.3", "a", "1a", ","}) {
    EXPECT_FALSE(is_number(text)) << text;
  }
}

TEST(Numbers, GroupsHaveThreeDigits) {
  EXPECT_EQ(number_length("1,234,567 x"), 9u);
  EXPECT_EQ(number_length("1,2345"), 1u);
  EXPECT_EQ(number_length("1,23"), 1u);
  EXPECT_EQ(number_length("1234,567"), 4u);
  EXPECT_EQ(number_length("123,456"), 7u);
}

TEST(Numbers, AtTheirLimits) {
  EXPECT_EQ(number_words("1099"), "one thousand ninety nine");
  EXPECT_EQ(number_words("1100"), "eleven hundred");
  EXPECT_EQ(number_words("1999"), "nineteen ninety nine");
  EXPECT_EQ(number_words("2000"), "two thousand");
  EXPECT_EQ(number_words("2009"), "two thousand nine");
  EXPECT_EQ(number_words("2010"), "twenty ten");
  EXPECT_EQ(number_words("2099"), "twenty ninety nine");
  EXPECT_EQ(number_words("2100"), "two thousand one hundred");
  EXPECT_EQ(number_words("1910"), "nineteen ten");
  EXPECT_EQ(cardinal_words("100"), "one hundred");
  EXPECT_EQ(cardinal_words("1000"), "one thousand");
  EXPECT_EQ(cardinal_words("1000000"), "one million");
  EXPECT_EQ(fraction_words(1, 2), "one half");
  EXPECT_EQ(fraction_words(3, 2), "three halves");
}

}  // namespace
}  // namespace syrinx::english
