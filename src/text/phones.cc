#include "text/phones.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/check.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMostPhones = 200;

struct Sound {
  std::string_view written, arpabet;  ///< `arpabet`: phones separated by spaces, or "" for no phone
};
// The longest matching entry is used, so the order of entries does not matter.
constexpr std::array kIpa = std::to_array<Sound>({
    // consonants of English
    {"p", "p"},
    {"b", "b"},
    {"t", "t"},
    {"d", "d"},
    {"k", "k"},
    {"g", "g"},
    {"ɡ", "g"},
    {"f", "f"},
    {"v", "v"},
    {"θ", "th"},
    {"ð", "dh"},
    {"s", "s"},
    {"z", "z"},
    {"ʃ", "sh"},
    {"ʒ", "zh"},
    {"h", "hh"},
    {"m", "m"},
    {"n", "n"},
    {"ŋ", "ng"},
    {"l", "l"},
    {"ɫ", "l"},
    {"r", "r"},
    {"ɹ", "r"},
    {"j", "y"},
    {"w", "w"},
    {"ʍ", "w"},
    {"tʃ", "ch"},
    {"t͡ʃ", "ch"},
    {"ʧ", "ch"},
    {"dʒ", "jh"},
    {"d͡ʒ", "jh"},
    {"ʤ", "jh"},
    {"ɾ", "d"},
    {"ʔ", ""},
    // Sounds of other languages become the nearest English sound.
    {"x", "k"},
    {"χ", "k"},
    {"ç", "hh"},
    {"ɲ", "n y"},
    {"ʎ", "l y"},
    {"ʁ", "r"},
    {"ʀ", "r"},
    {"ɻ", "r"},
    {"ɽ", "r"},
    {"ɬ", "l"},
    {"ɭ", "l"},
    {"β", "v"},
    {"ʋ", "v"},
    {"ɣ", "g"},
    {"c", "k"},
    {"ɟ", "g"},
    {"ɱ", "m"},
    {"ɳ", "n"},
    {"ʂ", "sh"},
    {"ɕ", "sh"},
    {"ʐ", "zh"},
    {"ʑ", "zh"},
    {"ɥ", "w"},
    {"ɦ", "hh"},
    {"ħ", "hh"},
    {"ɖ", "d"},
    {"ʈ", "t"},
    {"q", "k"},
    {"ɸ", "f"},
    // vowels of English
    {"i", "iy"},
    {"iː", "iy"},
    {"ɪ", "ih"},
    {"e", "eh"},
    {"ɛ", "eh"},
    {"eɪ", "ey"},
    {"eː", "ey"},
    {"æ", "ae"},
    {"a", "aa"},
    {"aː", "aa"},
    {"ɑ", "aa"},
    {"ɑː", "aa"},
    {"ɒ", "aa"},
    {"ɔ", "ao"},
    {"ɔː", "ao"},
    {"o", "ow"},
    {"oː", "ow"},
    {"oʊ", "ow"},
    {"əʊ", "ow"},
    {"ʊ", "uh"},
    {"u", "uw"},
    {"uː", "uw"},
    {"ʌ", "ah"},
    {"ə", "ax"},
    {"ɚ", "er"},
    {"ɝ", "er"},
    {"ɜ", "er"},
    {"ɜː", "er"},
    {"aɪ", "ay"},
    {"aʊ", "aw"},
    {"ɔɪ", "oy"},
    {"ɪə", "ih ax"},
    {"eə", "eh r"},
    {"ɛə", "eh r"},
    {"ʊə", "uh r"},
    {"ɐ", "ah"},
    {"ɨ", "ih"},
    {"ᵻ", "ih"},
    // vowels of other languages
    {"y", "uw"},
    {"yː", "uw"},
    {"ʏ", "uh"},
    {"ø", "er"},
    {"øː", "er"},
    {"œ", "er"},
    {"ɶ", "aa"},
    {"ɵ", "ow"},
    {"ʉ", "uw"},
    {"ɯ", "uw"},
    {"ɤ", "ah"},
    {"ɘ", "ax"},
    {"ɞ", "er"},
    // marks that change a sound slightly, and are ignored
    {"ː", ""},
    {"ˑ", ""},
    {"ʰ", ""},
    {"ʲ", ""},
    {"ʷ", ""},
    {"ˠ", ""},
    {"ˤ", ""},
    {"˞", ""},
    {"̃", ""},
    {"̥", ""},
    {"̬", ""},
    {"̪", ""},
    {"̯", ""},
    {"͡", ""},
    {"̚", ""},
    {"ʼ", ""},
    {"̈", ""},
    {"̞", ""},
    {"̝", ""},
    // separators
    {".", ""},
    {" ", ""},
    {"‿", ""},
    {"|", ""},
    {"-", ""},
    {"↗", ""},
});

struct Letter {
  std::string_view arpabet, ipa;
};
constexpr std::array kConsonants = std::to_array<Letter>({
    {"b", "b"},  {"ch", "tʃ"}, {"d", "d"}, {"dh", "ð"}, {"f", "f"},  {"g", "ɡ"},
    {"hh", "h"}, {"jh", "dʒ"}, {"k", "k"}, {"l", "l"},  {"m", "m"},  {"n", "n"},
    {"ng", "ŋ"}, {"p", "p"},   {"r", "ɹ"}, {"s", "s"},  {"sh", "ʃ"}, {"t", "t"},
    {"th", "θ"}, {"v", "v"},   {"w", "w"}, {"y", "j"},  {"z", "z"},  {"zh", "ʒ"},
});
constexpr std::array kVowels = std::to_array<Letter>({
    {"aa", "ɑː"},
    {"ae", "æ"},
    {"ah", "ʌ"},
    {"ao", "ɔː"},
    {"aw", "aʊ"},
    {"ax", "ə"},
    {"ay", "aɪ"},
    {"eh", "ɛ"},
    {"er", "ɜː"},
    {"ey", "eɪ"},
    {"ih", "ɪ"},
    {"iy", "iː"},
    {"ow", "oʊ"},
    {"oy", "ɔɪ"},
    {"uh", "ʊ"},
    {"uw", "uː"},
});
/// Alternative names of phones in ARPAbet.
constexpr std::array kOtherNames = std::to_array<Sound>({
    {"axr", "er"},
    {"dx", "d"},
    {"el", "ax l"},
    {"em", "ax m"},
    {"en", "ax n"},
    {"h", "hh"},
    {"hv", "hh"},
    {"ix", "ih"},
    {"nx", "n"},
    {"ux", "uw"},
    {"wh", "w"},
});

template <size_t N>
const Letter* find_letter(const std::array<Letter, N>& letters, std::string_view arpabet) {
  const auto it = std::find_if(letters.begin(), letters.end(),
                               [&](const Letter& letter) { return letter.arpabet == arpabet; });
  return it == letters.end() ? nullptr : &*it;
}
bool is_vowel_phone(std::string_view phone) { return find_letter(kVowels, phone) != nullptr; }
bool is_stress_mark(char c) { return c >= '0' && c <= '2'; }

Error phones_fault(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "phones"};
}

/// Collects phones. At the end every vowel has a stress, and one vowel has the main stress.
class Collected {
 public:
  void stress_next(char stress) { next_ = stress; }
  /// Adds phones separated by spaces.
  void add(std::string_view names) {
    while (!names.empty()) {
      const size_t end = std::min(names.find(' '), names.size());
      std::string phone(names.substr(0, end));
      names.remove_prefix(std::min(end + 1, names.size()));
      if (is_vowel_phone(phone)) {
        main_ = main_ || next_ == '1';
        phone += next_;
        next_ = '0';
      }
      phones_.push_back(std::move(phone));
    }
  }
  /// Makes the last consonant a syllable: "n̩".
  void make_syllable() {
    if (!phones_.empty() && !is_stress_mark(phones_.back().back())) {
      phones_.insert(phones_.end() - 1, std::string("ax0"));
    }
  }
  size_t size() const { return phones_.size(); }
  std::vector<std::string> take() {
    for (std::string& phone : phones_) {
      if (main_) break;
      if (!is_stress_mark(phone.back())) continue;
      phone.back() = '1';
      main_ = true;
    }
    return std::move(phones_);
  }

 private:
  std::vector<std::string> phones_;
  char next_ = '0';
  bool main_ = false;
};

std::string ipa_of(const std::vector<std::string>& phones) {
  std::string out;
  for (const std::string& phone : phones) {
    if (const Letter* consonant = find_letter(kConsonants, phone)) {
      out += consonant->ipa;
      continue;
    }
    const std::string_view vowel = std::string_view(phone).substr(0, phone.size() - 1);
    const char stress = phone.back();
    out += stress == '1' ? "ˈ" : stress == '2' ? "ˌ" : "";
    const bool weak = stress == '0';
    out += weak && vowel == "er"   ? "ɚ"
           : weak && vowel == "ah" ? "ə"
                                   : find_letter(kVowels, vowel)->ipa;
  }
  return out;
}

}  // namespace

Result<Phones> phones_of_ipa(std::string_view ipa) {
  ipa = trimmed(ipa);
  if (!utf8_valid(ipa)) return phones_fault("the pronunciation is not valid UTF-8");
  Collected found;
  for (size_t at = 0; at < ipa.size();) {
    const std::string_view rest = ipa.substr(at);
    const CodePoint code = utf8_at(ipa, at);
    if (code.value == U'ˈ' || code.value == '\'' || code.value == U'ˌ' || code.value == ',') {
      const bool main = code.value == U'ˈ' || code.value == '\'';
      found.stress_next(main ? '1' : '2');
      at += code.size;
      continue;
    }
    if (code.value == 0x329 || code.value == 0x30D) {
      found.make_syllable();
      at += code.size;
      continue;
    }
    const Sound* sound = nullptr;
    for (const Sound& one : kIpa) {
      const bool longer = sound == nullptr || one.written.size() > sound->written.size();
      if (longer && rest.starts_with(one.written)) sound = &one;
    }
    if (sound == nullptr) {
      return phones_fault(
          concat("'", rest.substr(0, code.size), "' in '", ipa, "' is not a known IPA sound"));
    }
    found.add(sound->arpabet);
    at += sound->written.size();
    if (found.size() > kMostPhones) return phones_fault("the pronunciation is too long");
  }
  Phones phones{std::string(ipa), found.take()};
  if (phones.empty()) return phones_fault(concat("'", ipa, "' has no sounds"));
  return phones;
}

Result<Phones> phones_of_arpabet(std::string_view arpabet) {
  Collected found;
  constexpr std::string_view kBetween = " \t\r\n-._";
  for (size_t at = arpabet.find_first_not_of(kBetween); at < arpabet.size();) {
    const size_t end = std::min(arpabet.find_first_of(kBetween, at), arpabet.size());
    const std::string_view written = arpabet.substr(at, end - at);
    at = arpabet.find_first_not_of(kBetween, end);
    std::string name = lower_ascii(written);
    const char stress = is_stress_mark(name.back()) ? name.back() : ' ';
    if (stress != ' ') name.pop_back();
    const auto other = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                    [&](const Sound& one) { return one.written == name; });
    if (other != kOtherNames.end()) name = other->arpabet;
    const bool known = name.find(' ') != name.npos || is_vowel_phone(name) ||
                       (stress == ' ' && find_letter(kConsonants, name) != nullptr);
    if (!known) return phones_fault(concat("'", written, "' is not an ARPAbet phone"));
    if (stress == '0' && name == "ah") name = "ax";  // CMU's dictionary writes AH0 for the schwa
    found.stress_next(stress == ' ' ? '0' : stress);
    found.add(name);
    if (found.size() > kMostPhones) return phones_fault("the pronunciation is too long");
  }
  Phones phones;
  phones.arpabet = found.take();
  if (phones.empty()) return phones_fault("the pronunciation has no sounds");
  phones.ipa = ipa_of(phones.arpabet);
  return phones;
}

Phones possessive(Phones phones) {
  if (phones.empty()) return phones;
  const std::string& last = phones.arpabet.back();
  const auto is_one_of = [&last](std::string_view list) {
    return list.find(" " + last + " ") != list.npos;
  };
  if (is_one_of(" s z sh zh ch jh ")) {
    phones.arpabet.insert(phones.arpabet.end(), {"ih0", "z"});
    phones.ipa += "ɪz";
  } else if (is_one_of(" p t k f th ")) {
    phones.arpabet.emplace_back("s");
    phones.ipa += "s";
  } else {
    phones.arpabet.emplace_back("z");
    phones.ipa += "z";
  }
  return phones;
}

}  // namespace syrinx
