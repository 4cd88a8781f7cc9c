#include "families/hearing/heard.h"

#include "base/error.h"

namespace syrinx {

void append_frames(std::span<const float> part, int64_t width, std::vector<float>& samples) {
  samples.insert(samples.end(), part.begin(), part.end());
  const int64_t frames = (std::ssize(samples) + width - 1) / width;
  samples.resize(static_cast<size_t>(frames * width), 0.f);
}

void set_keys(Bundle& bundle, std::span<const uint64_t> keys) {
  std::vector<int32_t> halves;
  for (const uint64_t key : keys) {
    halves.push_back(static_cast<int32_t>(static_cast<uint32_t>(key)));
    halves.push_back(static_cast<int32_t>(static_cast<uint32_t>(key >> 32)));
  }
  bundle.set("keys", std::move(halves));
}

std::vector<uint64_t> take_keys(Bundle& bundle) {
  const std::vector<int32_t> halves = bundle.ints("keys");
  if (halves.size() % 2 != 0) throw LoadError("'keys' has an odd number of values");
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < halves.size(); i += 2) {
    keys.push_back(static_cast<uint32_t>(halves[i]) | uint64_t{static_cast<uint32_t>(halves[i + 1])}
                                                          << 32);
  }
  return keys;
}

Bundle heard_bundle(const Sequence& hearer) {
  std::vector<int32_t> samples;
  std::vector<float> loudest;
  std::vector<uint64_t> keys;
  for (const Heard& heard : dynamic_cast<const Hearer&>(hearer).heard()) {
    samples.push_back(static_cast<int32_t>(heard.samples));  // below 2^31, by HearingFacts::seconds
    loudest.push_back(heard.loudest);
    keys.insert(keys.end(), heard.keys.begin(), heard.keys.end());
  }
  Bundle bundle;
  bundle.set("samples", std::move(samples));
  bundle.set("loudest", std::move(loudest));
  set_keys(bundle, keys);
  return bundle;
}

std::vector<Heard> take_heard(Bundle& bundle, int64_t longest,
                              const std::function<int64_t(int64_t samples)>& keys_of) {
  const std::vector<int32_t> samples = bundle.ints("samples");
  const std::vector<float> loudest = bundle.floats("loudest", std::ssize(samples));
  const std::vector<uint64_t> keys = keys_of ? take_keys(bundle) : std::vector<uint64_t>();
  std::vector<Heard> heard;
  size_t used = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] <= 0 || samples[i] > longest) {
      throw LoadError(concat("a recording has ", samples[i], " samples; expected 1 to ", longest));
    }
    heard.push_back({.samples = samples[i], .loudest = loudest[i]});
    if (!keys_of) continue;
    const auto first = used;
    used += static_cast<size_t>(keys_of(samples[i]));
    if (used > keys.size()) throw LoadError("'keys' has too few values for the recordings");
    heard.back().keys.assign(keys.begin() + static_cast<std::ptrdiff_t>(first),
                             keys.begin() + static_cast<std::ptrdiff_t>(used));
  }
  return heard;
}

void append_row_keys(uint64_t part, int64_t rows, std::vector<uint64_t>& keys) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd, so the rows of a part have different keys
  for (int64_t row = 1; row <= rows; ++row)
    keys.push_back(part + kStep * static_cast<uint64_t>(row));
}

}  // namespace syrinx
