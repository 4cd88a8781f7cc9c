// Compares ids and texts with those of the `tokenizers` library: tests/parity/bpe/make_golden.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "io/file.h"
#include "text/tokens/tokenizer.h"

namespace syrinx {
namespace {

/// Returns the path of stored expected results, or of a vocabulary outside the repository
/// (make_golden.py --tiktoken).
std::string golden_path(const std::string& name) {
  const char* others = std::getenv("SYRINX_BPE_GOLDENS");
  return (others ? others : SYRINX_BINARY_DIR "/parity/bpe/") + name;
}

const nlohmann::json& golden() {
  static const auto data = nlohmann::json::parse(read_file(golden_path("golden.json"), 64 << 20));
  return data;
}

/// A variant of a tokenizer: its name in the expected results, and its file or directory.
struct Variant {
  std::string name, file;
};

class TokenizerParity : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (!golden()["variants"].contains(GetParam().name)) GTEST_SKIP() << "not among these goldens";
  }
  Tokenizer tokenizer() const {
    const auto& file = GetParam().file;
    return file.ends_with(".json") ? Tokenizer::from_json(golden_path(file))
                                   : Tokenizer::load(golden_path(file));
  }
  const nlohmann::json& expected() const { return golden()["variants"][GetParam().name]; }
  /// Returns the value for string `i` in a sparse map of the expected results; `same` if missing.
  template <typename T>
  T expected(const char* map, size_t i, const T& same) const {
    const auto& entries = expected()[map];
    const auto found = entries.find(std::to_string(i));
    return found == entries.end() ? same : found->template get<T>();
  }
  const std::vector<std::string> strings_ = golden()["strings"].get<std::vector<std::string>>();
};

TEST_P(TokenizerParity, EncodesAlike) {
  const Tokenizer tokenizer = this->tokenizer();
  ASSERT_GE(strings_.size(), 200u);
  for (size_t i = 0; i < strings_.size(); ++i) {
    const auto want = expected()["ids"][i].get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer.encode(strings_[i]), want) << i << ": " << shown(strings_[i]);
    EXPECT_EQ(tokenizer.encode(strings_[i], false), expected("plain", i, want))
        << i << ": " << shown(strings_[i]);
  }
}

TEST_P(TokenizerParity, DecodesAlike) {
  const Tokenizer tokenizer = this->tokenizer();
  for (size_t i = 0; i < strings_.size(); ++i) {
    const auto ids = expected()["ids"][i].get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer.decode(ids), expected("text", i, strings_[i])) << i;
    EXPECT_EQ(tokenizer.decode(ids, true), expected("skipped", i, strings_[i])) << i;
  }
}

TEST_P(TokenizerParity, StreamsAlike) {
  const Tokenizer tokenizer = this->tokenizer();
  std::mt19937 random(3);
  for (size_t i = 0; i < strings_.size(); ++i) {
    const std::string& text = strings_[i];
    for (const bool specials : {true, false}) {
      const auto want = tokenizer.encode(text, specials);
      for (const size_t most : {size_t{1}, size_t{3}, size_t{20}}) {
        StreamEncoder stream(tokenizer, specials);
        std::vector<int32_t> got;
        for (size_t at = 0; at < text.size();) {
          const size_t size = 1 + random() % most;
          stream.push(std::string_view(text).substr(at, size), got);
          at += size;
        }
        stream.finish(got);
        EXPECT_EQ(got, want) << i << " by " << most << ": " << shown(text);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TokenizerParity,
    testing::Values(Variant{"qwen", "qwen"}, Variant{"qwen", "qwen.json"},
                    Variant{"llama3", "llama3.json"}, Variant{"gpt2", "gpt2.json"},
                    Variant{"stages", "stages.json"}, Variant{"pieces", "pieces.json"}),
    [](const auto& each) {
      return each.param.name + (each.param.file.ends_with(".json") ? "" : "_published");
    });

TEST(TokenizerTemplate, IsRead) {
  const auto llama3 = Tokenizer::from_json(golden_path("llama3.json"));
  EXPECT_EQ(llama3.prefix(), std::vector<int32_t>{llama3.need_id("<|begin_of_text|>")});
  EXPECT_TRUE(llama3.suffix().empty());
}

TEST(TokenizerStream, GivesIdsEarly) {
  for (const char* file : {"qwen.json", "llama3.json"}) {
    const auto tokenizer = Tokenizer::from_json(golden_path(file));
    StreamEncoder stream(tokenizer);
    EXPECT_TRUE(stream.incremental());
    std::vector<int32_t> ids;
    stream.push("Alice was beginning", ids);
    EXPECT_EQ(tokenizer.decode(ids), "Alice was");
    stream.push(" to get<|im_end|", ids);
    EXPECT_EQ(tokenizer.decode(ids), "Alice was beginning to");
    stream.push(">", ids);
    EXPECT_EQ(tokenizer.decode(ids), "Alice was beginning to");  // the rest may begin "<|im_end|>x"
    stream.push("\n", ids);
    EXPECT_EQ(tokenizer.decode(ids), "Alice was beginning to get<|im_end|>");
    stream.finish(ids);
    EXPECT_EQ(tokenizer.decode(ids), "Alice was beginning to get<|im_end|>\n");
    ids.clear();
    stream.push("once more", ids);
    stream.finish(ids);
    EXPECT_EQ(tokenizer.decode(ids), "once more");
  }
}

}  // namespace
}  // namespace syrinx
