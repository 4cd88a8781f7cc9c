#include "text/english/spelling.h"

#include <algorithm>
#include <array>

#include "text/english/chars.h"
#include "text/english/numbers.h"

namespace syrinx::english {
namespace {

struct Special {
  std::string_view written, words;
};
// What neither its letters nor the rules below give; in small letters.
constexpr std::array kSpecial = std::to_array<Special>({
    {"json", "jason"},
    {"ok", "okay"},
    {"usr", "user"},
    {"txt", "text"},
    {"readme", "readme"},
    {"jpeg", "jay peg"},
    {"phd", "P H D"},
    {"latex", "latex"},
    {"khz", "kilohertz"},
    {"mhz", "megahertz"},
    {"ghz", "gigahertz"},
    {"vs", "versus"},
    {"hmm", "hmm"},
    {"iot", "I O T"},
    {"utf", "U T F"},
    {"api", "A P I"},
    {"apis", "A P I's"},
    {"cpu", "C P U"},
    {"gpu", "G P U"},
    {"url", "U R L"},
    {"uri", "U R I"},
    {"usb", "U S B"},
    {"faq", "F A Q"},
    {"wwi", "world war one"},
    {"wwii", "world war two"},
    {"ww2", "world war two"},
    {"tmp", "temp"},
    {"ssh", "S S H"},
});

/// Pronounceable, but their letters are said.
constexpr std::string_view kSpelled =
    " acst aedt aest akst akdt awst cest eest nzst nzdt sast"
    " aarp ac ads ai api asap atm cad ceo cet cfo cio coo cto cod cpa dc diy dna dob doj dui dvd "
    "ei esl eta"
    " etf eu ev faq gop gui hiv hud id ide ieee imho io ios ip iou ipo iq ira iso isis it ivf kyc "
    "la led lax"
    " lat mit mia nas nih ny nyc os oem oled pov pow pto ps pr sat sec sos suv sas tba tbd tts tv"
    " uae uav ucla uefa uefi ufo ui uk url us usa usaid usb usc uv ux va vat vip voc vr wip ";
/// Not what the rules would think, yet words.
constexpr std::string_view kSaid = " aids ascii sars opec unicef laser radar scuba nafta ";
/// Words of two and three letters that may be written in capitals, for emphasis.
constexpr std::string_view kShort =
    " add age ago aid aim air all an and any are arm art as ask at ate away bad bag be bed"
    " big bit box boy bus but buy by can car cat cry cup cut day did die do dog dry due ear eat egg"
    " end err eye far few fit fix fly for fun gas get go god got gun guy had has hat he her hey hi"
    " him his hit hot how hug ice if ill in ink is its job key kid law lay let lie lot low mad man"
    " map may me men mix mom mr mrs my net new no nor not now nut odd of off oh oil old on one or"
    " our out own pay pet put raw red rid run sad say see set sex she sit six sky so son sun sue"
    " tax tea ten the tie tip to too top toy try two up use van via war was way we wet who why win"
    " won yes yet you zoo dad ha wow ";
/// Letters in any other text, words where all is in capitals.
constexpr std::string_view kTwoFaced = " ad am id it us who pm la sat led sec ";

bool is_vowel(char c) { return std::string_view("aeiouyAEIOUY").find(c) != std::string_view::npos; }

constexpr std::string_view kOnsets =
    " b bl br c ch chr cl cr d dr dw f fl fr g gl gn gr h j k kl kn kr l m n p ph pl pr q qu r rh s"
    " sc sch scr sh sk sl sm sn sp spl spr squ st str sv sw t th thr tr tw v w wh wr x z ";
constexpr std::string_view kCodas =
    " b c ch ck ct d f ff ft g gh ght h j k l lb ld lf lk ll lm lp ls lt lth m mb mp mps ms n nc "
    "nch"
    " nd nds ng ngs nk nks ns nt nth nts p ps pt q r rb rc rch rd rds rf rg rk rks rl rm rms rn rns"
    " rp rs rst rt rth rts rv s sh sk sm sp ss st sts t tch th ths ts tt v w wn wl wk ws x xt z zz"
    " ds ks bs gs cs ls ";

/// Whether English could say these small letters as a word.
bool is_pronounceable(std::string_view word) {
  const auto first = std::find_if(word.begin(), word.end(), is_vowel);
  if (first == word.end()) return false;
  const auto last = std::find_if(word.rbegin(), word.rend(), is_vowel).base();
  const std::string_view onset = word.substr(0, static_cast<size_t>(first - word.begin()));
  const std::string_view coda = word.substr(static_cast<size_t>(last - word.begin()));
  if (!onset.empty() && !listed(kOnsets, onset)) return false;
  if (!coda.empty() && !listed(kCodas, coda)) return false;
  int consonants = 0, vowels = 0;
  for (const char c : word) {
    vowels = is_vowel(c) ? vowels + 1 : 0;
    consonants = is_vowel(c) ? 0 : consonants + 1;
    if (vowels > 3 || consonants > 4) return false;
  }
  return true;
}

/// Whether capitals are most likely a word and not the first letters of several.
bool is_word_in_capitals(std::string_view small, bool shouting) {
  if (listed(kTwoFaced, small)) return shouting;
  if (listed(kSpelled, small)) return false;
  if (listed(kSaid, small) || listed(kShort, small)) return true;
  if (small.size() < 3 || !is_pronounceable(small)) return false;
  return small.size() > 3 || (!is_vowel(small[0]) && is_vowel(small[1]) && !is_vowel(small[2]));
}

std::string_view special_words(std::string_view small) {
  const auto it = std::find_if(kSpecial.begin(), kSpecial.end(),
                               [small](const Special& s) { return s.written == small; });
  return it == kSpecial.end() ? std::string_view() : it->words;
}

/// Letters of one kind: "get", "HTTP", "User".
std::string letters_words(std::string_view letters, bool shouting) {
  const std::string small = lower(letters);
  if (letters.size() == 1) {
    return letters == "a" ? "a" : std::string(1, to_upper(letters[0]));
  }
  if (const auto words = special_words(small); !words.empty()) return std::string(words);
  if (all(letters, is_upper)) {
    return is_word_in_capitals(small, shouting) ? small : letter_names(letters);
  }
  // No vowel: "html", "std"; but "hmm", "psst", "brr" are said.
  const bool hum = small.find_first_not_of("bfhmprstz") == small.npos && small.size() < 7 &&
                   (small.find("mm") != small.npos || small.find("sh") != small.npos ||
                    small.find("rr") != small.npos || small.find("zz") != small.npos ||
                    small.find("ss") != small.npos || small == "hm" || small == "pst");
  if (std::none_of(small.begin(), small.end(), is_vowel) && !hum && small != "nth") {
    return letter_names(letters);
  }
  return std::string(letters);
}

/// Where the next hump of "getUserName", "HTTPServer" or "H2O" begins.
size_t hump_end(std::string_view word, size_t from) {
  for (size_t i = from + 1; i < word.size(); ++i) {
    if (is_digit(word[i]) != is_digit(word[i - 1])) return i;
    if (is_lower(word[i - 1]) && is_upper(word[i])) return i;
    const bool ends_capitals =
        i > from + 1 && is_upper(word[i - 2]) && is_upper(word[i - 1]) && is_lower(word[i]);
    if (ends_capitals) return i - 1;
  }
  return word.size();
}

/// "McDonald", "MacArthur", "DeVito": one word in spite of its capitals.
bool is_family_name(std::string_view word) {
  for (const std::string_view start : {"Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Fitz"}) {
    if (word.starts_with(start) && word.size() > start.size() + 2 && is_upper(word[start.size()]) &&
        all(word.substr(start.size() + 1), is_lower)) {
      return true;
    }
  }
  return false;
}

std::string chunk_words(std::string_view chunk, bool shouting) {
  if (chunk.empty()) return {};
  const std::string small = lower(chunk);
  if (const auto words = special_words(small); !words.empty()) return std::string(words);
  if (is_family_name(chunk)) return small;
  const bool plural =
      chunk.size() > 2 && chunk.back() == 's' && all(chunk.substr(0, chunk.size() - 1), is_upper);
  if (plural) {  // "CPUs"
    const std::string base = letters_words(chunk.substr(0, chunk.size() - 1), false);
    return base + (base.size() == 1 || base[base.size() - 2] == ' ' ? "'s" : "s");
  }
  if (chunk.size() > 3 && (chunk.back() == 'p' || chunk.back() == 'i') &&
      is_digits(chunk.substr(0, chunk.size() - 1), 3, 4)) {  // "1080p"
    return pair_words(chunk.substr(0, chunk.size() - 1)) + ' ' + to_upper(chunk.back());
  }
  std::string out;
  for (size_t from = 0; from < chunk.size();) {
    const size_t to = hump_end(chunk, from);
    const std::string_view part = chunk.substr(from, to - from);
    if (is_digit(part[0])) {
      add(out, number_words(part));
    } else {
      const bool alone = part.size() == 1 && part.size() < chunk.size();
      add(out, alone ? letter_names(part) : letters_words(part, shouting));
    }
    from = to;
  }
  return out;
}

}  // namespace

std::string letter_names(std::string_view letters) {
  std::string out;
  for (const char c : letters) {
    if (is_letter(c)) add(out, std::string(1, to_upper(c)));
  }
  return out;
}

std::string word_words(std::string_view word, bool shouting) {
  // An apostrophe stays in the word that it stands in: "don't", "CIA's", "o'clock".
  const size_t mark = word.find('\'');
  if (mark == word.npos) return chunk_words(word, shouting);
  const std::string_view head = word.substr(0, mark);
  const std::string tail = lower(word.substr(mark));
  const bool clitic = listed(" 's 'd 'll 're 've 'm 't ", tail) && !head.empty();
  if (clitic) {
    const bool negated = tail == "'t" && all(head, is_upper);  // "DON'T"
    return (negated ? lower(head) : chunk_words(head, shouting)) + tail;
  }
  if (!any(word, is_digit)) return std::string(word);
  std::string out;
  for (const std::string_view part : split(word, '\'')) add(out, chunk_words(part, shouting));
  return out;
}

std::string part_words(std::string_view part) {
  if ((part.size() == 1 && is_letter(part[0])) || part == "sh") return letter_names(part);
  return word_words(part);
}

bool is_shouting(const Tokens& tokens, size_t i) {
  constexpr size_t kWindow = 4;
  if (listed(" usa ceo tv dvd ", lower(tokens.core(i)))) return false;
  // A long word in capitals right beside it is enough: "DRINK ME".
  const auto loud = [](std::string_view core) {
    return core.size() > 3 && all(core, is_upper) && is_word_in_capitals(lower(core), false);
  };
  if (loud(tokens.before(i)) || loud(tokens.after(i))) return true;
  bool word = false;
  const size_t from = i > kWindow ? i - kWindow : 0;
  for (size_t k = from; k < std::min(tokens.size(), i + kWindow + 1); ++k) {
    const std::string_view core = tokens.core(k);
    if (any(core, is_lower)) return false;
    word |=
        k != i && core.size() > 1 && all(core, is_upper) && is_word_in_capitals(lower(core), false);
  }
  return word;
}

}  // namespace syrinx::english
