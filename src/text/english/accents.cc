#include "text/english/accents.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/english/chars.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

struct Accented {
  std::string_view word, phones;
};
constexpr std::array kAccented = std::to_array<Accented>({{"exposé", "eh1 k s p ow0 z ey1"},
                                                          {"lamé", "l ae0 m ey1"},
                                                          {"maté", "m aa1 t ey0"},
                                                          {"pâté", "p aa0 t ey1"},
                                                          {"piqué", "p ih0 k ey1"},
                                                          {"resumé", "r eh1 z ax0 m ey2"},
                                                          {"rosé", "r ow0 z ey1"},
                                                          {"résumé", "r eh1 z ax0 m ey2"},
                                                          {"saké", "s aa1 k iy0"},
                                                          {"touché", "t uw0 sh ey1"}});

/// Small letters, of accents those of the table composed.
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
    return std::find_if(kAccented.begin(), kAccented.end(),
                        [&](const Accented& a) { return a.word == word; });
  };
  auto found = find();
  const bool more = found == kAccented.end() && word.ends_with('s');  // "résumés", "rosé's"
  if (more) {
    word.pop_back();
    for (const std::string_view mark : {"'", "’"}) {
      if (word.ends_with(mark)) word.resize(word.size() - mark.size());
    }
    found = find();
  }
  if (found == kAccented.end()) return {};
  Phones phones = phones_of_arpabet(found->phones).value();
  return more ? possessive(std::move(phones)) : phones;
}

}  // namespace syrinx::english
