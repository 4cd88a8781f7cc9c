#include "library/loaded_model.h"

#include <dlfcn.h>

#include <future>
#include <utility>
#include <vector>

#include "io/file.h"
#include "library/syrinx.h"
#include "runtime/runtime.h"
#include "voices/voices.h"

namespace syrinx {
namespace {

constexpr size_t kCacheBytes = size_t{64} << 20;

/// Returns the path of the built-in voice `model` near the shared library: in a folder beside the
/// library (installed), or in the source tree of a build folder. Empty if not found.
std::string voices_near_library(const std::string& model) {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&syrinx_version), &here) == 0) return "";
  const std::string file = here.dli_fname;
  const std::string dir = file.substr(0, file.rfind('/') + 1);
  for (const char* place :
       {"voices", "../share/syrinx/voices", "../../share/syrinx/voices", "../../voices"}) {
    if (is_file(join_path(join_path(dir + place, model), "config.json"))) return dir + place;
  }
  return "";
}

}  // namespace

LoadedModel::LoadedModel(LoadOptions options, const LoadedModel* beside) : cache_(kCacheBytes) {
  if (options.model.find('/') == std::string::npos) {
    options.voices_dir = voices_near_library(options.model);
  }
  engine_ = load_engine(options, beside != nullptr ? beside->engine().machine() : nullptr);
  if (!info().speaks) throw LoadError("the model '" + info().model + "' does not speak");
  if (const VoiceEncoder* encoder = engine_->pipeline().voice_encoder())
    voices_ = std::make_unique<VoiceQueue>(*encoder);
  const std::string kept = VoiceStore::default_directory();
  if (!kept.empty()) store_ = std::make_unique<VoiceStore>(kept);
}

uint32_t LoadedModel::traits() const {
  uint32_t out = 0;
  if (info().speech.word_times) out |= SYRINX_TELLS_WORDS;
  if (info().speech.late_text != LateText::kNone) out |= SYRINX_HEARS_LATE_TEXT;
  if (engine_->pipeline().voice_encoder() != nullptr) out |= SYRINX_CLONES;
  if (info().speech.mixes) out |= SYRINX_MIXES_VOICES;
  if (info().offers.has("instructions")) out |= SYRINX_TAKES_INSTRUCTIONS;
  return out;
}

Result<Voice> LoadedModel::learn(Recording recording) const {
  if (!voices_) return cannot_clone(info(), "");
  auto promise = std::make_shared<std::promise<Result<Voice>>>();
  auto result = promise->get_future();
  const auto id = voices_->encode(std::move(recording), 0, [promise](Result<Voice> voice) {
    promise->set_value(std::move(voice));
  });
  if (!id) return id.error();
  return result.get();
}

Status LoadedModel::choose_voice(const std::string& name, SpeechRequest& request) {
  const VoiceEncoder* encoder = engine_->pipeline().voice_encoder();
  const Speaker speaker(info(), encoder == nullptr ? nullptr : &encoder->info(), store_.get());
  const auto wishes = find_voices(speaker, name);
  if (!wishes) return wishes.error();
  std::vector<std::shared_ptr<const Voice>> fetched;
  for (const VoiceWish& wish : wishes.value()) {
    if (!wish.source) continue;
    auto prepared = prepare_voice(speaker, *wish.source, {.cache = &cache_});
    if (!prepared) return prepared.error();
    if (!prepared.value().voice) {
      auto voice = learn(std::move(prepared.value().recording));
      if (!voice) return voice.error();
      prepared.value().voice = keep_voice(speaker, prepared.value(), voice.take(), &cache_);
    }
    fetched.push_back(prepared.value().voice);
  }
  put_voices(wishes.value(), fetched, request);
  return ok_status();
}

}  // namespace syrinx
