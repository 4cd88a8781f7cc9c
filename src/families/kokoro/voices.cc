#include "families/kokoro/voices.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include "io/file.h"
#include "io/torch_pickle.h"

namespace syrinx::kokoro {
namespace {

std::shared_ptr<const VoicePack> load_pack(const std::string& path, const KokoroConfig& config) {
  const TorchPickle file(path);
  const int64_t rows = config.most_phonemes(), width = 2 * config.style;
  if (file.tensors().size() != 1) {
    throw LoadError(concat(path, ": expected one tensor, got ", file.tensors().size()));
  }
  const TorchTensor& tensor = file.tensors().front();
  const bool fits =
      tensor.dtype == DType::kF32 && tensor.sizes == std::vector{rows, int64_t{1}, width};
  if (!fits) {
    throw LoadError(
        concat(path, ": expected a voice f32 [", rows, ", 1, ", width, "], got ", tensor.str()));
  }
  const View view = file.view(tensor);
  auto pack = std::make_shared<VoicePack>(view.f32(), view.f32() + view.count());
  for (const float value : *pack) {
    if (!std::isfinite(value)) throw LoadError(concat(path, ": a number is not finite"));
  }
  return pack;
}

}  // namespace

Voices load_voices(const std::string& dir, const KokoroConfig& config) {
  Voices voices;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(join_path(dir, "voices"), fault)) {
    if (entry.path().extension() != ".pt") continue;
    voices[entry.path().stem().string()] = load_pack(entry.path().string(), config);
  }
  return voices;
}

Result<std::shared_ptr<const VoicePack>> voice_of(const Voices& voices, const std::string& usual,
                                                  const SpeechRequest& request) {
  std::vector<VoiceShare> mix = request.mix;
  if (mix.empty()) mix = {{request.voice, request.voice_data, 1.f}};
  std::vector<std::shared_ptr<const VoicePack>> packs;
  double sum = 0;
  for (const VoiceShare& share : mix) {
    if (share.data) {
      return Error{ErrorCode::kUnsupported, "this model's voices are fixed", "voice"};
    }
    const std::string& name = share.voice.empty() ? usual : share.voice;
    const auto found = voices.find(name);
    if (found == voices.end()) {
      return Error{ErrorCode::kNotFound,
                   concat("there is no voice '", name, "'; the checkpoint has ", voices.size(),
                          " in its folder voices, such as '", usual, "'"),
                   "voice"};
    }
    packs.push_back(found->second);
    sum += share.weight;
  }
  if (packs.size() == 1) return packs.front();
  auto pack = std::make_shared<VoicePack>(packs.front()->size(), 0.f);
  for (size_t i = 0; i < packs.size(); ++i) {
    const auto weight = static_cast<float>(mix[i].weight / sum);
    for (size_t n = 0; n < pack->size(); ++n) (*pack)[n] += weight * (*packs[i])[n];
  }
  return std::shared_ptr<const VoicePack>(std::move(pack));
}

std::string language_of(const std::string& voice) {
  static const std::map<char, std::string> kLanguages{{'a', "en-us"}, {'b', "en-gb"}, {'e', "es"},
                                                      {'f', "fr-fr"}, {'h', "hi"},    {'i', "it"},
                                                      {'j', "ja"},    {'p', "pt-br"}, {'z', "cmn"}};
  const bool named = voice.size() > 3 && voice[2] == '_';
  const auto found = named ? kLanguages.find(voice[0]) : kLanguages.end();
  return found == kLanguages.end() ? "" : found->second;
}

}  // namespace syrinx::kokoro
