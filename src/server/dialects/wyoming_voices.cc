#include "server/dialects/wyoming_voices.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "server/models/vendor_names.h"
#include "text/languages.h"

namespace syrinx {
namespace {

std::vector<std::string> languages_of(const PipelineInfo& info) {
  std::vector<std::string> out;
  for (const std::string& language : info.speech.languages) {
    if (is_any_language(language)) continue;
    out.push_back(language.find('-') == language.npos ? language_code(language) : language);
  }
  if (out.empty()) out.emplace_back("en");
  return out;
}

void add_voices(const ModelTable::Entry& entry, const VoiceDesk* desk,
                std::unordered_set<std::string>& names, std::vector<WyomingVoice>& out) {
  const PipelineInfo& info = *entry.facts;
  const std::vector<std::string> languages = languages_of(info);
  const auto add = [&](std::string name, std::string description, std::string voice,
                       std::vector<std::string> speakers = {}) {
    if (names.contains(name)) name = concat(entry.name, "/", name);
    if (!names.insert(name).second) return;
    out.push_back({.name = std::move(name),
                   .description = std::move(description),
                   .model = entry.name,
                   .voice = std::move(voice),
                   .family = info.family,
                   .languages = languages,
                   .speakers = std::move(speakers)});
  };
  if (info.speech.voices_are_speakers) {
    std::vector<std::string> speakers;
    for (const VoiceInfo& voice : info.speech.voices) speakers.push_back(voice.id);
    return add(entry.name, entry.name, "", std::move(speakers));
  }
  for (const VoiceInfo& voice : info.speech.voices) add(voice.id, voice.description, voice.id);
  if (desk == nullptr || desk->store() == nullptr || !entry.backend) return;
  const Speaker speaker = desk->speaker(*entry.backend);
  for (const StoredVoice& voice : desk->store()->list()) {
    if (!can_speak_with(speaker, voice) || find_own_voice(info, voice.id)) continue;
    add(voice.id, voice.description.empty() ? voice.name : voice.description, voice.id);
  }
}

std::optional<WyomingVoice> voice_called(std::span<const WyomingVoice> voices,
                                         std::string_view name) {
  const auto found = std::ranges::find(voices, name, &WyomingVoice::name);
  return found == voices.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<WyomingVoice> wyoming_voices(const ModelTable& models, const VoiceDesk* desk) {
  std::vector<WyomingVoice> out;
  std::unordered_set<std::string> names;
  for (const ModelTable::Entry& entry : models.list()) {
    if (entry.facts && entry.facts->speaks && entry.trouble.empty()) {
      add_voices(entry, desk, names, out);
    }
  }
  return out;
}

WyomingChoice choose_wyoming_voice(const ModelTable& models, const VoiceDesk* desk,
                                   const WyomingWish& wish) {
  const std::vector<WyomingVoice> voices = wyoming_voices(models, nullptr);
  const std::string first = models.list().front().name;
  if (wish.voice.empty()) {
    const auto speaks = [&](const WyomingVoice& voice) {
      return find_language(voice.languages, wish.language).has_value();
    };
    auto found = std::ranges::find_if(
        voices, [&](const WyomingVoice& voice) { return voice.model == first && speaks(voice); });
    if (found == voices.end()) found = std::ranges::find_if(voices, speaks);
    const bool other = !wish.language.empty() && found != voices.end() && found->model != first;
    return {other ? found->model : first, other ? found->voice : ""};
  }
  // Stored voices are in files: they are read only if no model has a voice of that name.
  const auto called_so = [&](const std::string& name) {
    auto own = voice_called(voices, name);
    if (own || desk == nullptr || desk->store() == nullptr) return own;
    return voice_called(wyoming_voices(models, desk), name);
  };
  if (const auto voice = called_so(wish.voice)) {
    return {voice->model, voice->speakers.empty() ? voice->voice : wish.speaker};
  }
  const std::shared_ptr<Backend> usual = models.first();
  const VoiceAliases* aliases = desk && usual ? desk->speaker(*usual).aliases : nullptr;
  std::string called = wish.voice;
  if (aliases != nullptr) {
    if (const auto alias = aliases->find(called); alias != aliases->end()) called = alias->second;
  }
  // The model of a mix's first voice speaks the mix.
  const std::string head = called.substr(0, called.find_first_of("(+"));
  if (const auto voice = called_so(head)) return {voice->model, called};
  if (!is_vendor_voice(called) && !is_vendor_model(called)) {
    if (const auto entry = models.look_up(called)) return {entry->name, wish.speaker};
  }
  return {first, wish.voice};
}

}  // namespace syrinx
