// Tests faults of tokenizer files, hostile files and hostile texts. tokenizer_parity_test.cc tests
// the ids.
#include "text/tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/error.h"
#include "io/file.h"
#include "io/test_dir.h"
#include "text/tokens/byte_tokenizer.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

const std::string kGolden = SYRINX_BINARY_DIR "/parity/bpe/";

/// A small valid tokenizer.json. `replace` puts `with` in place of `what`.
constexpr const char* kSmall = R"({"added_tokens":[{"id":5,"content":"<s>","single_word":false,
"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"NFC"},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{L}+"},
"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,
"trim_offsets":true,"use_regex":false}]},"post_processor":null,"decoder":{"type":"ByteLevel"},
"model":{"type":"BPE","dropout":null,"unk_token":null,"vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"aba":4},
"merges":["a b",["ab","a"]]}})";

std::string fault_of(const std::string& text) {
  const TestDir dir;
  try {
    Tokenizer::from_json(dir.write("tokenizer.json", text));
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

void expect_fault(const std::string& what, const std::string& with, const std::string& part) {
  std::string text = kSmall;
  const size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << what;
  const std::string fault = fault_of(text.replace(at, what.size(), with));
  EXPECT_NE(fault.find(part), std::string::npos) << with << " gives: " << fault;
}

TEST(Tokenizer, ReadsTheSmallOne) {
  const TestDir dir;
  const auto tokenizer = Tokenizer::from_json(dir.write("tokenizer.json", kSmall));
  EXPECT_EQ(tokenizer.encode("ababa<s> b?"), (std::vector<int32_t>{2, 4, 5, 3, 1}));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{4, 5, 99, -1, 3}), "aba<s> ");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{4, 5}, true), "aba");
  EXPECT_EQ(tokenizer.size(), 6);
  EXPECT_EQ(tokenizer.id("ab"), 2);
  EXPECT_EQ(tokenizer.id("nope"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(5));
  EXPECT_FALSE(tokenizer.is_special(2));
  EXPECT_THROW(tokenizer.need_id("nope"), LoadError);
}

TEST(Tokenizer, SectionsStandForTheirIds) {
  const TestDir dir;
  const auto tokenizer = Tokenizer::from_json(dir.write("tokenizer.json", kSmall));
  const Section own[] = {{7, 2, 5}, {8, 3, 4}, {-1, 6, 6}};  // the second begins within the first
  EXPECT_EQ(tokenizer.encode_around("ab<s>aba", own), (std::vector<int32_t>{2, 7, 0, 1, 0}));
  EXPECT_EQ(tokenizer.encode_around("aba", {}), std::vector<int32_t>{4});
}

TEST(Tokenizer, CharactersWithBytesForTheRest) {
  const std::string small = R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend",
"prepend":"_"},{"type":"Replace","pattern":{"String":" "},"content":"_"}]},"pre_tokenizer":null,
"model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,"unk_token":"?","vocab":{"?":0,"_":1,
"a":2,"_a":3,"<0xC3>":4,"<0xA9>":5},"merges":["_ a"]}})";
  const TestDir dir;
  const auto tokenizer = Tokenizer::from_json(dir.write("tokenizer.json", small));
  EXPECT_EQ(tokenizer.encode("a aa"), (std::vector<int32_t>{3, 3, 2}));
  EXPECT_EQ(tokenizer.encode("\u00e9"), (std::vector<int32_t>{1, 4, 5})) << "its bytes";
  EXPECT_EQ(tokenizer.encode("\u00e8\u00e8a"), (std::vector<int32_t>{1, 0, 2})) << "one unknown";
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.id("<0xC3>"), std::nullopt) << "no text becomes a byte";
  EXPECT_EQ(tokenizer.id("_a"), 3);
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{4, 2, 4, 5}), "\ufffda\u00e9");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{4, 4, 2}), "\ufffd\ufffda") << "one a byte";
  std::string both = small;
  both.replace(both.find("null"), 4, R"({"type":"ByteLevel"})");
  EXPECT_NE(fault_of(both).find("pre_tokenizer: ByteLevel and model.byte_fallback"),
            std::string::npos);
  std::string empty = small;
  empty.replace(empty.find("\"String\":\" \""), 12, R"("String":"")");
  EXPECT_NE(fault_of(empty).find("normalizer.pattern.String: is empty"), std::string::npos);
}

TEST(Tokenizer, ADecoderSaysWhetherABlankIsDropped) {
  const std::string small = R"({"normalizer":null,"pre_tokenizer":null,"decoder":DECODER,
"model":{"type":"BPE","byte_fallback":true,"unk_token":"?","vocab":{"?":0,"\u2581":1,"a":2,
"\u2581a":3,"<0xE2>":4,"<0x82>":5},"merges":["\u2581 a"]}})";
  const auto with = [&](const std::string& decoder) {
    std::string json = small;
    return json.replace(json.find("DECODER"), 7, decoder);
  };
  const std::string plain = R"({"type":"Replace","pattern":{"String":"_"},"content":" "},
{"type":"ByteFallback"},{"type":"Fuse"})";
  const auto strip = [&](const char* start) {
    return R"({"type":"Sequence","decoders":[)" + plain +
           R"(,{"type":"Strip","content":" ","stop":0,"start":)" + start + "}]}";
  };
  const std::string gemma = R"({"type":"Sequence","decoders":[)" + plain + "]}";
  const std::vector<int32_t> ids{3, 3, 4, 5, 2};
  for (const auto& [decoder, text] : {std::pair{strip("1"), "a a\ufffd\ufffda"},
                                      {strip("0"), " a a\ufffd\ufffda"},
                                      {gemma, " a a\ufffd\ufffda"},
                                      {std::string("null"), "a a\ufffd\ufffda"}}) {
    const TestDir dir;
    const auto tokenizer = Tokenizer::from_json(dir.write("tokenizer.json", with(decoder)));
    EXPECT_TRUE(tokenizer.spells_bytes());
    EXPECT_EQ(tokenizer.decode(ids), text) << decoder;
  }
  EXPECT_NE(fault_of(with(strip("2"))).find("decoder.Strip"), std::string::npos);
  EXPECT_NE(fault_of(with(R"({"type":"WordPiece"})")).find("decoder.type"), std::string::npos);
}

TEST(Tokenizer, FaultsNameTheEntry) {
  EXPECT_EQ(fault_of(kSmall), "");
  expect_fault("\"BPE\"", "\"WordPiece\"", "tokenizer.json: model.type: expected BPE, got WordP");
  expect_fault("\"NFC\"", "\"Lowercase\"", "normalizer.type: expected one of NFC");
  expect_fault("\"NFC\"", "7", "normalizer.type: expected a string");
  expect_fault("\"Split\"", "\"Metaspace\"", "pre_tokenizer.type: expected one of");
  expect_fault("\"ByteLevel\",\"add", "\"Digits\",\"add", "expected a byte-level model");
  expect_fault("\"Isolated\"", "\"Torn\"", "pre_tokenizer.behavior: is unknown: Torn");
  expect_fault("\\\\p{L}+", "(", "pre_tokenizer.pattern: pattern (");
  expect_fault("{\"type\":\"ByteLevel\"},", "{\"type\":\"Fuse\"},", "decoder.type");
  expect_fault("\"a b\"", "\"a c\"", "model.merges[0]: a c: expected both and their concatenation");
  expect_fault("\"a b\"", "\"a b a\"", "expected two tokens, got a b a");
  expect_fault("[\"ab\",\"a\"]", "7", "model.merges[1]: expected two tokens");
  expect_fault("\"b\":1", "\"b\":0", "vocab b: id 0 is given twice");
  expect_fault("\"b\":1", "\"a\":1", "vocab a: is given twice");
  expect_fault("\"b\":1", "\"b\":4000000", "vocab b: expected an id of at most");
  expect_fault("\"b\":1", "\"b\":-1", "vocab b: expected an id");
  expect_fault("\"id\":5", "\"id\":99999999", "added_tokens.id");
  expect_fault("\"dropout\":null", "\"dropout\":0.1", "model.dropout: is not supported");
  expect_fault("\"dropout\":null", "\"byte_fallback\":true", "model.byte_fallback");
  expect_fault("\"unk_token\":null", "\"unk_token\":\"x\"", "model.unk_token: x is not");
  expect_fault("\"post_processor\":null", "\"post_processor\":{\"type\":\"Bert\"}",
               "post_processor.type");
  expect_fault("\"vocab\"", "\"vocabulary\"", "model.vocab: is missing");
}

TEST(Tokenizer, PublishedLayoutFaults) {
  const TestDir dir;
  EXPECT_THROW(Tokenizer::load(dir.path()), LoadError);
  dir.write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  dir.write("merges.txt", "#version: 0.2\r\na b\r\n\r\n");
  EXPECT_EQ(Tokenizer::load(dir.path()).encode("abb"), (std::vector<int32_t>{2, 1}));
  const auto fault = [&] {
    try {
      Tokenizer::load(dir.path());
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  dir.write("tokenizer_config.json", R"({"added_tokens_decoder":{"x":{"content":"<s>"}}})");
  EXPECT_NE(fault().find("added_tokens_decoder.x: expected an id"), std::string::npos) << fault();
  dir.write("tokenizer_config.json", R"({"added_tokens_decoder":{"7":{"special":true}}})");
  EXPECT_NE(fault().find("added_tokens_decoder.7.content: is missing"), std::string::npos);
  dir.write("tokenizer_config.json", R"({"tokenizer_class":"LlamaTokenizer"})");
  EXPECT_NE(fault().find("tokenizer_class: expected"), std::string::npos);
  dir.write("tokenizer_config.json", "{}");
  dir.write("merges.txt", "a b\nb a\n");
  EXPECT_NE(fault().find("merges.txt: line 2: b a: expected both"), std::string::npos) << fault();
}

TEST(Tokenizer, TakesExtraTokens) {
  const auto tokenizer = Tokenizer::load(
      kGolden + "qwen", {{.content = "[breath]"}, {.content = "<|im_end|>"}, {.content = "e"}});
  const auto before = Tokenizer::load(kGolden + "qwen");
  EXPECT_EQ(tokenizer.id("[breath]"), before.size());
  EXPECT_EQ(tokenizer.id("<|im_end|>"), before.id("<|im_end|>"));
  EXPECT_EQ(tokenizer.size(), before.size() + 1);
  EXPECT_EQ(tokenizer.encode("[breath]"), std::vector<int32_t>{before.size()});
}

TEST(Tokenizer, AnyBytesAreText) {
  const auto tokenizer = Tokenizer::load(kGolden + "qwen");
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t i = random() % 24; i > 0; --i) text += static_cast<char>(random());
    EXPECT_EQ(tokenizer.encode(text), tokenizer.encode(utf8_repair(text)));
    StreamEncoder stream(tokenizer);
    std::vector<int32_t> ids;
    for (const char c : text) stream.push(std::string_view(&c, 1), ids);
    stream.finish(ids);
    EXPECT_EQ(ids, tokenizer.encode(text));
  }
}

TEST(Tokenizer, LongTextsTakeLinearTime) {
  const auto tokenizer = Tokenizer::load(kGolden + "qwen");
  const auto start = std::chrono::steady_clock::now();
  for (const char* part :
       {"a", "ab", " ", "\n", "the ", "!", "\xcc\x81", "<|im_", "\xe6\x98\x8e"}) {
    std::string text;
    while (text.size() < 400'000) text += part;
    EXPECT_FALSE(tokenizer.encode(text).empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Tokenizer, IsSafeToShare) {
  const auto tokenizer = Tokenizer::load(kGolden + "qwen");
  const std::string text =
      "Alice was beginning to get very <|im_end|> tired, d\xc3\xa9j\xc3\xa0 vu.";
  const auto want = tokenizer.encode(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) wrong[i] += tokenizer.encode(text) != want;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

/// Loads and uses a tokenizer. A LoadError is also a valid result.
void use(const std::function<Tokenizer()>& load) {
  try {
    const Tokenizer tokenizer = load();
    const auto ids = tokenizer.encode("abab <s> \xc3\xa9 12\n");
    tokenizer.decode(ids);
  } catch (const LoadError&) {
  }
}

TEST(TokenizerDamage, JsonIsRefusedOrRead) {
  const TestDir dir;
  for_each_damage(kSmall, 2000, [&](const std::string& text) {
    use([&] { return Tokenizer::from_json(dir.write("tokenizer.json", text)); });
  });
}

TEST(TokenizerDamage, PublishedLayoutIsRefusedOrRead) {
  const TestDir dir;
  const std::string vocab = R"({"a":0,"b":1,"ab":2,"Ġ":3})", merges = "#version: 0.2\na b\n";
  const std::string config =
      R"({"added_tokens_decoder":{"4":{"content":"<s>","special":true}},"add_prefix_space":false})";
  const auto load = [&] { return Tokenizer::load(dir.path()); };
  const auto reset = [&] {
    dir.write("vocab.json", vocab);
    dir.write("merges.txt", merges);
    dir.write("tokenizer_config.json", config);
  };
  for (const auto& [name, valid] : {std::pair{"vocab.json", vocab},
                                    {"merges.txt", merges},
                                    {"tokenizer_config.json", config}}) {
    reset();
    for_each_damage(valid, 400, [&, file = name](const std::string& text) {
      dir.write(file, text);
      use(load);
    });
  }
}

TEST(ByteTokenizer, BytesAndWords) {
  const std::string words[] = {"assistant", "<|end|>"};
  const Tokenizer tokenizer = byte_tokenizer(words);
  EXPECT_EQ(tokenizer.size(), byte_ids(words));
  EXPECT_EQ(tokenizer.encode("az\xc3\xa9"), (std::vector<int32_t>{'a', 'z', 0xc3, 0xa9}));
  EXPECT_EQ(tokenizer.encode("assistant"), std::vector<int32_t>{tokenizer.need_id("assistant")});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("assist<|end|>!")), "assist<|end|>!");
  EXPECT_LT(tokenizer.need_id("<|end|>"), byte_ids(words));
}

}  // namespace
}  // namespace syrinx
