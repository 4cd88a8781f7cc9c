#include "text/silent_text.h"

#include <gtest/gtest.h>

#include "text/segment_queue.h"

namespace syrinx {
namespace {

TEST(SilentText, Content) {
  for (const char* text : {"a", "... 7", "\u4f60", "\u00bd", "\xf0\x9f\x91"}) {
    EXPECT_EQ(content_of(text), TextContent::kWords) << text;
  }
  for (const char* text : {"...", "\u2026", "\U0001f44d\U0001f3fd", "|---|", "\u266a", "\u200b"}) {
    EXPECT_EQ(content_of(text), TextContent::kSigns) << text;
  }
  for (const char* text : {"", " \n"}) EXPECT_EQ(content_of(text), TextContent::kBlank) << text;
}

TEST(SilentText, Errors) {
  Error longer = nothing_to_say();
  longer.message += "; more";
  EXPECT_TRUE(is_nothing_to_say(nothing_to_say()));
  EXPECT_TRUE(is_nothing_to_say(longer));
  EXPECT_FALSE(is_nothing_to_say(text_is_complete()));
}

}  // namespace
}  // namespace syrinx
