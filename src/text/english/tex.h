// Reads formulas of TeX: "\frac{a}{b} = \sqrt{c}" -> "A over B equals square root of C". For
// text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string>
#include <string_view>

namespace syrinx::english {

/// A formula at the beginning of a text.
struct TexFormula {
  size_t size = 0;         ///< characters with the signs around it; 0 if no formula was found
  std::string words = {};  ///< the spoken words; a single capital is a letter's name; may be empty
};

/// Reads the formula at the beginning of `text`: text between dollars, "\(" and "\)" or "\[" and
/// "\]", or one command with braces ("\frac{1}{2}"). Amounts of dollars are not formulas.
TexFormula formula_at(std::string_view text);

/// Reads a formula without the signs around it.
std::string formula_words(std::string_view tex);

}  // namespace syrinx::english
