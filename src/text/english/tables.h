// Reads the data of the English reader: the files of tables/, which the build embeds. A table has
// one row per line and tabs between cells; the head of each file explains its cells. An invalid
// line is a bug of the program and throws InternalError at the first use (tables_test.cc uses every
// table). For text/english only. Pure functions; thread-safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::english {

/// The bytes of the files of tables/; each function returns one file.
namespace tables {
/// Abbreviations and when they apply.
std::string_view abbreviations();
/// Words whose pronunciation depends on their accents: "résumé".
std::string_view accented_words();
/// Names of signs in addresses.
std::string_view address_signs();
/// Books of scripture.
std::string_view books();
/// Characters outside ASCII.
std::string_view characters();
/// Signs and codes of currencies.
std::string_view currencies();
/// Named characters of HTML.
std::string_view entities();
/// Weights of the words that stand next to a heteronym.
std::string_view heteronym_weights();
/// Words with one spelling and several pronunciations.
std::string_view heteronyms();
/// Operators of programs and formulas.
std::string_view operators();
/// Prefixes of units.
std::string_view prefixes();
/// Words whose pronunciation follows neither from their letters nor from rules.
std::string_view special_words();
/// Commands of TeX.
std::string_view tex_commands();
/// Signs in formulas of TeX.
std::string_view tex_signs();
/// Units of measure.
std::string_view units();
/// Lists of words (word_lists.h).
std::string_view words();
}  // namespace tables

/// The cells of a row, one for each column of the table; "" for cells missing at the end.
using Cells = std::vector<std::string>;

/// Returns the rows of a table with at least `needed` and at most `columns` cells per line, without
/// comments. Signs for which fold() writes one byte (chars.h) are replaced by that byte. Throws
/// InternalError for a wrong number of cells, an empty first cell or a blank at the end of a line.
std::vector<Cells> table_cells(std::string_view data, size_t needed, size_t columns);

/// Returns the lines of a data file that are neither empty nor comments ("# ...").
std::vector<std::string_view> data_lines(std::string_view data);

/// Returns the text with the one-byte signs of fold() (chars.h) instead of UTF-8 signs: "5 µs".
std::string with_folded_signs(std::string_view utf8);

/// Returns the index of a cell in `words`; throws InternalError if `words` lacks the cell.
size_t choice(std::string_view cell, std::initializer_list<std::string_view> words);

/// Returns the integer in a cell, which may be negative. Throws InternalError for another text.
int number_in(std::string_view cell);

/// Returns the character that a cell names as "U+20AC". Throws InternalError for another text.
char32_t code_point_in(std::string_view cell);

/// Returns the rows of a table; `make` converts the cells of a row to a value of type Row.
template <typename Row>
std::vector<Row> table_rows(std::string_view data, size_t needed, size_t columns,
                            Row (*make)(const Cells&)) {
  std::vector<Row> rows;
  for (const Cells& cells : table_cells(data, needed, columns)) rows.push_back(make(cells));
  return rows;
}

}  // namespace syrinx::english
