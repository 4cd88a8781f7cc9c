#include "bench/workload.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"

namespace syrinx {
namespace {

/// Returns the message of parse_trace() for an invalid file.
std::string fault(const std::string& file) {
  try {
    parse_trace(file, "t.jsonl");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "(taken)";
}

TEST(Trace, IsReadAndSorted) {
  const auto trace = parse_trace(
      "{\"time\": 2.5, \"text\": \"second\", \"voice\": \"v\", \"seed\": 7, \"speed\": 1.0}\r\n"
      "\n   \n"
      "{\"time\": 0, \"input\": \"first\", \"language\": \"en\", \"instructions\": \"low\"}",
      "t.jsonl");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace[0].utterance.text, "first");
  EXPECT_EQ(trace[0].utterance.language, "en");
  EXPECT_EQ(trace[0].utterance.instructions, "low");
  EXPECT_EQ(trace[0].utterance.fields, "");
  EXPECT_FALSE(trace[0].utterance.seed);
  EXPECT_DOUBLE_EQ(trace[1].at_s, 2.5);
  EXPECT_EQ(trace[1].utterance.voice, "v");
  EXPECT_EQ(trace[1].utterance.seed, 7u);
  EXPECT_EQ(trace[1].utterance.fields, "{\"speed\":1.0}");
}

TEST(Trace, KeepsTheOrderOfEqualTimes) {
  const auto trace =
      parse_trace("{\"time\":1,\"text\":\"a\"}\n{\"time\":1,\"text\":\"b\"}\n", "t.jsonl");
  EXPECT_EQ(trace[0].utterance.text, "a");
  EXPECT_EQ(trace[1].utterance.text, "b");
}

TEST(Trace, NamesFileLineAndFault) {
  const struct {
    std::string file, want;
  } cases[] = {
      {"", "expected at least one line"},
      {"\n\n", "expected at least one line"},
      {"{\"time\":0,\"text\":\"a\"}\n{\"time\":0", "t.jsonl line 2"},
      {"[1, 2]", "line 1"},
      {"{\"text\":\"a\"}", "time"},
      {"{\"time\":-1,\"text\":\"a\"}", "time"},
      {"{\"time\":1e300,\"text\":\"a\"}", "time"},
      {"{\"time\":1e999,\"text\":\"a\"}", "line 1"},
      {"{\"time\":\"0\",\"text\":\"a\"}", "time"},
      {"{\"time\":0}", "input"},
      {"{\"time\":0,\"text\":\"\"}", "is empty"},
      {"{\"time\":0,\"text\":[\"a\"]}", "text"},
      {"{\"time\":0,\"text\":\"a\",\"voice\":{\"id\":1}}", "voice"},
      {"{\"time\":0,\"text\":\"a\",\"seed\":-3}", "seed"},
      {"{\"time\":0,\"text\":\"a\",\"text\":\"b\"}", "line 1"},
      {"{\"time\":0,\"text\":\"a\",\"x\":" + std::string(100'000, '[') + "}", "line 1"},
      {"{\"time\":0,\"text\":\"" + std::string(kMaxTextBytes, 'a') + "\"}", "the limit is"},
      {std::string("{\"time\":0,\"text\":\"a\0\"}", 21), "line 1"},
      {std::string(1 << 16, '\xff'), "line 1"},
  };
  for (const auto& c : cases) {
    const std::string got = fault(c.file);
    EXPECT_NE(got.find(c.want), std::string::npos) << c.file.substr(0, 80) << "\n" << got;
    EXPECT_NE(got.find("t.jsonl"), std::string::npos) << got;
    EXPECT_LT(got.size(), 1000u);
  }
}

TEST(Texts, AreLines) {
  EXPECT_EQ(parse_texts("one\r\n\n two \nthree", "t.txt"),
            (std::vector<std::string>{"one", " two ", "three"}));
  EXPECT_THROW(parse_texts("\n \n", "t.txt"), LoadError);
  EXPECT_THROW(parse_texts(std::string(kMaxWorkloadBytes + 1, 'a'), "t.txt"), LoadError);
}

TEST(Texts, BuiltInOnesVary) {
  const auto texts = built_in_texts();
  size_t shortest = texts[0].size(), longest = 0;
  for (const std::string& text : texts) {
    shortest = std::min(shortest, text.size());
    longest = std::max(longest, text.size());
  }
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
  EXPECT_LT(shortest, 10u);
  EXPECT_GT(longest, 200u);
}

}  // namespace
}  // namespace syrinx
