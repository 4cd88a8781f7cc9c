#include "server/request/audio_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/request/answer_queue.h"

namespace syrinx {
namespace {

TEST(AudioQueue, CountsWhatIsUnread) {
  int wakes = 0;
  AudioQueue queue(1000, [&wakes] { ++wakes; });
  queue.audio(std::vector<float>(500));
  EXPECT_EQ(wakes, 1);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.5);
  std::vector<float> out;
  EXPECT_EQ(queue.take(out, 300), 300u);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.5);  // taken samples count until they are written
  queue.written(300);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.2);
  queue.finished({});
  EXPECT_EQ(wakes, 2);
  EXPECT_FALSE(queue.end().has_value());
  EXPECT_EQ(queue.take(out, 600), 200u);
  EXPECT_TRUE(queue.end().has_value());
  EXPECT_EQ(out.size(), 500u);
}

TEST(AudioQueue, WhatIsTakenWholeIsUnreadToo) {
  AudioQueue queue(1000, [] {});
  std::vector<float> out;
  EXPECT_EQ(queue.take(out, 300), 0u);
  queue.audio(std::vector<float>(200, 1.f));
  EXPECT_EQ(queue.take(out, 300), 200u);
  EXPECT_EQ(out, std::vector<float>(200, 1.f));
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.2);
  queue.audio(std::vector<float>(100, 2.f));
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.3);
  EXPECT_EQ(queue.take(out, 300), 100u);
  EXPECT_EQ(out.size(), 300u);
  queue.written(100);
  EXPECT_DOUBLE_EQ(queue.unread_s(), 0.2);
  queue.written(200);
  EXPECT_EQ(queue.unread_s(), 0);
  queue.audio(std::vector<float>(50, 3.f));
  EXPECT_EQ(queue.take(out, 20), 20u);
  std::vector<float> rest;
  EXPECT_EQ(queue.take(rest, 300), 30u);
  EXPECT_EQ(rest.size(), 30u);
}

TEST(AudioQueue, DetachedDropsAudio) {
  AudioQueue queue(1000, [] { FAIL(); });
  queue.detach();
  queue.audio(std::vector<float>(10));
  queue.finished({});
  EXPECT_EQ(queue.unread_s(), 0);
}

/// Calling take() before text or audio arrives must not lose the ids.
TEST(AnswerQueue, KeepsTheOrderOfTextAndSound) {
  AnswerQueue queue(24000, [] {});
  queue.text("a", {});
  for (const size_t samples : {3, 2}) queue.audio(std::vector<float>(samples, 1.f));
  for (const char* text : {"b", "c"}) queue.text(text, {});
  queue.audio(std::vector<float>(4, 2.f));
  queue.text("d", {});
  queue.finished({});
  AnswerQueue::News news = queue.take();
  EXPECT_EQ(news.text, "a");
  EXPECT_EQ(news.samples, std::vector<float>(5, 1.f));
  news = queue.take();
  EXPECT_EQ(news.text, "bc");
  EXPECT_EQ(news.samples, std::vector<float>(4, 2.f));
  EXPECT_FALSE(news.outcome);
  news = queue.take();
  EXPECT_EQ(news.text, "d");
  EXPECT_TRUE(news.samples.empty());
  EXPECT_TRUE(news.outcome);
}

TEST(AnswerQueue, SoundThatWasTakenPartsNothing) {
  AnswerQueue queue(24000, [] {});
  queue.audio(std::vector<float>(3));
  EXPECT_EQ(queue.take().samples.size(), 3u);
  queue.text("a", {});
  queue.audio(std::vector<float>(2));
  const AnswerQueue::News news = queue.take();
  EXPECT_EQ(news.text, "a");
  EXPECT_EQ(news.samples.size(), 2u);
}

TEST(AnswerQueue, IdsAreNoNewsAndAreNotLost) {
  AnswerQueue queue(24000, [] {});
  queue.answer_ids(std::vector<int32_t>{1, 2});
  EXPECT_TRUE(queue.take().empty());
  queue.audio(std::vector<float>(10));
  EXPECT_EQ(queue.take().samples.size(), 10u);
  queue.answer_ids(std::vector<int32_t>{3});
  queue.text("a", {});
  EXPECT_EQ(queue.take().ids, (std::vector<int32_t>{1, 2, 3}));
  queue.answer_ids(std::vector<int32_t>{4});
  queue.finished({});
  EXPECT_EQ(queue.take().ids, (std::vector<int32_t>{4}));
}

}  // namespace
}  // namespace syrinx
