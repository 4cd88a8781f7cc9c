#include "text/english/accents.h"

#include <algorithm>
#include <string>
#include <vector>

#include "text/english/chars.h"
#include "text/english/tables.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

struct Accented {
  std::string word, phones;
};

const std::vector<Accented>& accented_words() {
  static const auto kRows =
      table_rows<Accented>(tables::accented_words(), 2, 2, [](const Cells& c) {
        return Accented{c[0], c[1]};
      });
  return kRows;
}

/// Returns the word in small letters, with letters of the table as single composed characters.
std::string plain(std::string_view written) {
  std::string out;
  for (const char c : lower(written)) {
    out += c;
    for (const auto& [apart, one] :
         {std::pair("e\xCC\x81", "é"), std::pair("a\xCC\x82", "â"), std::pair("É", "é")}) {
      if (out.ends_with(apart))
        out.replace(out.size() - std::string_view(apart).size(), out.npos, one);
    }
  }
  return out;
}

}  // namespace

Phones accented_phones(std::string_view written) {
  if (std::all_of(written.begin(), written.end(),
                  [](char c) { return static_cast<signed char>(c) >= 0; }))
    return {};
  std::string word = plain(written);
  const auto find = [&word] {
    return std::find_if(accented_words().begin(), accented_words().end(),
                        [&](const Accented& a) { return a.word == word; });
  };
  auto found = find();
  const bool more = found == accented_words().end() && word.ends_with('s');  // "résumés", "rosé's"
  if (more) {
    word.pop_back();
    for (const std::string_view mark : {"'", "’"}) {
      if (word.ends_with(mark)) word.resize(word.size() - mark.size());
    }
    found = find();
  }
  if (found == accented_words().end()) return {};
  Phones phones = phones_of_arpabet(found->phones).value();
  return more ? possessive(std::move(phones)) : phones;
}

}  // namespace syrinx::english
