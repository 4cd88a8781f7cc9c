#include "families/finch/config.h"

#include <algorithm>

#include "base/check.h"
#include "families/finch/phone_stream.h"

namespace syrinx::finch {
namespace {

constexpr size_t kMaxSpeakers = 4096;

void read_speakers(const Config& config, FinchConfig& c) {
  for (const Config& speaker : config.subs("speakers")) {
    c.speakers.push_back({speaker.s("name"), speaker.opt_s("description", ""),
                          speaker.opt_f<float>("pace", 1, 0.5, 2)});
  }
  const auto named = [&c](const Speaker& speaker) { return speaker.name == c.voice; };
  config.check(
      "speakers",
      c.speakers.size() <= kMaxSpeakers && std::any_of(c.speakers.begin(), c.speakers.end(), named),
      concat("expected at most ", kMaxSpeakers, ", one of them named '", c.voice, "'"));
  const auto speeds = config.floats("speeds");
  config.check(
      "speeds",
      speeds.size() == 2 && speeds[0] >= 0.1 && speeds[0] <= 1 && speeds[1] >= 1 && speeds[1] <= 10,
      "expected the slowest, 0.1 to 1, and the fastest, 1 to 10");
  c.slowest = static_cast<float>(speeds[0]);
  c.fastest = static_cast<float>(speeds[1]);
}

}  // namespace

FinchConfig FinchConfig::from(const Config& config) {
  FinchConfig c;
  c.voice = config.s("voice");
  c.description = config.opt_s("description", "");
  c.licence = config.opt_s("licence", "");
  if (config.has("speakers")) read_speakers(config, c);
  c.sample_rate = config.i<int>("sample_rate", 16000, 24000);
  config.check("sample_rate", c.sample_rate == 16000 || c.sample_rate == 24000,
               "must be 16000 or 24000");
  const auto phones = config.strings("phones");
  const auto& names = phone_names();
  config.check(
      "phones",
      phones.size() == names.size() && std::equal(phones.begin(), phones.end(), names.begin()),
      "is not the list of symbols of this program's text front end");
  const auto small = [](const Config& from, const char* key, int64_t max) {
    return from.i<int>(key, 1, max);
  };
  const Config lm = config.sub("lm");
  c.codes = small(lm, "codes", 65536);
  c.hidden = small(lm, "hidden_size", 8192);
  c.layers = small(lm, "num_hidden_layers", 256);
  c.heads = small(lm, "num_attention_heads", 256);
  c.head_dim = small(lm, "head_dim", 512);
  c.ffn = small(lm, "intermediate_size", 65536);
  c.ages = small(lm, "ages", 4096);
  c.max_positions = small(lm, "max_position_embeddings", 1 << 20);
  c.rope_theta = lm.f("rope_theta", 1);
  c.by_word = lm.opt_b("by_word", false);
  const auto temperature = lm.floats("temperature");
  lm.check("temperature", temperature.size() == kBooks, "must have one value per codebook");
  for (int k = 0; k < kBooks; ++k) c.temperature[k] = static_cast<float>(temperature[k]);

  const Config decoder = config.sub("decoder");
  c.latent = small(decoder, "latent_size", 4096);
  c.low_width = small(decoder, "low_width", 8192);
  c.low_layers = small(decoder, "low_layers", 64);
  c.low_ffn = small(decoder, "low_ffn", 65536);
  c.low_taps = small(decoder, "low_taps", 64);
  c.high_width = small(decoder, "high_width", 8192);
  c.high_layers = small(decoder, "high_layers", 64);
  c.high_ffn = small(decoder, "high_ffn", 65536);
  c.high_taps = small(decoder, "high_taps", 64);
  c.pitch_mean = decoder.f<float>("pitch_mean");
  c.pitch_std = decoder.f<float>("pitch_std");
  return c;
}

}  // namespace syrinx::finch
