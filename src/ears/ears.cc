#include "ears/ears.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "ears/dictation_recogniser.h"
#include "ears/pocketsphinx.h"
#include "ears/stream_recogniser.h"
#include "ears/whisper_recogniser.h"

namespace syrinx {
namespace {

constexpr std::array<std::string_view, 5> kVendorEars = {
    "whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe", "gpt-4o-transcribe-diarize",
    "gpt-realtime-whisper"};

}  // namespace

bool is_vendor_ear(std::string_view name) {
  // names are prefixes: "gpt-4o-mini-transcribe-2025-03-20" matches, too
  return std::any_of(kVendorEars.begin(), kVendorEars.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

std::shared_ptr<Recogniser> recogniser_of(const std::shared_ptr<Engine>& engine,
                                          std::shared_ptr<const SileroVad> vad) {
  if (auto whisper = whisper_recogniser(engine, {.vad = std::move(vad)})) return whisper;
  if (auto streaming = stream_recogniser(engine)) return streaming;
  return dictation_recogniser(engine);
}

std::shared_ptr<Recogniser> open_recogniser(const LoadOptions& model,
                                            std::shared_ptr<const SileroVad> vad) {
  const std::shared_ptr<Engine> engine = load_engine(model);
  if (auto recogniser = recogniser_of(engine, std::move(vad))) return recogniser;
  throw LoadError(concat(model.model, " is a model of the family '",
                         engine->pipeline().info().family, "', which does not recognise speech"));
}

std::shared_ptr<Recogniser> open_recogniser(const std::string& name, LoadOptions how,
                                            std::shared_ptr<const SileroVad> vad) {
  if (name == "pocketsphinx") return open_pocketsphinx({.vad = std::move(vad)});
  how.model = name;
  return open_recogniser(how, std::move(vad));
}

Ears::Ears(std::vector<std::shared_ptr<Recogniser>> recognisers, bool asked_for)
    : recognisers_(std::move(recognisers)), asked_for_(asked_for) {
  for (auto at = recognisers_.begin(); at != recognisers_.end(); ++at) {
    const std::string& name = (*at)->info().name;
    if (std::any_of(recognisers_.begin(), at,
                    [&](const auto& before) { return before->info().name == name; })) {
      throw LoadError(concat("two recognisers are called '", name, "'"));
    }
  }
}

Result<std::shared_ptr<Recogniser>> Ears::find(std::string_view name) const {
  std::string known;
  for (const auto& each : recognisers_) {
    if (each->info().name == name) return each;
    known += (known.empty() ? "" : ", ") + each->info().name;
  }
  if (!recognisers_.empty() && takes_any_ear(name)) return recognisers_.front();
  return Error{ErrorCode::kNotFound,
               concat("The model '", name.substr(0, 200), "' does not recognise speech; ",
                      known.empty() ? "no model of this server does" : "these do: " + known, "."),
               "model"};
}

}  // namespace syrinx
