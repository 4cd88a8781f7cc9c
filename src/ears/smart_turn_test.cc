// Compares Smart Turn with its published graph, with generated weights as in
// tests/parity/smart_turn.
#include "ears/smart_turn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "ears/silero_fixture.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

nlohmann::json smart_turn_golden() {
  return nlohmann::json::parse(
      read_file(SYRINX_BINARY_DIR "/parity/smart_turn/golden.json", 1 << 20));
}

/// Returns made_weights() of make_golden.py as a safetensors file, without the tensor `left_out`.
std::string made_smart_turn(const std::string& left_out = "") {
  nlohmann::json header;
  std::string data;
  uint64_t seed = 0;
  const nlohmann::json golden = smart_turn_golden();
  for (const auto& [name, sizes] : golden["shapes"].items()) {  // ordered by name
    const uint64_t place = seed++;
    if (name == left_out) continue;
    const auto shape = sizes.get<std::vector<size_t>>();
    size_t count = 1, fan_in = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      count *= shape[i];
      if (i > 0) fan_in *= shape[i];
    }
    const bool norm = shape.size() == 1 && name.ends_with("weight");
    const bool positions = name.find("positions") != name.npos;
    const double scale = shape.size() == 1 ? 0.1
                         : positions       ? 0.5
                                           : std::sqrt(3.0 / static_cast<double>(fan_in));
    const auto factor = static_cast<float>(scale * (name == "classifier.6.weight" ? 8 : 1));
    const size_t begin = data.size();
    data.resize(begin + 4 * count);
    for (size_t i = 0; i < count; ++i) {
      const float made = factor * fixture::made_number(place, i), value = norm ? 1 + made : made;
      std::memcpy(data.data() + begin + 4 * i, &value, 4);
    }
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + text + data;
}

std::vector<float> smart_turn_signal(int number) {
  constexpr double kSeconds[] = {3.0, 8.0, 9.5, 0.7};
  std::vector<float> out;
  for (int i = 0; i < static_cast<int>(16000 * kSeconds[number]); ++i) {
    const double t = i / 16000.0;
    const double wave = std::sin(2 * std::numbers::pi * (120 + 40 * number) * t * (1 + 0.05 * t)) *
                        std::exp(-0.3 * number * t);
    out.push_back(static_cast<float>(0.3 * wave * std::fmod(std::floor(t * (3 + number)), 2)));
  }
  return out;
}

TEST(SmartTurn, HearsAsItsPublishedGraph) {
  const TestDir dir;
  const auto model = SmartTurn::load(dir.write("smart_turn.safetensors", made_smart_turn()));
  const auto want = smart_turn_golden()["probabilities"];
  float apart = 0;
  for (int i = 0; i < 4; ++i) {
    const float got = model->probability(smart_turn_signal(i));
    EXPECT_NEAR(got, want[static_cast<size_t>(i)].get<float>(), 2e-4) << i;
    apart = std::max(apart, std::fabs(got - want[static_cast<size_t>(i)].get<float>()));
  }
  RecordProperty("apart", std::to_string(apart * 1e6) + "e-6");
}

// SYRINX_SMART_TURN is the path of the published weights, which are not part of the repository.
TEST(SmartTurn, HearsWithThePublishedWeights) {
  const char* path = std::getenv("SYRINX_SMART_TURN");
  if (!path) GTEST_SKIP() << "without SYRINX_SMART_TURN";
  const auto model = SmartTurn::load(path);
  const nlohmann::json golden = smart_turn_golden();
  for (size_t i = 0; i < 4; ++i) {
    const float got = model->probability(smart_turn_signal(static_cast<int>(i)));
    EXPECT_NEAR(got, golden["published_without_rounding"][i].get<float>(), 1e-3) << i;
    EXPECT_EQ(got >= SmartTurn::kDone, golden["published"][i].get<float>() >= SmartTurn::kDone);
  }
}

TEST(SmartTurn, IsTakenWholeOrRefused) {
  const TestDir dir;
  const auto fault = [&](const std::string& path) {
    try {
      SmartTurn::load(path);
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  dir.write("smart_turn.safetensors", made_smart_turn("classifier.4.bias"));
  EXPECT_NE(fault(dir.path()).find("classifier.4.bias"), std::string::npos);
  EXPECT_NE(fault(dir.path("none")).find("none"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
