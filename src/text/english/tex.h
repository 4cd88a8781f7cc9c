// Formulas of TeX as words: "\frac{a}{b} = \sqrt{c}" -> "A over B equals square root of C". For
// text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string>
#include <string_view>

namespace syrinx::english {

/// A formula at the beginning of a text.
struct TexFormula {
  size_t size = 0;         ///< characters with the signs around it; 0 for none
  std::string words = {};  ///< capitals are letters; may be ""
};

/// The formula that `text` begins with: between dollars, "\(" and "\)", "\[" and "\]", or a bare
/// command with braces ("\frac{1}{2}"). Amounts of dollars are no formulas.
TexFormula formula_at(std::string_view text);

/// A formula without the signs around it, in words.
std::string formula_words(std::string_view tex);

}  // namespace syrinx::english
