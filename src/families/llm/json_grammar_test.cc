#include "families/llm/json_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "families/llm/token_masks.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::llm {
namespace {

JsonGrammar grammar_of(const std::string& schema) {
  auto out = JsonGrammar::of_schema(jinja::parse_json(schema).take());
  EXPECT_TRUE(out.ok()) << schema << ": " << (out.ok() ? "" : out.error().message);
  return out.ok() ? out.take() : JsonGrammar();
}

std::string schema_fault(const std::string& schema) {
  const auto out = JsonGrammar::of_schema(jinja::parse_json(schema).take());
  return out.ok() ? "" : out.error().message;
}

/// The number of accepted bytes, and whether the text is complete after them.
struct TakenJson {
  size_t bytes = 0;
  bool done = false;
};
TakenJson taken(const JsonGrammar& grammar, const std::string& text, int closers = 0) {
  JsonWriting writing(grammar, closers);
  for (size_t i = 0; i < text.size(); ++i)
    if (!writing.push(static_cast<unsigned char>(text[i]))) return {i, false};
  return {text.size(), writing.done()};
}

TEST(JsonGrammar, TakesAnyObjectAndNothingElse) {
  const JsonGrammar any;
  for (const std::string text :
       {R"({})", R"( { "a" : [ 1 , -0.5e+3, true, null, "x\n\u00e4é😀", {} ] , "b":{"c":[]}})",
        R"({"a": 10, "b": 0, "c": 1E5, "d": "\\\"\/"})"}) {
    EXPECT_TRUE(taken(any, text).done) << text;
    EXPECT_TRUE(jinja::parse_json(text).ok()) << text;
  }
  for (const std::string text : {"[1]",
                                 "1",
                                 "\"a\"",
                                 "{a",
                                 "{\"a\" 1",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{,",
                                 "{\"a\":01",
                                 "{\"a\":1.}",
                                 "{\"a\":-}",
                                 "{\"a\":tru}",
                                 "{\"a\":\"\n",
                                 "{\"a\":\"\\x",
                                 "{\"a\":\"\xff",
                                 "{\"a\":\"\xc3\"",
                                 "{\"a\":\"\\ud83d",
                                 "{\"a\":[1,]",
                                 "{\"a\":[1}",
                                 "{}x",
                                 "{\"a\":+1"})
    EXPECT_LT(taken(any, text).bytes, text.size()) << text;
  EXPECT_TRUE(taken(any, R"({"a": 1} })", 1).done);
  EXPECT_FALSE(taken(any, R"({"a": 1})", 1).done);
}

TEST(JsonGrammar, BoundsWhatAModelCouldWriteForEver) {
  const JsonGrammar any;
  EXPECT_LT(taken(any, "{" + std::string(200, ' ')).bytes, 200u);
  EXPECT_LT(taken(any, "{\"a\":" + std::string(50, '1')).bytes, 50u);
  EXPECT_LT(taken(any, "{\"a\":" + std::string(100, '[')).bytes, 100u);
}

TEST(JsonGrammar, FollowsASchema) {
  const JsonGrammar grammar = grammar_of(R"({"type": "object", "title": "Person",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
      "kind": {"enum": ["a", "ab", 1, 12, null]}, "tags": {"type": "array",
      "items": {"$ref": "#/$defs/Tag"}, "minItems": 1, "maxItems": 2},
      "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
    "required": ["name"], "additionalProperties": false,
    "$defs": {"Tag": {"type": "object", "properties": {"t": {"const": "x"}}, "required": ["t"]}}})");
  for (const std::string text :
       {R"({"name": "Ann"})", R"({"age": -3, "name": ""})", R"({"name":"n","kind":"ab"})",
        R"({"name":"n","kind":12,"age":0})", R"({"name":"n","kind":1,"age":0})",
        R"({"name":"n","tags":[{"t":"x"},{"t":"x"}]})", R"({"name":"n","maybe":1.5})",
        R"({"maybe":null,"name":"n"})"})
    EXPECT_TRUE(taken(grammar, text).done) << text;
  for (const std::string text :
       {R"({})", R"({"age":1})", R"({"name":1)", R"({"other")", R"({"name":"n","name")",
        R"({"name":"n","age":1.)", R"({"name":"n","kind":"b)", R"({"name":"n","kind":13)",
        R"({"name":"n","tags":[])", R"({"name":"n","tags":[{"t":"x"},{"t":"x"},)",
        R"({"name":"n","tags":[{})", R"({"name":"n","maybe":")"})
    EXPECT_LT(taken(grammar, text).bytes, text.size()) << text;
}

TEST(JsonGrammar, RefusesASchemaByTheNameOfTheKeyword) {
  const auto faulty = [](const std::string& property) {
    return schema_fault(R"({"type": "object", "properties": {"a": )" + property + "}}");
  };
  for (const std::string name : {"pattern", "minimum", "if", "patternProperties", "uniqueItems"})
    EXPECT_NE(faulty("{\"" + name + "\": 1}").find("'" + name + "'"), std::string::npos) << name;
  EXPECT_NE(faulty(R"({"type": "text"})").find("'text'"), std::string::npos);
  EXPECT_NE(faulty(R"({"anyOf": [{"type": "object"}, {"type": "object"}]})").find("'anyOf'"),
            std::string::npos);
  EXPECT_NE(faulty(R"({"$ref": "#"})").find("$ref"), std::string::npos);
  EXPECT_NE(faulty(R"({"$ref": "#/properties/a"})").find("itself"), std::string::npos);
  EXPECT_NE(schema_fault(R"({"type": "string"})").find("root"), std::string::npos);
  EXPECT_EQ(faulty(R"({"type": "string", "format": "date", "default": "x"})"), "");
}

TEST(TokenMasks, AllowWhatTheGrammarTakes) {
  const std::vector<std::string> words{"{\"",  "{}",      "{} ", "{}x",      "\"a",
                                       "a\":", "a\": 1}", "}\n", "\": true", "é"};
  const Tokenizer tokenizer = byte_tokenizer(words);
  const TokenMasks masks(tokenizer, tokenizer.size());
  const JsonGrammar any;
  for (const std::string before :
       {"", "{", "{\"", "{\"a", "{\"a\":", "{\"a\": 1", "{\"a\":\"\xc3"}) {
    JsonWriting writing(any);
    for (const char c : before) ASSERT_TRUE(writing.push(static_cast<unsigned char>(c)));
    const std::vector<uint64_t> mask = masks.behind(writing);
    int allowed = 0;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      const std::string bytes = tokenizer.bytes(id);
      JsonWriting next = writing;
      bool takes = !bytes.empty() && !tokenizer.is_special(id);
      for (const char c : bytes) takes = takes && next.push(static_cast<unsigned char>(c));
      EXPECT_EQ((mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0, takes)
          << before << " then " << bytes;
      allowed += takes ? 1 : 0;
    }
    EXPECT_GT(allowed, 0) << before;
  }
}

}  // namespace
}  // namespace syrinx::llm
