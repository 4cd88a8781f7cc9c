// The description of the API and the table of docs/guide/http.md, compared with model/options.h.
#include "server/http/openapi.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/check.h"
#include "model/options.h"

namespace syrinx {
namespace {

nlohmann::json properties(const char* schema) {
  return nlohmann::json::parse(openapi_document())["components"]["schemas"][schema]["properties"];
}

TEST(OpenApi, BodiesHaveTheOptionsOfTheTable) {
  const std::pair<unsigned, const char*> bodies[] = {
      {kSpeechBody, "Speech"}, {kChatBody, "Chat"}, {kCompletionBody, "Completion"}};
  for (const auto& [body, schema] : bodies) {
    const nlohmann::json fields = properties(schema);
    for (const RequestOption& option : request_options()) {
      EXPECT_EQ(fields.contains(std::string(option.name)), (option.bodies & body) != 0)
          << schema << ' ' << option.name;
    }
  }
}

TEST(OpenApi, OptionsAreDescribedByTheirTypeAndBounds) {
  const nlohmann::json speech = properties("Speech");
  EXPECT_EQ(speech["exaggeration"], nlohmann::json::parse(R"({"type": ["number", "null"],
      "minimum": 0, "maximum": 2, "description": "Degree of emotion, if the model supports it."})"));
  EXPECT_EQ(speech["flow"]["enum"], nlohmann::json::parse(R"(["auto", "causal", "full", null])"));
  EXPECT_EQ(speech["speed"]["minimum"], 0.25);
  EXPECT_EQ(speech["top_k"]["type"][0], "integer");
  EXPECT_EQ(speech["top_k"]["minimum"], -1);
  EXPECT_EQ(speech["spell_numbers"]["type"][0], "boolean");
  EXPECT_EQ(speech["seed"]["minimum"], -1);
  EXPECT_EQ(speech["seed"]["maximum"], 18446744073709551615u);
  EXPECT_EQ(properties("Chat")["seed"], speech["seed"]);
  EXPECT_FALSE(speech["voice"].contains("type")) << "openapi.json describes it better";
  EXPECT_EQ(properties("Chat")["max_tokens"]["maximum"], 2147483647);
}

std::string type_of(const RequestOption& option) {
  if (std::holds_alternative<OptionMember<FlowMode>>(option.field)) {
    std::string out;
    for (const std::string_view name : flow_names()) {
      out += concat(out.empty() ? "`" : ", `", name, "`");
    }
    return out;
  }
  if (std::holds_alternative<OptionMember<std::optional<bool>>>(option.field)) return "boolean";
  const bool whole = std::holds_alternative<OptionMember<int>>(option.field) ||
                     std::holds_alternative<OptionMember<std::optional<int>>>(option.field);
  // Whole numbers have no exponent, also 16777216.
  const double high = option.bounds.high;
  const bool integral = high == std::floor(high);
  return concat(whole ? "integer, " : "number, ", option.bounds.low, "-",
                integral ? concat(static_cast<int64_t>(high)) : concat(high),
                option.minus_one_is_off ? ", or -1 (off)" : "");
}

/// Prints the correct lines of the guide, to be copied where they differ.
TEST(OpenApi, TheGuideHasTheRowsOfTheTable) {
  std::ifstream file(SYRINX_SOURCE_DIR "/docs/guide/http.md");
  const std::string guide{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_FALSE(guide.empty());
  for (const RequestOption& option : request_options()) {
    if (option.bodies == 0) continue;
    const bool says_more =
        option.own_reader || std::holds_alternative<OptionMember<uint64_t>>(option.field);
    const bool spoken = (option.bodies & kSpeechBody) != 0;
    const std::string row = says_more || !spoken
                                ? concat("`", option.name, "`")
                                : concat("\n| `", option.name, "` | ", type_of(option), " | ",
                                         option_sentence(option), " |\n");
    EXPECT_NE(guide.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace syrinx
