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

/// Returns an edition by the authors of Orpheus, as in their package (orpheus_tts/engine_class.py).
Edition of_language(std::vector<const char*> named, const char* language,
                    std::vector<std::string> voices) {
  return {.name = "Orpheus",
          .marker = "",
          .named = std::move(named),
          .before = {kHuman, kBegin},
          .behind = {kTurnEnd, kHumanEnd, kAi, kSpeech},
          .voice_begin = "",
          .voice_end = ": ",
          .cleaned = true,
          .voices = std::move(voices),
          .sampling = {.temperature = 0.6f, .top_p = 0.8f, .repetition_penalty = 1.3f},
          .language = language,
          .licence = "Llama 3.2 Community License (see the checkpoint); codec MIT"};
}

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
       .voices = {"kavya", "agastya", "maitri", "vinaya"},
       .sampling = {.temperature = 0.4f, .top_p = 0.9f, .repetition_penalty = 1.05f},
       .language = "auto",
       .licence = "Apache-2.0 (see the checkpoint); codec MIT"},
      // maya-research/maya1 (transformers_inference.py), whose tokenizer also writes a first token.
      {.name = "Maya1",
       .marker = "<laugh_harder>",
       .before = {kBegin, kHuman, kBegin},
       .behind = {kTurnEnd, kHumanEnd, kAi, kSpeech},
       .voice_begin = "<description=\"",
       .voice_end = "\"> ",
       .description =
           "Realistic male voice in the 30s age with american accent. Normal pitch, warm "
           "timbre, conversational pacing.",
       .tags = {"<angry>",        "<appalled>", "<chuckle>",      "<cry>",         "<curious>",
                "<disappointed>", "<excited>",  "<exhale>",       "<gasp>",        "<giggle>",
                "<gulp>",         "<laugh>",    "<laugh_harder>", "<mischievous>", "<sarcastic>",
                "<scream>",       "<sigh>",     "<sing>",         "<snort>",       "<whisper>"},
       .voices = {"default"},
       .sampling = {.temperature = 0.4f, .top_p = 0.9f, .repetition_penalty = 1.1f},
       .language = "english",
       .licence = "Apache-2.0 (see the checkpoint); codec MIT"},
      // kenpath/svara-tts-v1, as in svara-tts-inference, tts_engine/encoder.py and transports.py.
      {.name = "svara",
       .marker = "",
       .named = {"svara"},
       .before = {kBegin, kHuman, kAudio},
       .behind = {kHumanEnd, kTurnEnd, kAi, kSpeech},
       .voice_begin = "",
       .voice_end = ": ",
       .voices = languages_and_genders(),
       .sampling = {.temperature = 0.75f, .top_k = 40, .top_p = 0.9f, .repetition_penalty = 1.1f},
       .language = "auto",
       .licence = "Apache-2.0 (see the checkpoint); codec MIT"},
      // The authors' multilingual releases, with their names as GGUF files. Source of the voices:
      // Lex-au/Orpheus-FastAPI:README.md.
      of_language({"3b-fr-", "3b-french"}, "french", {"pierre", "amelie", "marie"}),
      of_language({"3b-de-", "3b-german"}, "german", {"jana", "thomas", "max"}),
      of_language({"3b-ko-", "3b-korean"}, "korean", {"유나", "준서"}),
      of_language({"3b-hi-", "3b-hindi"}, "hindi", {"ऋतिका"}),
      of_language({"3b-zh-", "3b-chinese"}, "chinese", {"长乐", "白芷"}),
      of_language({"3b-es_it-", "3b-italian_spanish"}, "auto",
                  {"javi", "sergio", "maria", "pietro", "giulia", "carlo"}),
      of_language({}, "english",
                  {"tara", "leah", "jess", "leo", "dan", "mia", "zac", "zoe", "julia"})};
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

const Edition& first_edition() { return editions().back(); }

}  // namespace syrinx::orpheus
