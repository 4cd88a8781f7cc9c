// The editions of Orpheus: models with the same Llama, speech tokens and codec, but other voices
// and another prompt. An edition has the tokens that surround a text, and its authors' defaults.
// Constants; any thread.
#pragma once

#include <string>
#include <vector>

#include "families/orpheus/config.h"
#include "kernels/sample.h"

namespace syrinx::orpheus {

struct Edition {
  const char* name;
  /// A token that only tokenizers of this edition have. If empty, `named` identifies the edition.
  const char* marker;
  /// Parts of names, in small letters; the model's name or path must contain one. Empty: all other
  /// names. Editions with `named` have Orpheus' own tokenizer, including its last token <|audio|>.
  std::vector<const char*> named = {};
  /// Tokens before and after the voice with the text.
  std::vector<const char*> before, behind;
  /// Text before and after the name of a voice. The text to speak follows.
  const char *voice_begin, *voice_end;
  bool voice_is_token = false;  ///< `voice_begin`, the name and '>' form one token
  /// Description of the only voice, which replaces its name unless instructions have a description.
  const char* description = nullptr;
  bool cleaned = false;  ///< whether spaces before marks are removed
  /// Tokens that a text may contain, e.g. "<laugh>".
  std::vector<const char*> tags = {};
  std::vector<std::string> voices;  ///< names of voices; the default voice is first
  SampleParams sampling;
  const char *language, *licence;
};

/// Returns the edition for a tokenizer and for a model's name or path, ignoring its case.
const Edition& edition_of(const Tokenizer& tokenizer, const std::string& name);
/// Returns the English edition of the authors of Orpheus.
const Edition& first_edition();

}  // namespace syrinx::orpheus
