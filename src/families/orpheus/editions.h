// Models that are Orpheus with other voices and another prompt: the same Llama, tokens of speech
// and codec. What an edition writes around a text, and its authors' defaults. Constants; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "families/orpheus/config.h"
#include "kernels/sample.h"

namespace syrinx::orpheus {

struct Edition {
  const char* name;
  /// A token that only the tokenizers of this edition have; "": the edition of all others.
  const char* marker;
  /// Tokens before and behind the voice and the text.
  std::vector<int32_t TokenIds::*> before, behind;
  /// Text before and behind the name of a voice, before the text that is spoken.
  const char *voice_begin, *voice_end;
  bool voice_is_token = false;  ///< `voice_begin`, the name and '>' are one token
  /// What the only voice is like, in place of its name, unless instructions describe another.
  const char* description = nullptr;
  bool cleaned = false;  ///< spaces before marks are taken away
  /// Tokens that a text may have, such as "<laugh>".
  std::vector<const char*> tags = {};
  std::vector<std::string> voices;  ///< the default first
  SampleParams sampling;
  const char *language, *licence;
};

/// The edition that a tokenizer is of.
const Edition& edition_of(const Tokenizer& tokenizer);
/// That of the authors of Orpheus.
const Edition& first_edition();

}  // namespace syrinx::orpheus
