// Compares Silero's detector with the authors' graph, with the weights of tests/parity/silero.
#include "ears/silero.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "ears/silero_fixture.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using nlohmann::json;

std::vector<float> made_sound(size_t chunks) {
  std::vector<float> out;
  for (size_t i = 0; i < chunks * SileroVad::kChunk; ++i)
    out.push_back(fixture::made_number(99, i) * static_cast<float>(i / SileroVad::kChunk) /
                  static_cast<float>(chunks));
  return out;
}

TEST(Silero, AsItsAuthorsGraph) {
  const TestDir dir;
  dir.write("silero_vad_16k.safetensors", fixture::made_weights());
  const auto model = SileroVad::load(dir.path());
  const json golden = json::parse(std::ifstream(SYRINX_BINARY_DIR "/parity/silero/golden.json"));
  const auto& wanted = golden["probabilities"];
  const std::vector<float> sound = made_sound(wanted.size());
  const std::vector<float> got = SileroStream(model).hear(sound);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i].get<double>(), 2e-5) << "chunk " << i;
  // The result must not depend on the division of the stream into calls.
  SileroStream stream(model);
  std::vector<float> pieces;
  for (size_t at = 0; at < sound.size(); at += 331) {
    const auto part = std::span(sound).subspan(at, std::min<size_t>(331, sound.size() - at));
    const std::vector<float> more = stream.hear(part);
    pieces.insert(pieces.end(), more.begin(), more.end());
  }
  EXPECT_EQ(pieces, got);
}

TEST(Silero, AVoiceEndsBelowWhereItBegins) {
  const TestDir dir;
  dir.write("silero_vad_16k.safetensors", fixture::made_weights());
  const auto model = SileroVad::load(dir.path());
  const std::vector<float> sound = made_sound(48);
  const std::vector<float> probabilities = SileroStream(model).hear(sound);
  const float least = *std::min_element(probabilities.begin(), probabilities.end());
  const auto activity = open_silero_activity(model, least);
  const auto never = open_silero_activity(model, 1.1);
  std::vector<int16_t> frame;
  int heard = 0, voices = 0;
  for (const float sample : sound) {
    frame.push_back(static_cast<int16_t>(std::lrint(sample * 32767)));
    if (frame.size() < kActivityFrame) continue;
    voices += activity->speaks(frame);
    EXPECT_FALSE(never->speaks(frame));
    ++heard;
    frame.clear();
  }
  EXPECT_GE(voices, heard - 4) << "all but the frames before the first chunk";
}

TEST(Silero, RefusesWhatIsNotItsOwn) {
  const TestDir dir;
  dir.write("silero_vad_16k.safetensors", fixture::made_weights(0, "conv3.bias"));
  try {
    SileroVad::load(dir.path());
    FAIL() << "loaded";
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("conv3.bias"), std::string::npos) << error.what();
  }
  EXPECT_THROW(SileroVad::load(dir.path("absent.safetensors")), LoadError);
}

}  // namespace
}  // namespace syrinx
