#include "text/english/interjections.h"

#include <algorithm>
#include <array>
#include <vector>

#include "text/english/chars.h"
#include "text/english/word_lists.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

struct Interjection {
  std::string_view letters;  ///< without repetitions: "hm" for "hmmm"
  std::string_view phones;   ///< ARPAbet
};
constexpr std::array kInterjections = std::to_array<Interjection>({
    {"hm", "hh m m"},
    {"m", "m m"},
    {"mhm", "m hh m m"},
    {"sh", "sh sh"},
    {"pst", "p s t"},
    {"pft", "p f t"},
    {"psh", "p sh sh"},
    {"tsk", "t s k"},
    {"br", "b er1"},
    {"gr", "g er1"},
    {"z", "z z"},
    {"ah", "aa1"},
    {"oh", "ow1"},
    {"uh", "ah1"},
    {"ow", "aw1"},
    {"aw", "ao1"},
    {"ew", "iy1 uw0"},
});

/// Returns the word in small letters, each run of a letter cut to `most` letters.
std::string cut_runs(std::string_view word, size_t most) {
  std::string out;
  size_t run = 0;
  for (const char c : lower(word)) {
    run = !out.empty() && out.back() == c ? run + 1 : 1;
    if (run <= most) out += c;
  }
  return out;
}

/// Returns the length of the longest run of one letter, of either case.
size_t longest_run(std::string_view word) {
  size_t longest = 0, run = 0;
  const std::string small = lower(word);
  for (size_t i = 0; i < small.size(); ++i) {
    run = i > 0 && small[i] == small[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

Phones interjection_phones(std::string_view word, bool alone) {
  std::string whole(word);  // without the hyphen of "mm-hmm"
  std::erase(whole, '-');
  if (!all(whole, is_letter)) return {};
  const std::string letters = cut_runs(whole, 1);
  const auto found = std::find_if(kInterjections.begin(), kInterjections.end(),
                                  [&](const Interjection& i) { return i.letters == letters; });
  if (found == kInterjections.end() || lower(whole).starts_with("oo")) return {};  // "ooh"
  const bool last = letters.size() == 2 && letters[0] != 'a';  // "shh", but not "ssh"
  const size_t run = longest_run(last ? std::string_view(whole).substr(1) : whole);
  const bool certain = letters == "hm" || letters == "mhm" || letters == "tsk";
  if (run < (letters == "z" ? 3 : 2) && !(certain && !all(whole, is_upper))) return {};
  if (letters == "m" && (!alone || all(whole, is_upper))) return {};
  return phones_of_arpabet(found->phones).value();
}

std::string without_drawl(std::string_view word) {
  const size_t run = longest_run(word);
  const bool capitals = all(word, is_upper);
  if (run < 3 || !all(word, is_letter) || word.size() > 40) return std::string(word);
  if (cut_runs(word, 1).size() == 1 || lower(word).starts_with("www")) return std::string(word);
  if (capitals && run < 4 && word.size() < 5) return std::string(word);  // "IEEE", "VIII"
  if (capitals && word.find_first_not_of("IVXLCDM") == word.npos) return std::string(word);
  std::vector<std::string> forms = {""};
  const std::string small = lower(word);
  for (size_t i = 0; i < small.size();) {
    size_t end = i;
    while (end < small.size() && small[end] == small[i]) ++end;
    const bool drawn = end - i > 2;
    const size_t count = forms.size();
    for (size_t f = 0; f < count; ++f) {
      if (drawn && count < 8) forms.push_back(forms[f] + small.substr(i, 2));
      forms[f] += small.substr(i, drawn ? 1 : end - i);
    }
    i = end;
  }
  const auto known = std::find_if(forms.begin(), forms.end(), [](const std::string& form) {
    return listed(word_lists().drawled, form);
  });
  std::string out = known == forms.end() ? forms[0] : *known;
  if (capitals) std::transform(out.begin(), out.end(), out.begin(), to_upper);
  if (!capitals && is_upper(word[0])) out[0] = to_upper(out[0]);
  return out;
}

}  // namespace syrinx::english
