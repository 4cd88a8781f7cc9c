#include "families/orpheus/editions.h"

#include <algorithm>

#include "text/unicode.h"

namespace syrinx::orpheus {
namespace {

/// Returns the names of svara's voices: "Hindi (Female)", ...
std::vector<std::string> languages_and_genders() {
  std::vector<std::string> out;
  for (const char* language :
       {"Hindi", "Bengali", "Marathi", "Telugu", "Kannada", "Bhojpuri", "Magahi", "Chhattisgarhi",
        "Maithili", "Assamese", "Bodo", "Dogri", "Gujarati", "Malayalam", "Punjabi", "Tamil",
        "English", "Nepali", "Sanskrit"}) {
    for (const char* gender : {" (Female)", " (Male)"})
      out.push_back(language + std::string(gender));
  }
  return out;
}

constexpr const char* kApache = "Apache-2.0 (see the checkpoint); codec MIT";

const std::vector<Edition>& editions() {
  static const std::vector<Edition> kAll{
      // maya-research/Veena, as in the example of its model card.
      {.name = "Veena",
       .marker = "<spk_kavya>",
       .before = {kHuman},
       .behind = {kHumanEnd, kAi, kSpeech},
       .voice_begin = "<spk_",
       .voice_end = "> ",
       .voice_is_token = true,
       .cleaned = false,
       .voices = {"kavya", "agastya", "maitri", "vinaya"},
       .sampling = {.temperature = 0.4f, .top_p = 0.9f, .repetition_penalty = 1.05f},
       .language = "auto",
       .licence = kApache},
      // maya-research/maya1 (transformers_inference.py), whose tokenizer also writes a first token.
      {.name = "Maya1",
       .marker = "<laugh_harder>",
       .before = {kBegin, kHuman, kBegin},
       .voice_begin = "<description=\"",
       .voice_end = "\"> ",
       .description =
           "Realistic male voice in the 30s age with american accent. Normal pitch, warm "
           "timbre, conversational pacing.",
       .cleaned = false,
       .tags = {"<angry>",        "<appalled>", "<chuckle>",      "<cry>",         "<curious>",
                "<disappointed>", "<excited>",  "<exhale>",       "<gasp>",        "<giggle>",
                "<gulp>",         "<laugh>",    "<laugh_harder>", "<mischievous>", "<sarcastic>",
                "<scream>",       "<sigh>",     "<sing>",         "<snort>",       "<whisper>"},
       .voices = {"default"},
       .sampling = {.temperature = 0.4f, .top_p = 0.9f, .repetition_penalty = 1.1f},
       .licence = kApache},
      // kenpath/svara-tts-v1, as in svara-tts-inference, tts_engine/encoder.py and transports.py.
      {.name = "svara",
       .named = {"svara"},
       .before = {kBegin, kHuman, kAudio},
       .behind = {kHumanEnd, kTurnEnd, kAi, kSpeech},
       .cleaned = false,
       .voices = languages_and_genders(),
       .sampling = {.temperature = 0.75f, .top_k = 40, .top_p = 0.9f, .repetition_penalty = 1.1f},
       .language = "auto",
       .licence = kApache},
      // The authors' multilingual releases, with their names as GGUF files. Source of the voices:
      // Lex-au/Orpheus-FastAPI:README.md.
      {.named = {"3b-fr-", "3b-french"},
       .voices = {"pierre", "amelie", "marie"},
       .language = "french"},
      {.named = {"3b-de-", "3b-german"}, .voices = {"jana", "thomas", "max"}, .language = "german"},
      {.named = {"3b-ko-", "3b-korean"}, .voices = {"유나", "준서"}, .language = "korean"},
      {.named = {"3b-hi-", "3b-hindi"}, .voices = {"ऋतिका"}, .language = "hindi"},
      {.named = {"3b-zh-", "3b-chinese"}, .voices = {"长乐", "白芷"}, .language = "chinese"},
      {.named = {"3b-es_it-", "3b-italian_spanish"},
       .voices = {"javi", "sergio", "maria", "pietro", "giulia", "carlo"},
       .language = "auto"},
      {}};
  return kAll;
}

}  // namespace

const Edition& edition_of(const Tokenizer& tokenizer, const std::string& name) {
  const std::string lower = to_lower(name);
  return *std::ranges::find_if(editions(), [&](const Edition& edition) {
    if (*edition.marker != 0) return tokenizer.id(edition.marker).has_value();
    return edition.named.empty() || std::ranges::any_of(edition.named, [&](const char* part) {
             return lower.find(part) != lower.npos;
           });
  });
}

}  // namespace syrinx::orpheus
