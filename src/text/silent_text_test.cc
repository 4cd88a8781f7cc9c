#include "text/silent_text.h"

#include <gtest/gtest.h>

#include "text/segment_queue.h"

namespace syrinx {
namespace {

TEST(SilentText, SignsOnly) {
  for (const char* text : {"a", "... 7", "\u4f60", "\u00bd", "\xf0\x9f\x91"}) {
    EXPECT_TRUE(has_words(text)) << text;
    EXPECT_FALSE(may_be_silent(text, nothing_to_say())) << text;
  }
  for (const char* text : {"...", "\u2026", "\U0001f44d\U0001f3fd", "|---|", "\u266a", "\u200b"}) {
    EXPECT_FALSE(has_words(text)) << text;
    EXPECT_TRUE(may_be_silent(text, nothing_to_say())) << text;
    EXPECT_FALSE(may_be_silent(text, text_is_complete())) << text;
  }
  Error longer = nothing_to_say();
  longer.message += "; more";
  EXPECT_TRUE(may_be_silent("...", longer));
  EXPECT_FALSE(may_be_silent("", nothing_to_say()));
  EXPECT_FALSE(may_be_silent(" \n", nothing_to_say()));
}

}  // namespace
}  // namespace syrinx
