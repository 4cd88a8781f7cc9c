#include "model/bundle.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/error.h"
#include "base/fuzzing.h"

namespace syrinx {
namespace {

Bundle some_bundle() {
  Bundle bundle;
  bundle.set("seed", uint64_t{0xFEDCBA9876543210});
  bundle.set("codes", std::vector<int32_t>{1, -2, 3});
  bundle.set("rows", std::vector<float>{0.5f, -0.0f});
  bundle.set("none", std::vector<float>{});
  return bundle;
}

std::string bytes_of(const Bundle& bundle) {
  std::string bytes;
  bundle.append_to(bytes);
  return bytes;
}

template <typename F>
std::string bundle_fault(F&& f) {
  try {
    f();
  } catch (const LoadError& e) {
    return e.what();
  }
  return "none";
}

TEST(Bundle, BytesAndBack) {
  const std::string bytes = bytes_of(some_bundle());
  Bundle back = Bundle::parse(bytes);
  EXPECT_EQ(back, some_bundle());
  EXPECT_EQ(bytes_of(back), bytes);
  EXPECT_EQ(back.number("seed"), 0xFEDCBA9876543210);
  EXPECT_EQ(back.ints("codes", 3), (std::vector<int32_t>{1, -2, 3}));
  EXPECT_EQ(back.floats("rows"), (std::vector<float>{0.5f, -0.0f}));
  EXPECT_TRUE(back.has("none"));
  EXPECT_FALSE(back.has("rows"));  // the value was removed
  EXPECT_EQ(Bundle::parse(bytes_of({})), Bundle());
}

TEST(Bundle, SaysWhatDoesNotFit) {
  Bundle bundle = some_bundle();
  bundle.set("bad", std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  EXPECT_NE(bundle_fault([&] { bundle.number("speed"); }).find("'speed' is missing"),
            std::string::npos);
  EXPECT_NE(bundle_fault([&] { bundle.floats("codes"); }).find("'codes' is not floats"),
            std::string::npos);
  EXPECT_NE(bundle_fault([&] { bundle.ints("codes", 4); }).find("has 3 values, expected 4"),
            std::string::npos);
  EXPECT_NE(bundle_fault([&] { bundle.number("seed", 9); }).find("at most 9"), std::string::npos);
  EXPECT_NE(bundle_fault([&] { bundle.floats("bad"); }).find("NaN or infinity"), std::string::npos);
}

TEST(Bundle, RefusesWhatItDidNotWrite) {
  const std::string good = bytes_of(some_bundle());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(Bundle::parse(std::string_view(good).substr(0, size)), LoadError) << size;
  }
  EXPECT_THROW(Bundle::parse(good + "x"), LoadError);
  std::string other = good;
  other[3] = 2;  // byte 3 is the version
  EXPECT_THROW(Bundle::parse(other), LoadError);
  // These bytes announce four gigabytes of values that do not follow.
  const std::string huge("SYB\1\1\0\1a\2\xFF\xFF\xFF\x3F", 13);
  EXPECT_NE(bundle_fault([&] { Bundle::parse(huge); }).find("more bytes"), std::string::npos);
  const std::string twice("SYB\1\2\0\1a\1\0\0\0\0\1a\1\0\0\0\0", 20);
  EXPECT_NE(bundle_fault([&] { Bundle::parse(twice); }).find("twice"), std::string::npos);
}

TEST(BundleFuzz, AnyBytesAreABundleOrAnError) {
  const std::string good = bytes_of(some_bundle());
  std::mt19937 random(1);
  int taken = 0;
  const int inputs = fuzz_inputs(5000);
  for (int i = 0; i < inputs; ++i) {
    std::string bytes = good;
    for (uint32_t n = 1 + random() % 4; n > 0; --n) {
      const size_t at = random() % bytes.size();
      if (random() % 4 == 0) {
        bytes.erase(at, 1 + random() % 8);
      } else {
        bytes[at] = static_cast<char>(random());
      }
      if (bytes.empty()) bytes = "S";
    }
    try {
      const Bundle bundle = Bundle::parse(bytes);
      EXPECT_EQ(Bundle::parse(bytes_of(bundle)).has("x"), bundle.has("x"));
      ++taken;
    } catch (const LoadError&) {
    }
  }
  EXPECT_GT(taken, inputs / 100);
  EXPECT_LT(taken, inputs - inputs / 100);
}

}  // namespace
}  // namespace syrinx
