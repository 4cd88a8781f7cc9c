// Normalises a section of text before it is cut into pieces, by the "normalizer" of tokenizer.json:
// normal forms of Unicode, and sentencepiece's mark in place of each space. A value type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace syrinx {

/// Replaces every `from` by `to`, from left to right; does nothing for an empty `from`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The steps of one tokenizer, run in order.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(NormalForm form) { add(form); }

  // Adds a normal form. Steps run in the order in which they were added.
  void add(NormalForm form);
  /// Adds a step that puts `mark` before every section that is not empty.
  void add_prepend(std::string mark);
  /// Adds a step that replaces every `from`, which must not be empty, by `to`.
  void add_replace(std::string from, std::string to);

  std::string operator()(std::string_view text) const;
  /// Returns whether the normalizer has no steps, so that texts stay unchanged.
  bool empty() const { return steps_.empty(); }
  /// Returns the normal form if it is the only step; otherwise kNone.
  NormalForm only_form() const;

 private:
  /// A normal form, or a replacement of `from`. With an empty `from`, `to` is a prefix.
  struct Step {
    NormalForm form = NormalForm::kNone;
    std::string from, to;
  };
  std::vector<Step> steps_;
};

}  // namespace syrinx
