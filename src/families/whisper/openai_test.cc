// Compares Whisper in the formats of its authors' package and of whisper.cpp
// (tests/parity/whisper/make_openai.py) with the published layout of the same networks.
#include "families/whisper/openai.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "families/whisper/ggml.h"
#include "families/whisper/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::whisper {
namespace {

std::string large_dir() { return SYRINX_BINARY_DIR "/parity/whisper/large"; }
std::string openai(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/whisper/openai/" + name;
}

std::string openai_fault_of(const std::string& path) {
  try {
    load_as<Whisper>({path, "whisper", WeightType::kF32});
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

class OpenAiWhisper : public testing::TestWithParam<const char*> {};

TEST_P(OpenAiWhisper, IsTheModelThatWasStored) {
  OpenAiModel model = open_openai(openai(GetParam()));
  const auto want = open_weights(large_dir());
  size_t count = 0;
  for (const std::string& name : want->names()) {
    if (name == "proj_out.weight") continue;  // the same as the embedding table
    const Shape shape = want->shape(name).value();
    ASSERT_EQ(model.weights->shape(name), shape) << name;
    const Tensor a = to_f32(want->take(name, shape)), b = to_f32(model.weights->take(name, shape));
    const bool narrow = std::string_view(GetParam()).find("q8_0") != std::string_view::npos &&
                        name.ends_with("fc2.weight");
    for (int64_t i = 0; i < shape.count(); ++i) {
      if (narrow) {
        EXPECT_NEAR(a.f32()[i], b.f32()[i], 0.02) << name;
      } else {
        ASSERT_EQ(a.f32()[i], b.f32()[i]) << name;
      }
    }
    ++count;
  }
  EXPECT_EQ(model.weights->names().size(), count);
  const Whisper theirs({large_dir(), "whisper", WeightType::kF32});
  const Generation &a = model.generation, &b = theirs.generation();
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.no_timestamps, b.no_timestamps);
  EXPECT_EQ(a.previous, b.previous);
  EXPECT_EQ(a.languages, b.languages);
  EXPECT_EQ(a.transcribe, b.transcribe);
  EXPECT_EQ(a.translate, b.translate);
  EXPECT_EQ(a.suppressed, b.suppressed);
  EXPECT_EQ(a.suppressed_first, b.suppressed_first);
  EXPECT_EQ(a.max_first_timestamp, b.max_first_timestamp);
  EXPECT_EQ(model.config.max_ids, theirs.config().max_ids);
  EXPECT_EQ(model.config.encoder.heads, theirs.config().encoder.heads);
  const Tokenizer tokenizer = Tokenizer::load(large_dir());
  for (const char* text : {"The quick brown fox isn't far; 10:45!", " Während 東京\n", ""})
    EXPECT_EQ(model.tokenizer.encode(text), tokenizer.encode(text)) << text;
  EXPECT_EQ(openai_fault_of(openai(GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Files, OpenAiWhisper,
                         testing::Values("large.pt", "ggml-large.bin", "ggml-large-q8_0.bin"),
                         [](const auto& file) {
                           return file.param[0] == 'l'                       ? "Package"
                                  : std::string_view(file.param).size() > 15 ? "EightBits"
                                                                             : "WhisperCpp";
                         });

TEST(OpenAiFaults, AreNamed) {
  const TestDir dir;
  std::filesystem::copy_file(openai("large.pt"), dir.path("large.pt"));
  expect_fault(openai_fault_of(dir.path("large.pt")),
               "large.pt: has no vocabulary; put it into the same folder: "
               "multilingual.tiktoken");
  std::filesystem::copy_file(large_dir() + "/tokenizer.json", dir.path("tokenizer.json"));
  EXPECT_EQ(openai_fault_of(dir.path("large.pt")), "") << "that of transformers will do";
  const std::string bytes = slurp(openai("large.pt"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    changed.replace(changed.find(from), from.size(), to);
    return openai_fault_of(dir.write("changed.pt", changed));
  };
  expect_fault(with("n_audio_ctx", "n_audio_ctz"), "dims.n_audio_ctx: is missing");
  expect_fault(with("encoder.blocks.2.mlp_ln.bias", "encoder.blocks.2.mlp_lm.bias"),
               "model_state_dict.encoder.blocks.2.mlp_ln.bias");
  dir.write("multilingual.tiktoken", "QQ== 0\n");
  expect_fault(openai_fault_of(dir.path("large.pt")), "has no room for 1 ordinary ones");
}

/// Cuts a file at any byte, or changes any byte of its beginning. Such a file either loads or is
/// refused.
TEST(OpenAiFaults, OfWhisperCppAreBounded) {
  const TestDir dir;
  const std::string bytes = slurp(openai("ggml-large-q8_0.bin"));
  const auto opened = [&](const std::string& changed) {
    try {
      const GgmlFile file(dir.write("ggml.bin", changed));
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(opened(bytes), "");
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 24)
    EXPECT_NE(opened(bytes.substr(0, size)), "") << size;
  const size_t tensors = bytes.find("encoder.positional_embedding") - 20;
  for (size_t at = 0; at < 64; ++at) {
    for (const size_t place : {at, tensors + at}) {
      std::string changed = bytes;
      changed[place] = static_cast<char>(changed[place] ^ 0xff);
      opened(changed);
    }
  }
  std::string other = bytes;
  other[0] = 'x';
  expect_fault(opened(other), "expected a model of whisper.cpp (ggml)");
  expect_fault(opened(bytes + bytes.substr(tensors)), "occurs twice");
}

}  // namespace
}  // namespace syrinx::whisper
