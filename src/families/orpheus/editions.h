// The editions of Orpheus: models with the same Llama, speech tokens and codec, but other voices
// and another prompt. Here are the tokens that each writes around a text, and its authors'
// defaults. Constants; any thread.
#pragma once

#include <string>
#include <vector>

#include "families/orpheus/config.h"
#include "kernels/sample.h"

namespace syrinx::orpheus {

struct Edition {
  const char* name;
  /// A token that only tokenizers of this edition have; "": `named` decides.
  const char* marker;
  /// Parts of names, in small letters, one of which the model's name or path has; none: the edition
  /// of all other names. These editions have Orpheus' own tokenizer, also its last token <|audio|>.
  std::vector<const char*> named = {};
  /// Tokens before and behind the voice and the text.
  std::vector<int32_t TokenIds::*> before, behind;
  /// Text before and after the name of a voice; the text to speak follows.
  const char *voice_begin, *voice_end;
  bool voice_is_token = false;  ///< `voice_begin`, the name and '>' are one token
  /// Description of the only voice, which replaces its name, unless instructions describe another.
  const char* description = nullptr;
  bool cleaned = false;  ///< spaces before marks are removed
  /// Tokens that a text may have, such as "<laugh>".
  std::vector<const char*> tags = {};
  std::vector<std::string> voices;  ///< names of voices, the default first
  SampleParams sampling;
  const char *language, *licence;
};

/// Returns the edition of a tokenizer and of a model's name or path, in letters of any case.
const Edition& edition_of(const Tokenizer& tokenizer, const std::string& name);
/// That of the authors of Orpheus.
const Edition& first_edition();

}  // namespace syrinx::orpheus
