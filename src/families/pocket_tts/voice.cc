#include "families/pocket_tts/voice.h"

#include <algorithm>
#include <cmath>

#include "families/loading/recorded_voice.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "nn/stream_pass.h"

namespace syrinx::pocket_tts {
namespace {

constexpr const char* kRows = "rows";  // f32 [T, H]
constexpr double kLongest_s = 30;      // longest recording, as in the authors' code

/// The cache of one layer in a file: keys and values [2, 1, capacity, heads, D], and the number of
/// positions that are in use.
struct LayerCache {
  View cache;
  int64_t used = 0;
};

LayerCache layer_of(const ModelConfig& config, const SafetensorsFile& file, int layer) {
  const std::string scope = concat("transformer.layers.", layer, ".self_attn/");
  const auto fail = [&](const char* name, const std::string& what) {
    load_fault(file.path(), scope + name, what);
  };
  const SafetensorsEntry* cache = file.find(scope + "cache");
  if (!cache) fail("cache", "is missing");
  const std::vector<int64_t>& sizes = cache->sizes;
  const bool floats =
      cache->dtype == DType::kF32 || cache->dtype == DType::kBF16 || cache->dtype == DType::kF16;
  if (!floats || sizes.size() != 5 || sizes[0] != 2 || sizes[1] != 1 ||
      sizes[3] != config.lm.kv_heads || sizes[4] != config.lm.head_dim) {
    fail("cache", concat("expected floats [2, 1, positions, ", config.lm.kv_heads, ", ",
                         config.lm.head_dim, "], got ", cache->str()));
  }
  int64_t used = sizes[2];
  // In older files, the size of this tensor is the number of positions in use.
  if (const SafetensorsEntry* end = file.find(scope + "current_end")) {
    if (end->sizes.size() != 1) fail("current_end", "expected one size, got " + end->str());
    used = end->sizes[0];
  } else if (const SafetensorsEntry* offset = file.find(scope + "offset")) {
    if (offset->type_name != "I64" || offset->sizes != std::vector<int64_t>{1}) {
      fail("offset", "expected I64 [1], got " + offset->str());
    }
    used = *static_cast<const int64_t*>(file.view(*offset).data);
  }
  if (used < 1 || used > sizes[2] || used > ModelConfig::kMostPositions / 2) {
    fail("offset", concat("expected 1 to ", std::min(sizes[2], ModelConfig::kMostPositions / 2),
                          " positions, got ", used));
  }
  return {file.view(*cache), used};
}

VoiceRows read_voice(const ModelConfig& config, const std::string& path) {
  const SafetensorsFile file(path);
  VoiceRows voice;
  voice.width = config.cache_row();
  const int64_t part = config.kv_width(), used = layer_of(config, file, 0).used;
  voice.numbers.resize(static_cast<size_t>(used * voice.width));
  for (int layer = 0; layer < config.lm.layers; ++layer) {
    const LayerCache from = layer_of(config, file, layer);
    if (from.used != used) load_fault(path, "", "layers have different numbers of positions");
    const Tensor numbers = to_f32(from.cache);
    const int64_t capacity = from.cache.shape[2];
    for (int64_t at = 0; at < used; ++at) {
      float* to = voice.numbers.data() + at * voice.width + 2 * layer * part;
      std::copy_n(numbers.f32() + at * part, part, to);
      std::copy_n(numbers.f32() + (capacity + at) * part, part, to + part);
    }
  }
  if (!all_finite(voice.numbers)) load_fault(path, "", "a number is not finite");
  voice.make_keys();
  return voice;
}

/// Replaces the quiet end of a recording by a pause of 80 ms. Formula:
/// pocket_tts/data/audio_utils.py.
std::vector<float> end_on_pause(std::vector<float> x, int64_t rate) {
  const int64_t frame = std::max<int64_t>(1, rate / 50), frames = std::ssize(x) / frame;
  if (frames == 0) return x;
  std::vector<double> level;
  for (int64_t f = 0; f < frames; ++f) {
    double power = 0;
    for (int64_t i = f * frame; i < (f + 1) * frame; ++i)
      power += double{x[size_t(i)]} * x[size_t(i)];
    level.push_back(20 * std::log10(std::sqrt(power / static_cast<double>(frame)) + 1e-12));
  }
  const double floor = *std::ranges::max_element(level) - 35;
  int64_t last = frames - 1;
  while (last > 0 && level[size_t(last)] <= floor) --last;
  const int64_t end = (last + 1) * frame, fade = std::min(rate / 50, end);
  x.resize(static_cast<size_t>(end));
  for (int64_t i = 0; i < fade; ++i) {
    const float gain = fade == 1 ? 1 : 1 - static_cast<float>(i) / static_cast<float>(fade - 1);
    x[size_t(end - fade + i)] *= gain;
  }
  x.resize(static_cast<size_t>(end + rate * 8 / 100), 0.f);
  return x;
}

Pieces hear(const ModelConfig& config, const VoiceNetworks& networks, RecordedVoice& recorded) {
  const int64_t rate = config.encoder.sample_rate, hop = config.encoder.hop();
  recorded.resample(static_cast<int>(rate), Resampling::kSoxr);
  co_await PieceEnd();
  std::vector<float> samples = end_on_pause(std::move(recorded.samples), rate);
  const int64_t frames = networks.encoder.frames(std::ssize(samples)), width = config.lm.hidden;
  samples.resize(static_cast<size_t>(frames * hop), 0.f);
  Tensor rows({frames, width}, DType::kF32);
  MimiLatentEncoder::Stream stream = networks.encoder.open();
  for (int64_t at = 0; at < frames;) {
    StepContext& ctx = recorded.ctx();
    const int64_t n = std::min(frames - at, networks.encoder.room(ctx, stream));
    const View latent = networks.encoder.run(
        ctx, stream, std::span(samples).subspan(size_t(at * hop), size_t(n * hop)));
    linear(ctx, networks.project, latent, rows.view().slice(at, at + n));
    at += n;
    co_await PieceEnd();
  }
  recorded.voice.tensors.emplace(kRows, std::move(rows));
}

}  // namespace

std::unique_ptr<VoiceFiles<VoiceRows>> open_voices(const ModelConfig& config,
                                                   const std::string& dir) {
  const auto paths = files_below(dir, {"embeddings"}, ".safetensors");
  for (const auto& [name, path] : paths) {
    const SafetensorsFile file(path);
    for (int layer = 0; layer < config.lm.layers; ++layer) layer_of(config, file, layer);
  }
  return std::make_unique<VoiceFiles<VoiceRows>>(
      paths, [config](const std::string& path) { return read_voice(config, path); });
}

std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<VoiceNetworks>()> load) {
  VoiceEncoderInfo info{.family = "pocket_tts",
                        .version = "1",
                        .modes = {{"continuation", false}},
                        .min_s = 1,
                        .max_s = kLongest_s};
  using Networks = std::unique_ptr<VoiceNetworks>;
  return std::make_unique<RecordedVoices<Networks>>(
      std::move(info), std::move(load),
      [config](const Networks& networks, RecordedVoice& recorded) {
        return hear(config, *networks, recorded);
      });
}

Result<std::shared_ptr<const VoiceRows>> rows_of(const ModelConfig& config, const FlowLm& lm,
                                                 const Voice& voice) {
  const Tensor* rows = voice.find(kRows);
  const int64_t width = config.lm.hidden, most = ModelConfig::kMostPositions / 2;
  if (!rows || rows->dtype() != DType::kF32 || rows->shape().dims() != 2 || rows->shape()[0] < 1 ||
      rows->shape()[1] != width) {
    return foreign_voice(concat("it needs \"", kRows, "\" f32 [frames, ", width, "]"));
  }
  if (rows->shape()[0] >= most) return recording_too_long(voice, rows->shape()[0], most - 1);
  auto out = std::make_shared<VoiceRows>();
  out->width = width;
  const std::span<const float> begin = lm.voice_begin();
  out->numbers.assign(begin.begin(), begin.end());
  out->numbers.insert(out->numbers.end(), rows->f32(), rows->f32() + rows->shape().count());
  if (!all_finite(out->numbers)) return foreign_voice("a number is not finite");
  out->make_keys();
  return std::shared_ptr<const VoiceRows>(std::move(out));
}

}  // namespace syrinx::pocket_tts
