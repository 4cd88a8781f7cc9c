// Compares XEUS with ESPnet on a small model (tests/parity/opuslm).
#include "codec/xeus.h"

#include <gtest/gtest.h>

#include "base/worst.h"
#include "codec/piece_runner.h"
#include "codec/qwen3_audio_fixture.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

std::string xeus_golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/opuslm/golden/" + name;
}

class XeusTest : public testing::Test {
 protected:
  XeusTest()
      : weights_(open_weights(xeus_golden("hearing/xeus/model/xeus_checkpoint_new.pth"))),
        golden_(xeus_golden("hearing.safetensors")),
        samples_(fixture::golden_signal(kSamples, kSamples)) {}

  Tensor rows(const Xeus& xeus, int threads = 1) {
    fixture::PieceRunner runner(threads);
    Tensor out;
    pieces_ = runner.run(xeus.run(runner.ctx, samples_, out));
    return out;
  }

  static constexpr int64_t kSamples = 16000;
  Weights weights_;
  Safetensors golden_;
  std::vector<float> samples_;
  int pieces_ = 0;
};

TEST_F(XeusTest, SizesAreReadOffTheTensors) {
  const XeusConfig c = XeusConfig::of(weights_);
  EXPECT_EQ(c.width, 64);
  EXPECT_EQ(c.channels, 12);
  EXPECT_EQ(c.ffn, 24);
  EXPECT_EQ(c.gated, 40);
  EXPECT_EQ(c.blocks, 2);
  EXPECT_EQ(c.gate_taps, 31);
  EXPECT_EQ(c.merge_taps, 31);
  EXPECT_EQ(c.position_taps, 128);
  EXPECT_EQ(c.position_groups, 16);
  EXPECT_EQ(Xeus::rows(399), 0);
  EXPECT_EQ(Xeus::rows(400), 1);
  EXPECT_EQ(Xeus::rows(720), 2);
}

TEST_F(XeusTest, RowsBehindEveryBlockAreEspnets) {
  for (const int64_t layer : {0, 1, 18}) {
    const Xeus xeus(XeusConfig::of(weights_), weights_, layer);
    EXPECT_EQ(weights_.report({"losses.*", "global_step"}).faults(), "") << layer;
    const Tensor got = rows(xeus);
    const View want = golden_.view(layer == 0 ? "first_block" : "features");
    ASSERT_EQ(got.shape(), want.shape);
    ASSERT_EQ(got.shape()[0], Xeus::rows(kSamples));
    const auto worst = static_cast<float>(fixture::difference(got, want));
    EXPECT_LT(worst, 2e-5f) << layer;
    RecordProperty("worst_" + std::to_string(layer), std::to_string(worst * 1e6) + "e-6");
  }
}

TEST_F(XeusTest, OthersWaitForOnePieceAndThreadsChangeNothing) {
  const Xeus xeus(XeusConfig::of(weights_), weights_, 1);
  const Tensor one = rows(xeus);
  EXPECT_GT(pieces_, 12);
  EXPECT_NEAR(pieces_, xeus.pieces(kSamples), 2);
  const Tensor three = rows(xeus, 3);
  EXPECT_EQ(std::vector(one.f32(), one.f32() + one.shape().count()),
            std::vector(three.f32(), three.f32() + three.shape().count()));
}

TEST_F(XeusTest, LoudnessAndOffsetAreTakenOut) {
  const Xeus xeus(XeusConfig::of(weights_), weights_, 1);
  const Tensor want = rows(xeus);
  for (float& x : samples_) x = x * 8 + 0.25f;
  const Tensor got = rows(xeus);
  EXPECT_LT(fixture::difference(got, want), 2e-2) << "but for what keeps silence silent";
}

TEST_F(XeusTest, AModelOfOtherSizesIsRefused) {
  XeusConfig config = XeusConfig::of(weights_);
  config.width = 48;
  const Xeus xeus(config, weights_, 1);
  const std::vector<std::string> wrong = weights_.report().wrong;
  EXPECT_TRUE(std::any_of(wrong.begin(), wrong.end(), [](const std::string& fault) {
    return fault.find("the width 48 does not fit 8 heads") != fault.npos;
  }));
}

}  // namespace
}  // namespace syrinx
