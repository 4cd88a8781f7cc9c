#include "server/realtime/context_window.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

JsonIn says(const char* role, int tokens) {
  return {{"role", role}, {"content", std::string(static_cast<size_t>(tokens), 'x')}};
}

/// Returns a window for `room` tokens; each letter x is a token.
ContextWindow window_of(int64_t room, Truncation how = {}) {
  return {.how = std::move(how), .room = room, .tokens = [](const SpeechRequest& request) {
            const std::string& messages = request.writing.chat->messages;
            return Result<int64_t>(std::count(messages.begin(), messages.end(), 'x'));
          }};
}

FittedChat fitted(const JsonIn& messages, const ContextWindow& window) {
  auto out = fitted_chat({{"messages", messages}}, {}, window);
  if (auto* error = std::get_if<ApiError>(&out)) ADD_FAILURE() << error->message;
  return std::get<FittedChat>(std::move(out));
}

JsonIn five() {
  return {says("user", 100), says("assistant", 100), says("user", 100), says("assistant", 100),
          says("user", 100)};
}

TEST(ContextWindow, TheOldestMessagesLeave) {
  EXPECT_EQ(fitted(five(), window_of(500)).left, 0u);
  for (const auto& [room, left] : {std::pair{499, 1}, {400, 1}, {399, 2}, {200, 3}, {100, 4}}) {
    const FittedChat chat = fitted(five(), window_of(room));
    EXPECT_EQ(chat.left, static_cast<size_t>(left)) << room;
    const std::string& kept = chat.call.request.writing.chat->messages;
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 'x'), 500 - 100 * left);
  }
  EXPECT_EQ(fitted(five(), window_of(0)).left, 0u) << "no room is known";
  EXPECT_EQ(fitted(JsonIn::array({says("user", 100)}), window_of(10)).left, 0u)
      << "the model refuses what alone is too long";
  JsonIn many = JsonIn::array();
  for (int i = 0; i < 300; ++i) many.push_back(says(i % 2 == 0 ? "user" : "assistant", 10));
  for (int room = 10; room < 3000; room += 97) {
    EXPECT_EQ(fitted(many, window_of(room)).left, static_cast<size_t>(300 - room / 10)) << room;
  }
}

TEST(ContextWindow, InstructionsStayAndCallsLeaveWhole) {
  JsonIn messages = five();
  messages.insert(messages.begin(), says("system", 50));
  ContextWindow window = window_of(350);
  window.instructions = 1;
  EXPECT_EQ(fitted(messages, window).left, 2u);
  EXPECT_NE(fitted(messages, window).call.request.writing.chat->messages.find("system"),
            std::string::npos);
  JsonIn call = says("assistant", 100);
  call["tool_calls"] = JsonIn::parse(R"([{"id": "c", "function": {"name": "f"}}])");
  JsonIn gave = says("tool", 10);
  gave["tool_call_id"] = "c";
  const JsonIn called = {says("user", 100), call, gave, gave, says("user", 100)};
  EXPECT_EQ(fitted(called, window_of(300)).left, 1u);
  EXPECT_EQ(fitted(called, window_of(150)).left, 4u) << "what tools gave goes with their calls";
  const JsonIn given = {says("user", 100), call, gave, gave};
  EXPECT_EQ(fitted(given, window_of(50)).left, 1u) << "a result without its call is left out";
  EXPECT_EQ(fitted({call, gave}, window_of(50)).left, 0u);
  // A user spoke between the call and its result.
  const JsonIn spoken = {says("user", 100), call, says("user", 10), gave, says("user", 100)};
  EXPECT_EQ(fitted(spoken, window_of(300)).left, 1u);
  EXPECT_EQ(fitted(spoken, window_of(215)).left, 4u);
  const JsonIn hurried = {says("user", 100), call, says("user", 10), gave};
  EXPECT_EQ(fitted(hurried, window_of(50)).left, 1u);
  // A call without an id has no result.
  JsonIn nameless = says("assistant", 100);
  nameless["tool_calls"] = JsonIn::parse(R"([{"id": "", "function": {"name": "f"}}])");
  EXPECT_EQ(fitted({nameless, says("user", 100), says("assistant", 100), says("user", 100)},
                   window_of(100))
                .left,
            3u);
}

TEST(ContextWindow, MoreMayLeaveThanMust) {
  EXPECT_EQ(fitted(five(), window_of(499, {.keep = 0.5})).left, 3u);
  EXPECT_EQ(fitted(five(), window_of(500, {.keep = 0.5})).left, 0u) << "it fits";
  EXPECT_EQ(fitted(five(), window_of(499, {.keep = 0})).left, 4u) << "the last message stays";
  // `most` bounds the tokens after the instructions.
  JsonIn messages = five();
  messages.insert(messages.begin(), says("system", 50));
  ContextWindow window = window_of(10000, {.keep = 1, .most = 300});
  window.instructions = 1;
  EXPECT_EQ(fitted(messages, window).left, 2u);
}

TEST(ContextWindow, WhatATemplateAddsCountsToo) {
  ContextWindow window = window_of(1000);
  window.tokens = [letters = window.tokens](const SpeechRequest& request) {
    return Result<int64_t>(letters(request).value() + 501);
  };
  EXPECT_EQ(fitted(five(), window).left, 1u);
}

TEST(ContextWindow, FewLooksAreTaken) {
  JsonIn many = JsonIn::array();
  for (int i = 0; i < 300; ++i) many.push_back(says(i % 2 == 0 ? "user" : "assistant", 10));
  for (const auto& [left, most] : {std::pair{1, 2}, {2, 3}, {20, 12}, {299, 19}}) {
    ContextWindow window = window_of(3000 - 10 * left);
    int looks = 0;
    window.tokens = [&, letters = window.tokens](const SpeechRequest& request) {
      ++looks;
      return letters(request);
    };
    EXPECT_EQ(fitted(many, window).left, static_cast<size_t>(left));
    EXPECT_LE(looks, most) << left;
  }
}

TEST(ContextWindow, NothingLeavesWhereThatIsDisabled) {
  EXPECT_EQ(fitted(five(), window_of(500, {.disabled = true})).left, 0u);
  const auto refused = fitted_chat({{"messages", five()}}, {}, window_of(499, {.disabled = true}));
  ASSERT_TRUE(std::holds_alternative<ApiError>(refused));
  EXPECT_EQ(std::get<ApiError>(refused).code, "context_length_exceeded");
}

TEST(ContextWindow, AnAnswerHasRoom) {
  EXPECT_EQ(ContextWindow::room_of(0, 100), 0);
  EXPECT_EQ(ContextWindow::room_of(800, 0), 700);
  EXPECT_EQ(ContextWindow::room_of(800, 300), 500);
  EXPECT_EQ(ContextWindow::room_of(800, 3000), 400) << "a bound that says little takes not all";
  EXPECT_EQ(ContextWindow::room_of(1, 3000), 1);
}

}  // namespace
}  // namespace syrinx
