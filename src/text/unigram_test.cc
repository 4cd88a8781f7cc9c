// Tests unigram vocabularies: expected results of sentencepiece and of the library `tokenizers`
// (tests/parity/pocket_tts), small vocabularies made by hand, and faulty files.
#include "text/tokens/unigram.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

class UnigramGoldens : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const std::string& name) const {
    return SYRINX_BINARY_DIR "/parity/pocket_tts/golden/" + (GetParam() + ("/" + name));
  }
};

TEST_P(UnigramGoldens, IdsAndTextsAreTheirs) {
  const Unigram tokenizer = Unigram::load(path("checkpoint"));
  const Json golden = Json::parse(read_file(path("cases.json"), 1 << 20));
  EXPECT_GT(golden["texts"].size(), 15u);
  for (const Json& text : golden["texts"]) {
    const Ids ids = text["ids"];
    EXPECT_EQ(tokenizer.encode(text["text"].get<std::string>()), ids) << text["text"];
    EXPECT_EQ(tokenizer.decode(ids), text["decoded"].get<std::string>()) << text["text"];
  }
}

TEST_P(UnigramGoldens, AnyBytesHaveIds) {
  const Unigram tokenizer = Unigram::load(path("checkpoint"));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const int32_t id : tokenizer.encode(all)) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, tokenizer.size());
  }
  EXPECT_EQ(tokenizer.encode(""), Ids());
  EXPECT_EQ(tokenizer.decode(Ids{-1, tokenizer.size()}), "");
}

INSTANTIATE_TEST_SUITE_P(Files, UnigramGoldens, testing::Values("distilled", "small"));

/// Returns a tokenizer.json that has no map of character replacements.
Json small_vocabulary() {
  return Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true}],
    "normalizer": {"type": "Strip", "strip_left": false, "strip_right": true},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["\u2581", -3], ["a", -2],
      ["b", -2.5], ["ab", -4.6], ["\u2581a", -5], ["abb", -7.5]]}})");
}

/// Returns the message of the LoadError that `load` throws; "" if it throws no LoadError.
std::string unigram_fault(const std::function<void()>& load) {
  try {
    load();
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

class UnigramFiles : public testing::Test {
 protected:
  Unigram load(const Json& json) const {
    dir_.write("tokenizer.json", json.dump());
    return Unigram::load(dir_.path());
  }
  /// Returns the error of a file in which `key` is changed.
  std::string fault(const char* key, const Json& value) const {
    Json json = small_vocabulary();
    json[Json::json_pointer(key)] = value;
    return unigram_fault([&] { load(json); });
  }
  TestDir dir_;
};

TEST_F(UnigramFiles, TheLikeliestPiecesAreTaken) {
  const Unigram tokenizer = load(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("b"), (Ids{1, 3}));
  EXPECT_EQ(tokenizer.encode("a"), (Ids{5})) << "of two that are as likely the longer one";
  EXPECT_EQ(tokenizer.encode("bab"), (Ids{1, 3, 2, 3})) << "-4.5 and not -4.6";
  EXPECT_EQ(tokenizer.encode("babb"), (Ids{1, 3, 2, 3, 3})) << "-7 and not -7.5";
  EXPECT_EQ(tokenizer.encode(" b"), (Ids{1, 3})) << "a blank that begins a text is its mark";
  EXPECT_EQ(tokenizer.encode("a  b "), (Ids{5, 1, 1, 3}));
  EXPECT_EQ(tokenizer.encode("xyb"), (Ids{1, 0, 3})) << "unknown letters have one id";
  EXPECT_EQ(tokenizer.decode(Ids{5, 3, 1, 2}), "ab a");
  EXPECT_EQ(tokenizer.bytes(5), " a");
  EXPECT_EQ(tokenizer.bytes(0), "");
  EXPECT_EQ(tokenizer.bytes(9), "");
}

TEST_F(UnigramFiles, PartsOfFilesThatAreNotSupportedAreNamed) {
  EXPECT_EQ(fault("/model/byte_fallback", false), "");
  const std::tuple<const char*, Json, const char*> wrong[] = {
      {"/model/type", "BPE", "type: expected Unigram"},
      {"/model/unk_id", 9, "no piece is of the type unknown"},
      {"/model/vocab", 3, "vocab: expected a list"},
      {"/model/vocab/2", {"a"}, "pairs"},
      {"/model/vocab/2/0", "b", "piece 3 is empty or given twice"},
      {"/model/vocab/2/0", "", "piece 2"},
      {"/model/byte_fallback", true, "bytes have no pieces"},
      {"/added_tokens/0/id", 7, "is not in the vocabulary"},
      {"/normalizer/type", "NFKC", "NFKC"},
      {"/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "!"}}, "base64"},
      {"/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}}, "characters"},
      {"/pre_tokenizer/type", "ByteLevel", "Metaspace"},
      {"/pre_tokenizer/replacement", "_", "Metaspace"}};
  for (const auto& [key, value, named] : wrong) {
    const std::string message = fault(key, value);
    EXPECT_NE(message.find(named), std::string::npos) << key << ": " << message;
    EXPECT_NE(message.find("tokenizer.json"), std::string::npos) << message;
  }
}

/// Returns the bytes of a field of a protocol buffer.
std::string proto_bytes(int id, const std::string& bytes) {
  return std::string(1, static_cast<char>(id << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string proto_number(int id, int value) {
  const int key = id << 3;
  std::string out(1, static_cast<char>(key < 128 ? key : (key & 127) | 128));
  if (key >= 128) out += static_cast<char>(key >> 7);
  return out + static_cast<char>(value);
}

TEST_F(UnigramFiles, ModelsOfOtherKindsAreRefused) {
  const auto fault_with = [&](const std::string& more) {
    const std::string unknown = proto_bytes(1, proto_bytes(1, "<unk>") + proto_number(3, 2));
    dir_.write("tokenizer.model", unknown + proto_bytes(1, proto_bytes(1, "a")) + more);
    return unigram_fault([&] { Unigram::load(dir_.path()); });
  };
  EXPECT_EQ(fault_with(""), "");
  EXPECT_EQ(Unigram::load(dir_.path()).encode("a a"), (Ids{0, 1, 0, 1}));
  const std::pair<std::string, const char*> wrong[] = {
      {proto_bytes(2, proto_number(3, 2)), "unigram"},
      {proto_bytes(2, proto_number(24, 1)), "blanks after words"},
      {proto_bytes(2, proto_number(35, 1)), "bytes have no pieces"},
      {proto_bytes(3, proto_number(5, 0)), "escaped spaces"},
      {proto_bytes(3, proto_bytes(2, "abc")), "map of characters"},
      {proto_bytes(1, proto_bytes(1, "?") + proto_number(3, 2)),
       "two pieces are of the type unknown"},
      {proto_bytes(1, proto_bytes(1, "<0xZZ>") + proto_number(3, 6)), "expected a byte"},
      {proto_bytes(1, std::string("\x0a\x7f", 2)), "sentencepiece"}};
  for (const auto& [more, named] : wrong) {
    const std::string message = fault_with(more);
    EXPECT_NE(message.find(named), std::string::npos) << named << ": " << message;
  }
}

TEST(Unigram, CharactersAreThoseOfAscii) {
  const Unigram tokenizer = Unigram::characters();
  EXPECT_EQ(tokenizer.size(), 96);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(" Hello,  you ~")), "Hello, you ~");
}

}  // namespace
}  // namespace syrinx
