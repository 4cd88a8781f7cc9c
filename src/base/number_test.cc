#include "base/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace syrinx {
namespace {

template <typename T, typename Parse>
std::optional<T> parsed(Parse parse, std::string_view text) {
  T out = 77;
  if (parse(text, out)) return out;
  EXPECT_EQ(out, T{77}) << text << ": a fault leaves the number alone";
  return {};
}

template <typename T>
std::optional<T> number(std::string_view text) {
  return parsed<T>([](std::string_view from, T& out) { return parse_number(from, out); }, text);
}

template <typename T>
std::optional<T> by_strtod(std::string_view text) {
  return parsed<T>([](std::string_view from, T& out) { return parse_by_strtod(from, out); }, text);
}

template <typename T>
void expect_same(std::string_view text) {
  const std::optional<T> want = number<T>(text), got = by_strtod<T>(text);
  ASSERT_EQ(got.has_value(), want.has_value()) << text;
  if (!want) return;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  EXPECT_EQ(std::bit_cast<Bits>(*got), std::bit_cast<Bits>(*want)) << text;
}

TEST(Number, TakesAllOfTheTextOrNothing) {
  EXPECT_EQ(number<int>("-12"), -12);
  EXPECT_EQ(number<double>("0.5"), 0.5);
  EXPECT_EQ(number<float>("-1.5e3"), -1500.f);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "one", "-", "1e"}) {
    EXPECT_FALSE(number<double>(text)) << text;
  }
  EXPECT_FALSE(number<int>("1.5"));
  EXPECT_FALSE(number<int8_t>("200")) << "out of range";
}

TEST(Number, TakesTheNumberAtTheBeginning) {
  double out = 0;
  for (const char* after : {"", ", 'x'", " 2", "}", "x"}) {
    const std::string all = std::string("-3.5e+2") + after;
    std::string_view text = all;
    EXPECT_TRUE(take_number(text, out)) << all;
    EXPECT_EQ(out, -350);
    EXPECT_EQ(text, after);
  }
  for (const char* all : {"", "x1", " 1", "1-2", "-", "1.2.3"}) {
    std::string_view text = all;
    EXPECT_FALSE(take_number(text, out)) << all;
    EXPECT_EQ(text, all);
  }
  EXPECT_EQ(out, -350);
}

TEST(Number, FixedTakesNoExponent) {
  double out = 0;
  EXPECT_TRUE(parse_fixed("12.25", out));
  EXPECT_EQ(out, 12.25);
  EXPECT_FALSE(parse_fixed("1e2", out));
  EXPECT_FALSE(parse_fixed("1E2", out));
}

TEST(Number, TheCLibraryParsesTheSame) {
  for (const char* text : {"",
                           "0",
                           "-0",
                           "1",
                           "-1.5",
                           ".5",
                           "5.",
                           ".",
                           "1e5",
                           "1E-5",
                           "1e",
                           "e5",
                           "+1",
                           " 1",
                           "1 ",
                           "1\n",
                           "0x1p3",
                           "inf",
                           "-inf",
                           "infinity",
                           "INF",
                           "nan",
                           "-nan",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "0e-400",
                           "0.0",
                           "1e39",
                           "1e-46",
                           "1e-40",
                           "3.4028235e38",
                           "1,5",
                           "0.1",
                           "1.7976931348623157e308",
                           "4.9e-324",
                           "1e-310",
                           "--1",
                           "-",
                           "16777217",
                           "0.30000000000000004",
                           "100000000000000000000000"}) {
    expect_same<float>(text);
    expect_same<double>(text);
  }
}

}  // namespace
}  // namespace syrinx
