#include "families/cosyvoice2/voices.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/float16.h"
#include "io/file.h"
#include "io/torch_pickle.h"
#include "kernels/sample.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr int64_t kMostTokens = 1500;  // one minute; the authors' code uses half a minute
constexpr int64_t kDummyTokens = 75;

/// Reads the fields of one spk2info file.
class SpeakerFile {
 public:
  explicit SpeakerFile(const std::string& path) : file_(path) {}

  /// Returns the names of the voices. The field "NAME.embedding" belongs to NAME.
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const TorchTensor& tensor : file_.tensors()) {
      const size_t dot = tensor.name.rfind('.');
      if (dot != std::string::npos && dot > 0) out.insert(tensor.name.substr(0, dot));
    }
    return out;
  }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    load_fault(file_.path(), name, what);
  }

  /// Reads a tensor [1, n] of ids below `bound`. Returns no ids if the file has no such tensor.
  std::vector<int32_t> ids(const std::string& name, int64_t bound) const {
    const TorchTensor* tensor = file_.find(name);
    if (!tensor) return {};
    if (tensor->sizes.size() != 2 || tensor->sizes[0] != 1 || tensor->count() > kMostTokens) {
      fail(name, "expected ids [1, n], at most " + std::to_string(kMostTokens) + ", got " +
                     tensor->str());
    }
    const View view = file_.view(*tensor);
    std::vector<int32_t> out;
    for (int64_t i = 0; i < view.count(); ++i) {
      int64_t id = -1;
      if (view.dtype == DType::kI32) {
        id = view.i32()[i];
      } else if (view.dtype == DType::kI64) {
        id = static_cast<const int64_t*>(view.data)[i];
      } else {
        fail(name, "expected i32 or i64, got " + tensor->str());
      }
      if (id < 0 || id >= bound) {
        fail(name, "id " + std::to_string(id) + " is outside [0, " + std::to_string(bound) + ")");
      }
      out.push_back(static_cast<int32_t>(id));
    }
    return out;
  }

  /// Reads a float tensor [rows, width]. Any dimensions before these must be 1.
  Tensor floats(const std::string& name, int64_t rows, int64_t width) const {
    const TorchTensor* tensor = file_.find(name);
    if (!tensor) fail(name, "is missing");
    std::vector<int64_t> sizes = tensor->sizes;
    while (sizes.size() > 2 && sizes.front() == 1) sizes.erase(sizes.begin());
    if (sizes.size() == 1) sizes.insert(sizes.begin(), 1);
    const bool fits = sizes.size() == 2 && sizes[0] >= rows && sizes[0] <= 2 * kMostTokens + rows &&
                      sizes[1] == width;
    if (!fits) {
      fail(name, "expected floats [" + std::to_string(rows) + ", " + std::to_string(width) +
                     "], got " + tensor->str());
    }
    const View view = file_.view(*tensor);
    if (view.dtype != DType::kF32 && view.dtype != DType::kF16 && view.dtype != DType::kBF16) {
      fail(name, "expected floats, got " + tensor->str());
    }
    return to_f32(view.reshape({sizes[0], width}).slice(0, rows));
  }

 private:
  TorchPickle file_;
};

Voice load_voice(const SpeakerFile& file, const std::string& name, const ModelConfig& config,
                 const S3Flow& flow) {
  const auto field = [&](const char* key) { return name + "." + key; };
  Voice voice;
  voice.prompt_text = file.ids(field("prompt_text"), config.text_vocab);
  voice.prompt_speech = file.ids(field("llm_prompt_speech_token"), config.speech_codes);
  std::vector<int32_t> tokens = file.ids(field("flow_prompt_speech_token"), config.speech_codes);
  const auto frames = static_cast<int64_t>(tokens.size()) * config.flow.ratio;
  Tensor mel;
  if (frames > 0) mel = file.floats(field("prompt_speech_feat"), frames, config.flow.mel);
  const std::string key = field(file.has(field("flow_embedding")) ? "flow_embedding" : "embedding");
  const Tensor speaker = file.floats(key, 1, config.flow.speaker);
  voice.flow = flow.voice(std::move(tokens), std::move(mel),
                          {speaker.f32(), static_cast<size_t>(config.flow.speaker)});
  return voice;
}

void load_file(const std::string& path, const ModelConfig& config, const S3Flow& flow,
               Voices& voices) {
  const SpeakerFile file(path);
  for (const std::string& name : file.names()) {
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
