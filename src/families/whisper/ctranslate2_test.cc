// Compares Whisper in the format of CTranslate2's converter with the published layout from which it
// was converted.
#include "families/whisper/ctranslate2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "families/whisper/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::whisper {
namespace {

std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/whisper/" + name; }

/// Makes a directory like those of faster-whisper's published models.
void make_ct2(const TestDir& dir, const std::string& name) {
  for (const char* file : {"model.bin", "config.json"})
    std::filesystem::copy_file(parity(name) + "/" + file, dir.path(file));
  std::filesystem::copy_file(parity("small/tokenizer.json"), dir.path("tokenizer.json"));
}

std::string load_fault_of(const std::string& dir) {
  try {
    load_as<Whisper>({dir, "whisper", WeightType::kF32});
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Ct2Whisper, IsTheModelThatWasConverted) {
  const TestDir dir;
  make_ct2(dir, "ct2");
  Ct2Model stored = open_ct2(dir.path());
  const auto published = open_weights(parity("small"));
  size_t count = 0;
  for (const std::string& name : published->names()) {
    if (name == "proj_out.weight") continue;  // the same as the embedding table
    const Shape shape = published->shape(name).value();
    const View want = published->take(name, shape), got = stored.weights->take(name, shape);
    ASSERT_FALSE(got.empty()) << name;
    ASSERT_EQ(got.dtype, DType::kF16) << name;
    EXPECT_EQ(std::memcmp(want.data, got.data, got.bytes()), 0) << name;
    ++count;
  }
  EXPECT_EQ(stored.weights->names().size(), count);

  const Whisper ours({dir.path(), "whisper", WeightType::kF32}),
      theirs({parity("small"), "whisper", WeightType::kF32});
  const Generation &a = ours.generation(), &b = theirs.generation();
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.no_timestamps, b.no_timestamps);
  EXPECT_EQ(a.previous, b.previous);
  EXPECT_EQ(a.languages, b.languages);
  EXPECT_EQ(a.transcribe, b.transcribe);
  EXPECT_EQ(a.translate, b.translate);
  EXPECT_EQ(a.suppressed_first, b.suppressed_first);
  EXPECT_EQ(a.alignment_heads, b.alignment_heads);
  EXPECT_EQ(ours.config().encoder.heads, theirs.config().encoder.heads);
  EXPECT_EQ(ours.config().max_ids, theirs.config().max_ids);
}

TEST(Ct2Whisper, EightBitsAreWithinHalfAStep) {
  Ct2Model stored = open_ct2(parity("ct2_int8"));
  const auto published = open_weights(parity("small"));
  const std::string name = "model.decoder.layers.1.encoder_attn.v_proj.weight";
  const Shape shape = published->shape(name).value();
  const Tensor want = to_f32(published->take(name, shape));
  const View got = stored.weights->take(name, shape);
  ASSERT_EQ(got.dtype, DType::kF32);
  for (int64_t row = 0; row < shape[0]; ++row) {
    float most = 0, off = 0;
    for (int64_t i = row * shape[1]; i < (row + 1) * shape[1]; ++i) {
      most = std::max(most, std::abs(want.f32()[i]));
      off = std::max(off, std::abs(want.f32()[i] - got.f32()[i]));
    }
    EXPECT_LE(off, most / 127 * 0.501f) << "row " << row;
  }
  const TestDir dir;
  make_ct2(dir, "ct2_int8");
  EXPECT_EQ(load_fault_of(dir.path()), "");
}

TEST(Ct2Whisper, FaultsAreNamed) {
  const TestDir dir;
  make_ct2(dir, "ct2");
  const std::string bytes = slurp(dir.path("model.bin"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    changed.replace(changed.find(from), from.size(), to);
    dir.write("model.bin", changed);
    return load_fault_of(dir.path());
  };
  expect_fault(with("WhisperSpec", "WhistleSpec"), "expected a WhisperSpec, got a WhistleSpec");
  expect_fault(with("encoder/num_heads", "encoder/num_hands"), "encoder/num_heads: is missing");
  expect_fault(with("layer_1/ffn/linear_1/bias", "layer_1/ffn/linear_9/bias"),
               "model.decoder.layers.1.fc2.bias");
  std::filesystem::remove(dir.path("model.bin"));
  expect_fault(load_fault_of(dir.path()), "model.bin");
}

}  // namespace
}  // namespace syrinx::whisper
