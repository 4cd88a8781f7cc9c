// The editions of Orpheus: models with the same Llama, speech tokens and codec, but other voices
// and another prompt. An edition has the tokens that surround a text, and its authors' defaults.
// Constants; any thread.
#pragma once

#include <string>
#include <vector>

#include "kernels/sample.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::orpheus {

// Tokens that are not codes.
inline constexpr const char *kBegin = "<|begin_of_text|>", *kTurnEnd = "<|eot_id|>",
                            *kSpeech = "<custom_token_1>", *kSpeechEnd = "<custom_token_2>",
                            *kHuman = "<custom_token_3>", *kHumanEnd = "<custom_token_4>",
                            *kAi = "<custom_token_5>", *kAudio = "<|audio|>";

/// Plain data. The defaults are those of the authors' English model, in their package
/// (orpheus_tts/engine_class.py).
struct Edition {
  const char* name = "Orpheus";
  /// A token that only tokenizers of this edition have. If empty, `named` identifies the edition.
  const char* marker = "";
  /// Parts of names, in small letters; the model's name or path must contain one. Empty: all other
  /// names. Editions with `named` have Orpheus' own tokenizer, including its last token <|audio|>.
  std::vector<const char*> named = {};
  /// Tokens before and after the voice with the text.
  std::vector<const char*> before = {kHuman, kBegin}, behind = {kTurnEnd, kHumanEnd, kAi, kSpeech};
  /// Text before and after the name of a voice. The text to speak follows.
  const char *voice_begin = "", *voice_end = ": ";
  bool voice_is_token = false;  ///< `voice_begin`, the name and '>' form one token
  /// Description of the only voice, which replaces its name unless instructions have a description.
  const char* description = nullptr;
  bool cleaned = true;  ///< whether spaces before marks are removed
  /// Tokens that a text may contain, e.g. "<laugh>".
  std::vector<const char*> tags = {};
  /// Names of voices; the default voice is first.
  std::vector<std::string> voices = {"tara", "leah", "jess", "leo",  "dan",
                                     "mia",  "zac",  "zoe",  "julia"};
  SampleParams sampling = {.temperature = 0.6f, .top_p = 0.8f, .repetition_penalty = 1.3f};
  const char* language = "english";
  const char* licence = "Llama 3.2 Community License (see the checkpoint); codec MIT";
};

/// Returns the edition for a tokenizer and for a model's name or path, ignoring its case.
const Edition& edition_of(const Tokenizer& tokenizer, const std::string& name);

}  // namespace syrinx::orpheus
