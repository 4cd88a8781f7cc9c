#include "io/golden_samples.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "io/test_dir.h"

namespace syrinx {
namespace {

/// Returns a file as tests/parity/thin.py writes it: both ends of a long recording and every 7th
/// number between.
std::string thinned_file(const TestDir& dir, const std::vector<float>& sound) {
  const auto count = static_cast<int32_t>(sound.size());
  std::vector<float> kept;
  for (int32_t i = 0; i < count; ++i) {
    const bool edge = i < 2048 || i >= count - 2048;
    if (edge || (i - 2048) % 7 == 0) kept.push_back(sound[static_cast<size_t>(i)]);
  }
  const std::string end = std::to_string(kept.size() * 4);
  const std::string header =
      R"({"samples":{"dtype":"F32","shape":[)" + std::to_string(kept.size()) +
      R"(],"data_offsets":[0,)" + end + R"(]},"count.samples":{"dtype":"I32","shape":[1],)" +
      R"("data_offsets":[)" + end + "," + std::to_string(kept.size() * 4 + 4) + "]}}";
  const uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(kept.data()), kept.size() * 4);
  bytes.append(reinterpret_cast<const char*>(&count), 4);
  return dir.write("golden.safetensors", bytes);
}

TEST(GoldenSamples, NoticesWhatIsWrongAnywhereItKeeps) {
  std::vector<float> sound(6001);
  for (size_t i = 0; i < sound.size(); ++i) sound[i] = static_cast<float>(i % 100) / 100;
  const TestDir dir;
  const Safetensors file(thinned_file(dir, sound));
  const GoldenSamples want(file);
  EXPECT_EQ(want.count(), 6001);
  EXPECT_EQ(want.distance(sound), 0);
  for (const size_t place :
       {size_t{0}, size_t{2047}, size_t{2055}, size_t{3952}, size_t{3953}, size_t{6000}}) {
    std::vector<float> other = sound;
    other[place] += 0.5f;
    const bool kept = place < 2048 || place >= 6001 - 2048 || (place - 2048) % 7 == 0;
    EXPECT_FLOAT_EQ(want.distance(other), kept ? 0.5f : 0.f) << place;
  }
}

TEST(GoldenSamples, AnotherLengthIsInfinitelyFar) {
  const TestDir dir;
  const std::vector<float> sound(5000, 0.25f);
  const Safetensors file(thinned_file(dir, sound));
  const GoldenSamples want(file);
  for (const size_t length : {size_t{0}, size_t{4999}, size_t{5001}}) {
    EXPECT_TRUE(std::isinf(want.distance(std::vector<float>(length, 0.25f)))) << length;
  }
  std::vector<float> broken = sound;
  broken[3] = NAN;
  EXPECT_TRUE(std::isinf(want.distance(broken)));
}

}  // namespace
}  // namespace syrinx
