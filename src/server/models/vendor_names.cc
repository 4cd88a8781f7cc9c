#include "server/models/vendor_names.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace syrinx {
namespace {

constexpr std::array<std::string_view, 4> kOpenAiModels = {"tts-1", "tts-1-hd", "gpt-4o-mini-tts",
                                                           "gpt-4o-mini-tts-2025-12-15"};
constexpr std::array<std::string_view, 13> kOpenAiVoices = {
    "alloy", "ash",  "ballad",  "coral", "echo",  "fable", "onyx",
    "nova",  "sage", "shimmer", "verse", "marin", "cedar"};

}  // namespace

bool is_vendor_model(std::string_view name) {
  return std::find(kOpenAiModels.begin(), kOpenAiModels.end(), name) != kOpenAiModels.end() ||
         name.starts_with("eleven_") || name.starts_with("sonic") || name.starts_with("aura");
}

bool is_vendor_voice(std::string_view name) {
  return std::find(kOpenAiVoices.begin(), kOpenAiVoices.end(), lower_ascii(name)) !=
             kOpenAiVoices.end() ||
         name.starts_with("aura-");
}

std::string kokoro_language(std::string_view code) {
  struct Letter {
    char letter;
    const char* language;
  };
  static constexpr std::array<Letter, 9> kLetters{{{'a', "en-us"},
                                                   {'b', "en-gb"},
                                                   {'e', "es"},
                                                   {'f', "fr-fr"},
                                                   {'h', "hi"},
                                                   {'i', "it"},
                                                   {'j', "ja"},
                                                   {'p', "pt-br"},
                                                   {'z', "zh"}}};
  const auto found = std::find_if(kLetters.begin(), kLetters.end(), [&](const Letter& each) {
    return code.size() == 1 && lower_ascii(code[0]) == each.letter;
  });
  return found == kLetters.end() ? std::string(code) : found->language;
}

}  // namespace syrinx
