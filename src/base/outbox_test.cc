#include "base/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace syrinx {
namespace {

bool add(std::string& text, const char* more) {
  text += more;
  return true;
}

TEST(Outbox, WakesWhenThereIsSomethingNew) {
  int woken = 0;
  Outbox<std::string> box([&] { ++woken; });
  box.fill([](std::string& text) { return add(text, "a"); });
  box.fill([](std::string&) { return false; });
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(box.with([](std::string& text) { return std::exchange(text, {}); }), "a");
  EXPECT_EQ(box.with([](std::string& text) { return std::exchange(text, {}); }), "");
}

TEST(Outbox, WakesNoTakerAfterItsClose) {
  int woken = 0;
  Outbox<std::string> box([&] { ++woken; });
  box.fill([](std::string& text) { return add(text, "a"); });
  box.close([](std::string& text) { text.clear(); });
  box.fill([](std::string& text) { return add(text, "b"); });
  EXPECT_EQ(box.with([](const std::string& text) { return text; }), "");
  box.settle([](std::string& text) { return add(text, "end"); });
  EXPECT_EQ(box.with([](const std::string& text) { return text; }), "end");
  EXPECT_EQ(woken, 1);
}

TEST(Outbox, ATakerWaitsForWhatItNeeds) {
  Outbox<std::string> box;
  const auto is_long = [](const std::string& text) { return text.size() >= 3; };
  const auto take = [](std::string& text) { return std::exchange(text, {}); };
  box.fill([](std::string& text) { return add(text, "a"); });
  EXPECT_EQ(box.wait(0.001, is_long, take), "a") << "the time is over";
  std::thread filler([&] {
    for (int i = 0; i < 3; ++i) box.fill([](std::string& text) { return add(text, "b"); });
  });
  EXPECT_EQ(box.wait(-1, is_long, take), "bbb");
  filler.join();
}

}  // namespace
}  // namespace syrinx
