#include "families/kyutai_tts/voice.h"

#include <cstring>

#include "families/loading/voice_tensors.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/safetensors.h"
#include "kernels/sample.h"

namespace syrinx::kyutai_tts {
namespace {

constexpr const char* kTensor = "speaker_wavs";
constexpr const char* kExtension = ".safetensors";

/// Returns FNV-1a of the numbers' bits.
uint64_t hash_of(std::span<const float> numbers) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const float number : numbers) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3;
  }
  return hash;
}

SpeakerRows read_voice(const ModelConfig& config, const std::string& path) {
  const Safetensors file(path);
  const int64_t width = config.speaker_width;
  if (!file.find(kTensor)) load_fault(path, kTensor, "is missing");
  const View stored = file.view(kTensor);
  if (stored.shape.dims() != 3 || stored.shape[0] != 1 || stored.shape[1] != width ||
      stored.shape[2] < 1 || stored.shape[2] > SpeakerRows::kMost) {
    load_fault(path, kTensor,
               concat("expected floats [1, ", width, ", 1 to ", SpeakerRows::kMost, "], got ",
                      dtype_name(stored.dtype), " ", stored.shape.str()));
  }
  const Tensor numbers = stored_floats(stored, path, kTensor);
  SpeakerRows voice;
  voice.rows = static_cast<int>(stored.shape[2]);
  for (int t = 0; t < voice.rows; ++t)
    for (int64_t w = 0; w < width; ++w) voice.numbers.push_back(numbers.f32()[w * voice.rows + t]);
  voice.hash = hash_of(voice.numbers);
  return voice;
}

/// Returns the folder of the voices in the hub's cache; "" without one.
std::string cached_voices() {
  const std::string cache = hub_cache();
  if (cache.empty()) return "";
  return find_snapshot(hub_folder(cache, parse_hub_name(kVoices)), "");
}

/// Returns the files of the model's voices below a folder, by the names of their recordings.
std::map<std::string, std::string> voices_below(const ModelConfig& config,
                                                const std::string& folder) {
  std::map<std::string, std::string> paths;
  for (const auto& [name, path] : files_below(folder, {"."}, kExtension)) {
    if (!name.ends_with(config.voice_ending)) continue;  // a voice of another model
    paths.emplace(name.substr(0, name.size() - config.voice_ending.size()), path);
  }
  return paths;
}

}  // namespace

std::unique_ptr<VoiceFiles<SpeakerRows>> open_voices(const ModelConfig& config,
                                                     const LoadSpec& spec) {
  std::map<std::string, std::string> paths = voices_below(config, join_path(spec.dir, "voices"));
  if (paths.empty() && !spec.dummy) {
    if (const std::string cached = cached_voices(); !cached.empty())
      paths = voices_below(config, cached);
  }
  return std::make_unique<VoiceFiles<SpeakerRows>>(
      std::move(paths), [config](const std::string& path) { return read_voice(config, path); });
}

SpeakerRows random_voice(const ModelConfig& config) {
  SpeakerRows voice;
  voice.rows = 125;
  voice.numbers.resize(static_cast<size_t>(voice.rows * config.speaker_width));
  philox_normal(1, 0, 0, voice.numbers);
  voice.hash = hash_of(voice.numbers);
  return voice;
}

}  // namespace syrinx::kyutai_tts
