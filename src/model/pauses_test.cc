#include "model/pauses.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

/// Returns the pieces in one line, "Hello |0.5| world"; for an error, "!" and the message.
std::string cut(std::string_view text, size_t step = std::string_view::npos) {
  PauseReader reader;
  std::vector<PausePiece> pieces;
  for (size_t at = 0; at <= text.size(); at += std::min(step, text.size() + 1)) {
    const std::string_view part = text.substr(at, step);
    const bool last = step >= text.size() - at;
    if (const Status fault = reader.push(part, last, pieces); !fault) {
      EXPECT_EQ(fault.error().param, "input");
      return "!" + fault.error().message;
    }
    if (last) break;
  }
  std::string out, joined;
  for (const PausePiece& piece : pieces) {
    joined += piece.text;
    out += piece.pause ? "|" + std::to_string(piece.pause_s).substr(0, 5) + "|" : piece.text;
  }
  EXPECT_EQ(joined, text);
  return out;
}

TEST(PauseReader, Tags) {
  EXPECT_EQ(cut("Hello. <break time=\"0.5s\"/> World."), "Hello. |0.500| World.");
  EXPECT_EQ(cut("a<break time=\"500ms\" />b"), "a|0.500|b");
  EXPECT_EQ(cut("a<break  time = '1s'>b"), "a|1.000|b");
  EXPECT_EQ(cut("a<BREAK TIME=\".25S\"/>b"), "a|0.250|b");
  EXPECT_EQ(cut("a[pause 1.5s]b[Pause 20ms ]"), "a|1.500|b|0.020|");
  EXPECT_EQ(cut("a[pause:1.5s]b[pause: 20ms]"), "a|1.500|b|0.020|");
  EXPECT_EQ(cut("<break time=\"0s\"/>a"), "|0.000|a");
  EXPECT_EQ(cut("<break time=\"1s\"/>[pause 2s]"), "|1.000||2.000|");
}

TEST(PauseReader, WhatIsNoTagStays) {
  for (const char* text : {"",
                           "Hello.",
                           "a < b",
                           "<break>",
                           "<break/>",
                           "<break strength=\"weak\"/>",
                           "<break time=\"x\"/>",
                           "<break time=\"1\"/>",
                           "<break time=\"-1s\"/>",
                           "<breaktime=\"1s\"/>",
                           "<break time=1s/>",
                           "<break time=\"1s'/>",
                           "<break time=\"1e1s\"/>",
                           "<break time=\"1.2.3s\"/>",
                           "[pause]",
                           "[pauses 1s]",
                           "[pause:]",
                           "[pause::1s]",
                           "[pause 1s",
                           "[pause 1 s]",
                           "[laugh]",
                           "<laugh>",
                           "<|audio|>",
                           "<break time=\"1s\"",
                           "<",
                           "[",
                           "<<break time",
                           "<break time=\"                             "
                           "                                                      1s\"/>"}) {
    EXPECT_EQ(cut(text), text);
    EXPECT_EQ(cut(text, 1), text);
  }
  EXPECT_EQ(cut("<<break time=\"1s\"/>>"), "<|1.000|>");
}

TEST(PauseReader, PiecesMakeNoDifference) {
  const std::string text =
      "One <break time=\"0.5s\"/>two [pause 2s] <laugh> three < [four] <brea> <break time=\"1s\">";
  for (size_t step = 1; step < text.size(); ++step) EXPECT_EQ(cut(text, step), cut(text)) << step;
}

TEST(PauseReader, WhatIsCertainComesAtOnce) {
  PauseReader reader;
  std::vector<PausePiece> pieces;
  ASSERT_TRUE(reader.push("Hello <bre", false, pieces).ok());
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].text, "Hello ");
  ASSERT_TRUE(reader.push("ad", false, pieces).ok());
  EXPECT_EQ(pieces[0].text, "Hello <bread");
}

TEST(PauseReader, Bounds) {
  EXPECT_EQ(cut("a[pause 10s]b"), "a|10.00|b");
  EXPECT_EQ(cut("a[pause 10.1s]b"), "!a pause of 10.1 s: at most 10 s are possible");
  EXPECT_EQ(cut("a[pause 99999999999999999999s]")[0], '!');
  EXPECT_EQ(cut("a[pause 6s] ... [pause 6s]b"), "!a pause of 12 s: at most 10 s are possible");
  EXPECT_EQ(cut("[pause 6s]b[pause 6s]"), "|6.000|b|6.000|");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "a[pause 10s]";
  EXPECT_NE(cut(many)[0], '!');
  EXPECT_EQ(cut(many + "a[pause 1s]"), "!pauses of 301 s: at most 300 s are possible");
}

TEST(Speakable, Letters) {
  for (const char* text : {"a", "...7", "\xc3\xa9", " x "}) EXPECT_TRUE(is_speakable(text));
  for (const char* text : {"", " ", "...", "\n-?!"}) EXPECT_FALSE(is_speakable(text));
}

}  // namespace
}  // namespace syrinx
