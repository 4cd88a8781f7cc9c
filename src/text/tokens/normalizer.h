// Normalises a section of text before it is cut into pieces, as the "normalizer" of
// tokenizer.json says: normal forms of Unicode, and marks in place of spaces as sentencepiece has
// them. A value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace syrinx {

/// The text with `to` for every `from`, from left to right; as it is where `from` is empty.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The steps of one tokenizer, run in order.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(NormalForm form) { add(form); }

  // Steps, which run in the order in which they were added.
  void add(NormalForm form);
  /// `mark` before every section that is not empty.
  void add_prepend(std::string mark);
  /// Every `from` becomes `to`; `from` is not empty.
  void add_replace(std::string from, std::string to);

  std::string operator()(std::string_view text) const;
  /// It leaves every text as it is.
  bool empty() const { return steps_.empty(); }
  /// The form, where one is all it makes; otherwise kNone.
  NormalForm only_form() const;

 private:
  /// A form, or else what to put for `from`; where that is empty, before the whole.
  struct Step {
    NormalForm form = NormalForm::kNone;
    std::string from, to;
  };
  std::vector<Step> steps_;
};

}  // namespace syrinx
