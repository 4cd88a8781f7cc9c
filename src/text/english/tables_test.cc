#include "text/english/tables.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "text/english/reader.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

TEST(Tables, RowsHaveAllCells) {
  const auto rows = table_cells("# a comment\nm\tmeter\n\nc#\tC sharp\tx\n", 2, 4);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], (Cells{"m", "meter", "", ""}));
  EXPECT_EQ(rows[1], (Cells{"c#", "C sharp", "x", ""}));
}

TEST(Tables, SignsAreOneByteAsInFoldedText) {
  EXPECT_EQ(with_folded_signs("µm °C × – — € ₿ é"),
            "\xB5m \xB0"
            "C \xD7 \x1E \x1F \x01 \x8F é");
}

TEST(Tables, BadLinesAreRefused) {
  EXPECT_THROW(table_cells("m\n", 2, 3), InternalError);
  EXPECT_THROW(table_cells("m\tmeter\tmeters\tk\n", 2, 3), InternalError);
  EXPECT_THROW(table_cells("\tmeter\n", 2, 3), InternalError);
  EXPECT_THROW(table_cells("m\tmeter \n", 2, 3), InternalError);
  EXPECT_THROW(table_cells("m\tmeter\t\n", 2, 3), InternalError);
  EXPECT_THROW(choice("somewhere", {"apart", "glued"}), InternalError);
  EXPECT_EQ(choice("glued", {"apart", "glued"}), 1u);
  EXPECT_THROW(number_in("12a"), InternalError);
  EXPECT_EQ(number_in("-400"), -400);
  EXPECT_THROW(code_point_in("20AC"), InternalError);
  EXPECT_EQ(code_point_in("U+20AC"), char32_t{0x20AC});
}

/// The first cells of a table must differ: a second row with an equal cell would never be found.
TEST(Tables, FirstCellsDiffer) {
  for (const auto data :
       {tables::accented_words(), tables::address_signs(), tables::books(), tables::characters(),
        tables::currencies(), tables::entities(), tables::heteronyms(), tables::operators(),
        tables::prefixes(), tables::special_words(), tables::tex_commands(), tables::tex_signs(),
        tables::units()}) {
    const auto rows = table_cells(data, 1, 8);
    EXPECT_GT(rows.size(), 5u);
    std::set<std::string> seen;
    for (const Cells& row : rows) EXPECT_TRUE(seen.insert(row[0]).second) << row[0];
  }
}

/// Reads every table, including tables that only rare texts use.
TEST(Tables, EveryFileIsInOrder) {
  for (const std::string_view text :
       {"exposé", "a.b/c", "5 €", "5 km", "&eacute;", "I read it", "Mr. X", "John 3:16", "a == b",
        "json", "$\\frac{1}{2}$", "NaCl", "é"}) {
    EXPECT_FALSE(read_sentence(text).empty()) << text;
  }
  EXPECT_EQ(word_lists().roles, " user assistant system model tool ");
}

}  // namespace
}  // namespace syrinx::english
