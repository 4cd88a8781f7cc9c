#include "kernels/torch_random.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace syrinx {
namespace {

TEST(TorchRandom, NumbersOfTorch) {
  // The result of torch 2.9.1: torch.manual_seed(0); torch.randn(32)
  const float want[] = {-1.12583983f, -1.15236020f, -0.25057858f, -0.43387881f, 0.84871036f,
                        0.69200915f,  -0.31601277f, -2.11521935f, 0.32227492f,  -1.26333475f,
                        0.34998319f,  0.30813393f,  0.11984151f,  1.23765790f,  1.11677718f,
                        -0.24727815f, -1.35265374f, -1.69593120f, 0.56665063f,  0.79350835f,
                        0.59883946f,  -1.55509508f, -0.34136039f, 1.85300612f,  0.75018948f,
                        -0.58549756f, -0.17339675f, 0.18347794f,  1.38936615f,  1.58633423f,
                        0.94629836f,  -0.84367675f};
  // The result of torch 2.9.1: torch.manual_seed(1986); torch.randn(1200000)[-4:]
  const float last[] = {0.28332800f, 1.01133454f, 0.37556559f, -1.01778030f};
  std::vector<float> got(32);
  torch_randn(0, got);
  for (int i = 0; i < 32; ++i) EXPECT_NEAR(got[i], want[i], 1e-6f) << i;
  got.resize(1'200'000);
  torch_randn(1986, got);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[got.size() - 4 + i], last[i], 1e-6f) << i;
  EXPECT_THROW(torch_randn(0, std::span(got).first(10)), InternalError);
}

}  // namespace
}  // namespace syrinx
