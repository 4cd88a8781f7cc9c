#include "families/cosyvoice2/voices.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/float16.h"
#include "families/s3/pickled_voices.h"
#include "io/file.h"
#include "kernels/sample.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr int64_t kDummyTokens = 75;

/// Returns the names of the voices in a spk2info file. The field "NAME.embedding" belongs to NAME.
std::set<std::string> names_in(const PickledVoices& file) {
  std::set<std::string> out;
  for (const TorchTensor& tensor : file.file().tensors()) {
    const size_t dot = tensor.name.rfind('.');
    if (dot != std::string::npos && dot > 0) out.insert(tensor.name.substr(0, dot));
  }
  return out;
}

/// Reads a tensor [1, n] of ids below `bound`. Returns no ids if the file has no such tensor.
std::vector<int32_t> ids(const PickledVoices& file, const std::string& name, int64_t bound) {
  if (!file.has(name)) return {};
  const TorchTensor& tensor = file.get(name);
  if (tensor.sizes.size() != 2 || tensor.sizes[0] != 1) {
    file.fail(name, "expected ids [1, n], got " + tensor.str());
  }
  return file.ids(name, bound);
}

/// Reads a float tensor [rows, width]. Any dimensions before these must be 1.
Tensor floats(const PickledVoices& file, const std::string& name, int64_t rows, int64_t width) {
  const TorchTensor& tensor = file.get(name);
  std::vector<int64_t> sizes = tensor.sizes;
  while (sizes.size() > 2 && sizes.front() == 1) sizes.erase(sizes.begin());
  if (sizes.size() == 1) sizes.insert(sizes.begin(), 1);
  const bool fits = sizes.size() == 2 && sizes[0] >= rows &&
                    sizes[0] <= 2 * PickledVoices::kMostTokens + rows && sizes[1] == width;
  if (!fits) {
    file.fail(name, concat("expected floats [", rows, ", ", width, "], got ", tensor.str()));
  }
  return to_f32(file.floats(tensor).reshape({sizes[0], width}).slice(0, rows));
}

Voice load_voice(const PickledVoices& file, const std::string& name, const ModelConfig& config,
                 const S3Flow& flow) {
  const auto field = [&](const char* key) { return name + "." + key; };
  Voice voice;
  voice.prompt_text = ids(file, field("prompt_text"), config.text_vocab);
  voice.prompt_speech = ids(file, field("llm_prompt_speech_token"), config.speech_codes);
  std::vector<int32_t> tokens = ids(file, field("flow_prompt_speech_token"), config.speech_codes);
  const auto frames = static_cast<int64_t>(tokens.size()) * config.flow.ratio;
  Tensor mel;
  if (frames > 0) mel = floats(file, field("prompt_speech_feat"), frames, config.flow.mel);
  const std::string key = field(file.has(field("flow_embedding")) ? "flow_embedding" : "embedding");
  const Tensor speaker = floats(file, key, 1, config.flow.speaker);
  voice.flow = flow.voice(std::move(tokens), std::move(mel),
                          {speaker.f32(), static_cast<size_t>(config.flow.speaker)});
  return voice;
}

void load_file(const std::string& path, const ModelConfig& config, const S3Flow& flow,
               Voices& voices) {
  const PickledVoices file(path);
  for (const std::string& name : names_in(file)) {
    if (!voices.emplace(name, load_voice(file, name, config, flow)).second) {
      file.fail(name, "another file has a voice of this name");
    }
  }
}

}  // namespace

Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow) {
  Voices voices;
  const std::string path = join_path(dir, "spk2info.pt");
  if (is_file(path)) load_file(path, config, flow, voices);
  std::vector<std::string> more;
  std::error_code error;
  for (std::filesystem::directory_iterator each(join_path(dir, "voices"), error), end;
       !error && each != end; each.increment(error)) {
    if (each->path().extension() == ".pt") more.push_back(each->path().string());
  }
  std::sort(more.begin(), more.end());
  for (const std::string& file : more) load_file(file, config, flow, voices);
  return voices;
}

Voices dummy_voices(const ModelConfig& config, const S3Flow& flow) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < kDummyTokens; ++i) {
    tokens.push_back(static_cast<int32_t>(i * 37 % config.speech_codes));
  }
  Tensor mel({kDummyTokens * config.flow.ratio, config.flow.mel}, DType::kF32);
  std::vector<float> speaker(static_cast<size_t>(config.flow.speaker));
  philox_normal(1, 0, 0, {mel.f32(), static_cast<size_t>(mel.view().count())});
  philox_normal(1, 1, 0, speaker);
  Voice voice;
  voice.prompt_text = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  voice.prompt_speech = tokens;
  voice.flow = flow.voice(tokens, std::move(mel), speaker);
  Voices voices;
  voices.emplace("dummy", std::move(voice));
  return voices;
}

}  // namespace syrinx::cosyvoice2
