#include "codec/hift_config.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr int64_t kMostHiftSize = 1 << 16;

}  // namespace

HiftConfig load_hift_config(const HyperYaml& y, bool causal) {
  for (const auto& [key, plain] :
       {std::pair{"hift", "HiFTGenerator"}, std::pair{"hift.f0_predictor", "ConvRNNF0Predictor"}}) {
    y.only_class(key, concat(causal ? "Causal" : "", plain));
  }
  HiftConfig c;
  c.causal = causal;
  if (causal) {
    c.look_right = y.i("hift.conv_pre_look_right", 0, 64);
    c.source.phase = SinePhase::kStepped;
    c.source.uniform_noise = true;
  }
  c.mel = y.i("hift.in_channels", 1, 1024);
  c.channels = y.i("hift.base_channels", 8, kMostHiftSize);
  c.rates = y.ints("hift.upsample_rates", 1, 64);
  c.rate_kernels = y.ints("hift.upsample_kernel_sizes", 1, 128);
  c.kernels = y.ints("hift.resblock_kernel_sizes", 1, 63);
  c.source_kernels = y.ints("hift.source_resblock_kernel_sizes", 1, 63);
  c.n_fft = y.i("hift.istft_params.n_fft", 4, 4096);
  c.stft_hop = y.i("hift.istft_params.hop_len", 1, 4096);
  c.leak = static_cast<float>(y.f("hift.lrelu_slope", 0, 1));
  c.limit = static_cast<float>(y.f("hift.audio_limit", 0, 1));
  c.f0_channels = y.i("hift.f0_predictor.cond_channels", 1, kMostHiftSize);
  c.source.sample_rate = y.i("hift.sampling_rate", 8000, 192000);
  c.source.harmonics = y.i("hift.nb_harmonics", 0, 64);
  c.source.amplitude = static_cast<float>(y.f("hift.nsf_alpha", 0, 10));
  c.source.noise = static_cast<float>(y.f("hift.nsf_sigma", 0, 10));
  c.source.voiced_above = static_cast<float>(y.f("hift.nsf_voiced_threshold", 0, 1000));
  const std::vector<int64_t> all = y.ints("hift.resblock_dilation_sizes", 1, 63);
  c.dilations.assign(all.begin(), all.begin() + std::min<size_t>(3, all.size()));
  const auto agree = [&](const char* key, size_t blocks) {
    const std::vector<int64_t> got = y.ints(key, 1, 63);
    bool same = got.size() == 3 * blocks && c.dilations.size() == 3;
    for (size_t i = 0; same && i < got.size(); ++i) same = got[i] == c.dilations[i % 3];
    y.check(key, same, "expected the same three dilations for every block");
  };
  agree("hift.resblock_dilation_sizes", c.kernels.size());
  agree("hift.source_resblock_dilation_sizes", c.source_kernels.size());
  y.check("hift.upsample_rates",
          !c.rates.empty() && c.rates.size() <= 8 && c.rates.size() == c.rate_kernels.size() &&
              c.rates.size() == c.source_kernels.size() && !c.kernels.empty() &&
              c.n_fft % c.stft_hop == 0,
          "differ in number from the kernels, or do not fit the STFT");
  y.check("hift.upsample_rates", c.hop() <= c.source.sample_rate,
          "with istft_params.hop_len, a frame is longer than a second");
  for (size_t i = 0; i < c.rates.size(); ++i) {
    const int64_t more = c.rate_kernels[i] - c.rates[i];
    y.check("hift.upsample_kernel_sizes", causal || (more >= 0 && more % 2 == 0),
            concat("a kernel of ", c.rate_kernels[i], " must be the rate ", c.rates[i],
                   " plus an even number"));
  }
  y.check("hift.base_channels", c.channels % (int64_t{1} << c.rates.size()) == 0,
          "must be divisible by 2^n for n upsample_rates");
  // The authors' code selects one of its two sources by this rate.
  if (c.source.sample_rate == 22050) {
    y.check("hift.sampling_rate", !causal, "22050 is not supported by the causal vocoder");
    c.source.phase = SinePhase::kHeld;
  }
  return c;
}

}  // namespace syrinx
