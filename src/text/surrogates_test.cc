#include "text/surrogates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "text/utf8.h"

namespace syrinx {
namespace {

std::string read_mended(const std::string& json, LoneHalf lone = LoneHalf::kReplace) {
  const auto mended = mend_halves(json, lone);
  return nlohmann::json::parse(mended.value_or(json)).get<std::string>();
}

TEST(Surrogates, LoneHalvesAreReplaced) {
  EXPECT_EQ(read_mended(R"("a\ud83d")"), "a\ufffd");
  EXPECT_EQ(read_mended(R"("\uDE00b")"), "\ufffdb");
  EXPECT_EQ(read_mended(R"("\ude00\ud83d")"), "\ufffd\ufffd");
  EXPECT_EQ(read_mended(R"("\ud83d\ud83d\ude00")"), "\ufffd\U0001f600");
  EXPECT_EQ(read_mended(R"("\ud83dx\ude00")"), "\ufffdx\ufffd");
  EXPECT_EQ(read_mended(R"("\\\ud83d")"), "\\\ufffd");
  for (const char* well : {R"("\ud83d\ude00")", R"("\\ud83d")", R"("\u00e9\ue000\n")", R"("\u12")",
                           R"(\)", "", "{}"}) {
    EXPECT_FALSE(mend_halves(well)) << well;
  }
  EXPECT_EQ(mend_halves(R"("\ud83d\u12)"), R"("\ufffd\u12)");  // leaves other faults to the parser
}

TEST(Surrogates, HalvesOfTwoPiecesAreJoined) {
  const auto joined = [](const std::vector<std::string>& pieces) {
    HalfJoiner joiner;
    std::string out;
    for (const std::string& piece : pieces) out += joiner.push(read_mended(piece, LoneHalf::kMark));
    return out + joiner.finish();
  };
  EXPECT_EQ(joined({R"("a\ud83d")", R"("\ude00b")"}), "a\U0001f600b");
  EXPECT_EQ(joined({R"("a\ud83d")", R"("")", R"("\ude00b")"}), "a\U0001f600b");
  EXPECT_EQ(joined({R"("a\ud83d")", R"("b")"}), "a\ufffdb");
  EXPECT_EQ(joined({R"("a\ud83d")", R"("\uef00")"}), "a\ufffd\uef00");
  EXPECT_EQ(joined({R"("a\ud83d")"}), "a\ufffd");
  EXPECT_EQ(joined({R"("\ude00")", R"("\ud83d")"}), "\ufffd\ufffd");
  EXPECT_EQ(joined({R"("\udbff")", R"("\udfff")"}), "\U0010ffff");
  EXPECT_EQ(joined({R"("\ud800")", R"("\udc00")"}), "\U00010000");
  EXPECT_EQ(joined({R"("\ufdd5 \uffff\ufdd0")"}), "\ufdd5 \uffff\ufdd0");
}

TEST(Surrogates, AnyCutOfATextIsJoined) {
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    std::u16string units;
    for (int i = 0; i < 12; ++i) {
      const uint32_t kind = random() % 3;
      if (kind == 0) units += static_cast<char16_t>('a' + random() % 26);
      if (kind == 1) units += u"\u20ac";
      if (kind == 2) units += u"\U0001f468";
    }
    const auto escaped = [](std::u16string_view part) {
      std::string out = "\"";
      for (const char16_t unit : part) {
        char room[8];
        std::snprintf(room, sizeof room, "\\u%04x", static_cast<unsigned>(unit));
        out += room;
      }
      return out + "\"";
    };
    HalfJoiner joiner;
    std::string out;
    for (size_t at = 0; at < units.size();) {
      const size_t size = 1 + random() % 3;
      out += joiner.push(
          read_mended(escaped(std::u16string_view(units).substr(at, size)), LoneHalf::kMark));
      EXPECT_TRUE(utf8_valid(out));
      at += size;
    }
    EXPECT_EQ(out + joiner.finish(), read_mended(escaped(units)));
  }
}

}  // namespace
}  // namespace syrinx
