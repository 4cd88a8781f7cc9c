#include "predict/drafting.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

void write(Drafting& drafting, std::initializer_list<const char*> pieces) {
  for (const char* piece : pieces) drafting.wrote(piece);
}

TEST(Drafting, WhatHoldsIsCountedOnce) {
  Drafting drafting({.first = 4, .more = 2, .most = 7});
  EXPECT_EQ(drafting.most_tokens(), 4);
  drafting.begin();
  write(drafting, {"I", " am", " a"});
  EXPECT_FALSE(drafting.enough());
  drafting.wrote(" cat");
  EXPECT_TRUE(drafting.enough());
  drafting.end();
  EXPECT_EQ(drafting.guess(), "I am a cat");
  EXPECT_EQ(drafting.most_tokens(), 7);  // 4 tokens of a draft, 2 added tokens, 1 token between
  drafting.begin();
  // This draft is as long as the first one. Two of its tokens match the first draft.
  write(drafting, {"I", " am", " the", " dog"});
  EXPECT_FALSE(drafting.enough());
  drafting.wrote(".");
  EXPECT_TRUE(drafting.enough());
  drafting.begin_answer();  // also ends the round
  EXPECT_EQ(drafting.guess(), "I am the dog.");
  EXPECT_EQ(drafting.counts().drafted, 4 + 3);
  EXPECT_EQ(drafting.counts().wasted, 2);
  write(drafting, {"I am", " the dog"});  // tokens may be cut differently
  EXPECT_FALSE(drafting.enough());
  write(drafting, {"s", " say"});
  EXPECT_EQ(drafting.written(), "I am the dogs say");
  drafting.end();
  EXPECT_EQ(drafting.counts().drafts, 2);
  EXPECT_EQ(drafting.counts().accepted, 4);
  EXPECT_EQ(drafting.counts().wasted, 3);
  EXPECT_FALSE(drafting.may_begin());
}

TEST(Drafting, TheDraftThatWasReplacedIsKeptForGuesses) {
  Drafting drafting;
  const auto round = [&](std::initializer_list<const char*> pieces) {
    drafting.begin();
    write(drafting, pieces);
    drafting.end();
  };
  round({"It", " is", " two"});
  round({"It", " is"});  // the draft still holds
  EXPECT_EQ(drafting.earlier_guess(), "");
  round({"It", " is", " two", "."});  // so does this one, with more text
  EXPECT_EQ(drafting.earlier_guess(), "");
  round({"I", " am"});
  EXPECT_EQ(drafting.earlier_guess(), "It is two.");
  round({"I", " am", " late"});
  EXPECT_EQ(drafting.earlier_guess(), "It is two.");
  drafting.begin_answer();
  EXPECT_EQ(drafting.guess(), "I am late");
}

TEST(Drafting, ARoundWithItsFirstSentenceGivesWayAtOnce) {
  Drafting drafting({.first = 4, .more = 2, .most = 7, .most_wasted = 3});
  drafting.begin();
  write(drafting, {"I."});
  EXPECT_FALSE(drafting.may_begin());
  EXPECT_TRUE(drafting.may_begin(true));
  write(drafting, {"Am", " a", " cat"});
  drafting.begin();
  write(drafting, {"We"});
  drafting.end();  // four tokens are wasted
  EXPECT_FALSE(drafting.may_begin(true));
}

TEST(Drafting, ARoundThatIsStoppedWhereAllHoldsKeepsTheRest) {
  Drafting drafting;
  drafting.begin();
  write(drafting, {"a", "b", "c"});
  drafting.begin();
  drafting.wrote("a");
  drafting.end();
  EXPECT_EQ(drafting.guess(), "abc");
  EXPECT_EQ(drafting.counts().wasted, 0);
  drafting.begin();
  drafting.wrote("a");
  drafting.end(true);  // the model itself ended the text
  EXPECT_EQ(drafting.guess(), "a");
  EXPECT_EQ(drafting.counts().wasted, 2);
  EXPECT_EQ(drafting.counts().drafted, 3);
  drafting.begin();
  drafting.wrote("ax");  // the draft's text and more, in another token
  drafting.give_up();
  EXPECT_EQ(drafting.counts().drafted, 3);
  EXPECT_EQ(drafting.counts().wasted, 3);
  EXPECT_EQ(drafting.guess(), "");
}

TEST(Drafting, ALaterRoundIsAtLeastAsLongAsTheFirst) {
  Drafting drafting({.first = 4, .more = 1, .most = 7});
  drafting.begin();
  drafting.wrote("I");
  drafting.begin();
  EXPECT_EQ(drafting.most_tokens(), 4);
  write(drafting, {"We", " are", " cats"});
  EXPECT_FALSE(drafting.enough());
  drafting.wrote(".");
  EXPECT_TRUE(drafting.enough());
}

/// Tokens after the first difference are not kept, even if they match the draft again.
TEST(Drafting, NothingHoldsBehindADifference) {
  Drafting drafting({.first = 3, .more = 2, .most = 5});
  drafting.begin();
  write(drafting, {"I", " am", " here"});
  drafting.end();
  EXPECT_EQ(drafting.most_tokens(), 5) << "six would be more than any";
  drafting.begin_answer();
  write(drafting, {"I", "x", " am", " here"});
  drafting.end();
  EXPECT_EQ(drafting.counts().accepted, 1);
  EXPECT_EQ(drafting.counts().wasted, 2);
}

TEST(Drafting, AnAnswerMayBeginWithTheDraft) {
  for (const bool ended : {false, true}) {
    Drafting drafting({.first = 4, .more = 2, .most = 7});
    drafting.begin();
    write(drafting, {"I", " am", " here"});
    drafting.end();
    drafting.begin();
    write(drafting, {"I", " am", " a"});
    if (ended) drafting.end(true);
    drafting.begin_answer_with_draft();
    EXPECT_EQ(drafting.written(), "I am a");
    write(drafting, {" cat", ", not", " a", " dog", "."});
    EXPECT_FALSE(drafting.enough());
    drafting.end();
    EXPECT_EQ(drafting.counts().drafted, 4);
    EXPECT_EQ(drafting.counts().accepted, 3);
    EXPECT_EQ(drafting.counts().wasted, 1);
  }
}

TEST(Drafting, WaitsForALittleAndGivesUpInTheEnd) {
  Drafting drafting({.first = 9, .more = 2, .most = 9, .most_wasted = 5});
  EXPECT_TRUE(drafting.may_begin());
  drafting.begin();
  EXPECT_FALSE(drafting.may_begin());
  write(drafting, {"a", "b"});
  EXPECT_TRUE(drafting.may_begin());
  drafting.begin();
  write(drafting, {"x", "y", "z"});
  EXPECT_TRUE(drafting.may_begin());  // two tokens were added, but not kept
  drafting.begin();
  drafting.wrote("q");
  drafting.end();
  EXPECT_EQ(drafting.counts().wasted, 5);
  EXPECT_FALSE(drafting.may_begin());
  drafting.wrote("nobody asked");
  EXPECT_EQ(drafting.written(), "");
}

TEST(Drafting, RoundsReplaceOthersAtOnceOnlyACertainNumberOfTimes) {
  Drafting drafting({.more = 2, .most_at_once = 2});
  drafting.begin();
  EXPECT_TRUE(drafting.may_begin(true));
  EXPECT_FALSE(drafting.may_begin());
  drafting.begin();
  EXPECT_FALSE(drafting.may_begin(true));
  drafting.wrote("a");
  drafting.wrote("b");
  EXPECT_TRUE(drafting.may_begin());
}

}  // namespace
}  // namespace syrinx
