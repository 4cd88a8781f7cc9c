#include "families/vibevoice/voice.h"

#include <algorithm>

#include "families/loading/voice_tensors.h"
#include "io/file.h"
#include "io/torch_pickle.h"
#include "kernels/sample.h"

namespace syrinx::vibevoice {
namespace {

/// Classes of transformers whose objects the files may contain.
constexpr std::string_view kClasses[] = {"transformers.modeling_outputs BaseModelOutputWithPast",
                                         "transformers.cache_utils DynamicCache"};

/// Reads one part of a voice's file: the cache and the output of one of the models.
class Part {
 public:
  Part(const TorchPickle& file, const char* name, const DecoderConfig& model)
      : file_(file), name_(name), model_(model) {
    const TorchTensor& last = find("last_hidden_state");
    if (last.sizes.size() != 3 || last.sizes[0] != 1 || last.sizes[1] < 1 ||
        last.sizes[2] != model.hidden) {
      fail("last_hidden_state",
           concat("expected floats [1, positions, ", model.hidden, "], got ", last.str()));
    }
    rows_ = last.sizes[1];
  }

  int64_t rows() const { return rows_; }
  Tensor output() const { return floats("last_hidden_state", {1, rows_, model_.hidden}); }
  /// Writes the keys and values of all layers to `out`, whose rows are `stride` numbers apart.
  /// `at`: index in a row of `out` of this model's first layer.
  void cache(int64_t at, int64_t stride, std::vector<float>& out) const {
    const int64_t heads = model_.kv_heads, size = model_.head_dim, width = heads * size;
    for (int64_t i = 0; i < 2 * int64_t{model_.layers}; ++i) {
      const bool keys = i % 2 == 0;
      const Tensor layer =
          floats(concat("past_key_values.", keys ? "key" : "value", "_cache.", i / 2),
                 {1, heads, rows_, size});
      for (int64_t head = 0; head < heads; ++head) {
        for (int64_t row = 0; row < rows_; ++row) {
          std::copy_n(layer.f32() + (head * rows_ + row) * size, size,
                      out.data() + row * stride + at + i * width + head * size);
        }
      }
    }
    if (file_.find(full(concat("past_key_values.key_cache.", model_.layers))) != nullptr) {
      fail("past_key_values.key_cache", concat("has more than ", model_.layers, " layers"));
    }
  }

 private:
  std::string full(const std::string& name) const { return concat(name_, ".", name); }
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    load_fault(file_.path(), full(name), what);
  }
  const TorchTensor& find(const std::string& name) const {
    const TorchTensor* tensor = file_.find(full(name));
    if (!tensor) fail(name, "is missing");
    return *tensor;
  }
  Tensor floats(const std::string& name, const Shape& shape) const {
    const TorchTensor& tensor = find(name);
    if (!tensor.dtype || tensor.sizes.size() > Shape::kMaxDims ||
        Shape(std::span<const int64_t>(tensor.sizes)) != shape) {
      fail(name, concat("expected floats ", shape.str(), ", got ", tensor.str()));
    }
    return stored_floats(file_.view(tensor), file_.path(), full(name));
  }

  const TorchPickle& file_;
  const char* name_;
  const DecoderConfig& model_;
  int64_t rows_ = 0;
};

VoiceRows read_voice(const ModelConfig& config, const std::string& path) {
  const TorchPickle file(path, kClasses);
  const Part text(file, "lm", config.text), speech(file, "tts_lm", config.speech);
  const Part companion(file, "neg_tts_lm", config.speech);
  // Text positions are stored in the speech positions, so there must not be more text positions.
  const int64_t most = config.max_positions / 2;
  if (text.rows() > speech.rows() || speech.rows() > most || companion.rows() > most) {
    load_fault(path, "",
               concat("expected at most ", most, " positions, and lm at most those of tts_lm; got ",
                      text.rows(), " of lm, ", speech.rows(), " of tts_lm, ", companion.rows(),
                      " of neg_tts_lm"));
  }
  const int64_t width = config.cache_row(), hidden = config.hidden();
  const int64_t below = 2 * config.text.layers * config.kv_width();
  VoiceRows voice;
  voice.rows = static_cast<int>(speech.rows()), voice.texts = static_cast<int>(text.rows());
  voice.companion_rows = static_cast<int>(companion.rows());
  voice.numbers.resize(static_cast<size_t>(speech.rows() * width));
  voice.companion.resize(static_cast<size_t>(companion.rows() * (width + hidden)));
  text.cache(0, width, voice.numbers);
  speech.cache(below, width, voice.numbers);
  companion.cache(below, width + hidden, voice.companion);
  const Tensor output = companion.output();
  for (int64_t row = 0; row < companion.rows(); ++row) {
    std::copy_n(output.f32() + row * hidden, hidden,
                voice.companion.data() + row * (width + hidden) + width);
  }
  return voice;
}

}  // namespace

std::unique_ptr<VoiceFiles<VoiceRows>> open_voices(const ModelConfig& config,
                                                   const std::string& dir) {
  return std::make_unique<VoiceFiles<VoiceRows>>(
      files_below(dir, {"voices", "demo/voices"}, ".pt"),
      [config](const std::string& path) { return read_voice(config, path); });
}

VoiceRows random_voice(const ModelConfig& config) {
  VoiceRows voice;
  // Makes as many rows as a published voice has, if enough positions exist.
  voice.rows = static_cast<int>(std::min<int64_t>(183, config.max_positions / 4));
  voice.texts = std::min(60, voice.rows), voice.companion_rows = 1;
  const int64_t width = config.cache_row();
  voice.numbers.resize(static_cast<size_t>(voice.rows * width));
  voice.companion.resize(static_cast<size_t>(width + config.hidden()));
  philox_normal(1, 0, 0, voice.numbers);
  philox_normal(1, 1, 0, voice.companion);
  return voice;
}

}  // namespace syrinx::vibevoice
