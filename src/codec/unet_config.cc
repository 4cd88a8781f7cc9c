#include "codec/unet_config.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr int64_t kMostUnetSize = 1 << 16;

}  // namespace

UnetConfig load_unet_config(const HyperYaml& y, int64_t mel, int levels) {
  const std::string unet = "flow.decoder.estimator.";
  y.only(unet + "act_fn", "gelu");
  y.check(unet + "in_channels", y.i(unet + "in_channels", 1, kMostUnetSize) == 4 * mel,
          "must be 4 * flow.output_size");
  const std::vector<int64_t> channels = y.ints(unet + "channels", 8, kMostUnetSize);
  y.check(unet + "channels",
          std::ssize(channels) == levels && channels[0] % 8 == 0 &&
              std::ranges::count(channels, channels[0]) == levels,
          concat("expected ", levels, " equal multiples of 8, one for each level"));
  UnetConfig c;
  c.channels = channels[0];
  c.heads = y.i(unet + "num_heads", 1, 256);
  c.head_dim = y.i(unet + "attention_head_dim", 8, 256);
  c.blocks = y.i(unet + "n_blocks", 1, 64);
  c.middle = y.i(unet + "num_mid_blocks", 0, 256);
  y.check(unet + "attention_head_dim", c.head_dim % 8 == 0, "must be a multiple of 8");
  return c;
}

}  // namespace syrinx
