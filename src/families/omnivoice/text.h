// Makes the ids before the frames of a canvas: style, then text, with tags of sounds. Checks the
// attributes of a designed voice. Const after construction; any thread. Source: omnivoice 0.2.1,
// omnivoice/models/omnivoice.py (_prepare_inference_inputs, _combine_text, _resolve_instruct) and
// utils/voice_design.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::omnivoice {

/// The languages of the model (ISO 639), in alphabetical order.
std::vector<std::string> languages();

/// Returns whether a text has Chinese characters (U+4E00 to U+9FFF).
bool has_chinese(std::string_view text);

/// Returns a text with a full stop at the end, unless it ends with a mark.
std::string with_stop(std::string_view text);

/// Checks the attributes of a designed voice, a list such as "female, british accent", and returns
/// it as the model reads it: in Chinese if `chinese` or if it names a dialect, in English if it
/// names an accent. An Error names the parameter "instructions".
Result<std::string> designed_voice(std::string_view attributes, bool chinese);

/// The style of a request.
struct Style {
  std::string language = {}, attributes = {};  ///< empty: none
};

/// Makes the ids of a prompt.
class Prompter {
 public:
  /// Throws LoadError if the tokenizer lacks a control token.
  explicit Prompter(Tokenizer tokenizer);
  /// Returns the tokens that a tokenizer must have.
  static std::vector<std::string> control_words();

  /// Returns the ids of style and text. `heard`: words of the recording whose frames follow; empty:
  /// no words. `recorded`: frames of a recording, or of earlier speech, follow.
  std::vector<int32_t> ids(const Style& style, std::string_view heard, std::string_view text,
                           bool recorded) const;

 private:
  void add(std::string_view text, std::vector<int32_t>& out) const;
  void add_marked(int32_t begin, std::string_view text, int32_t end,
                  std::vector<int32_t>& out) const;

  Tokenizer tokenizer_;
  int32_t denoise_, language_, language_end_, attributes_, attributes_end_, text_, text_end_;
};

}  // namespace syrinx::omnivoice
