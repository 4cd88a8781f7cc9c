#include "text/english/heteronyms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include "text/english/chars.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

constexpr std::string_view kWeights =
#include "text/english/heteronym_weights.inc"
    ;

constexpr std::array kHeteronyms = std::to_array<Heteronym>({
    {"object", "aa1 b jh eh0 k t", "ax0 b jh eh1 k t", "", "", {13, 5, -400}},
    {"record", "r eh1 k er0 d", "r ih0 k ao1 r d", "", "", {7, 4, -400}},
    {"minute", "m ih1 n ax0 t", "", "m ay0 n uw1 t", "", {19, -400, -3}},
    {"present", "p r eh1 z ax0 n t", "p r ih0 z eh1 n t", "p r eh1 z ax0 n t", "", {-9, 5, 3}},
    {"content", "k aa1 n t eh0 n t", "k ax0 n t eh1 n t", "k ax0 n t eh1 n t", "", {8, -4, -4}},
    {"use", "y uw1 s", "y uw1 z", "", "", {8, 21, -400}},
    {"close", "k l ow1 z", "k l ow1 z", "k l ow1 s", "", {-11, 6, 5}},
    {"bow", "b ow1", "b aw1", "", "b aw1", {4, 9, -400}},
    {"bass", "b ey1 s", "", "", "b ae1 s", {0, -400, -400}},
    {"wound", "w uw1 n d", "w uw1 n d", "", "w aw1 n d", {12, 1, -400}},
    {"dove", "d ah1 v", "d ow1 v", "", "", {6, -3, -400}},
    {"polish", "p aa1 l ih0 sh", "p aa1 l ih0 sh", "", "p ow1 l ih0 sh", {0, 4, -400}},
    {"read", "r iy1 d", "r iy1 d", "", "r eh1 d", {-20, 20, -400}},
    {"lead", "l iy1 d", "l iy1 d", "l iy1 d", "l eh1 d", {2, 20, -23}},
    {"live", "", "l ih1 v", "l ay1 v", "", {-400, 6, 0}},
    {"lives", "l ay1 v z", "l ih1 v z", "", "", {4, 0, -400}},
    {"wind", "w ih1 n d", "w ay1 n d", "", "", {13, 2, -400}},
    {"tear", "t ih1 r", "t eh1 r", "", "t eh1 r", {2, 12, -400}},
    {"conduct", "k aa1 n d ah0 k t", "k ax0 n d ah1 k t", "", "", {0, 17, -400}},
    {"conflict", "k aa1 n f l ih0 k t", "k ax0 n f l ih1 k t", "", "", {12, -1, -400}},
    {"contest", "k aa1 n t eh0 s t", "k ax0 n t eh1 s t", "", "", {8, 1, -400}},
    {"contract", "k aa1 n t r ae0 k t", "k ax0 n t r ae1 k t", "", "", {9, 7, -400}},
    {"contrast", "k aa1 n t r ae0 s t", "k ax0 n t r ae1 s t", "", "", {13, 3, -400}},
    {"convert", "k aa1 n v er0 t", "k ax0 n v er1 t", "", "", {-2, 13, -400}},
    {"convict", "k aa1 n v ih0 k t", "k ax0 n v ih1 k t", "", "", {-3, 11, -400}},
    {"desert", "d eh1 z er0 t", "d ih0 z er1 t", "", "", {2, 8, -400}},
    {"digest", "d ay1 jh eh0 s t", "d ay0 jh eh1 s t", "", "", {-3, 6, -400}},
    {"escort", "eh1 s k ao0 r t", "eh0 s k ao1 r t", "", "", {2, 7, -400}},
    {"export", "eh1 k s p ao0 r t", "ih0 k s p ao1 r t", "", "", {-1, 6, -400}},
    {"extract", "eh1 k s t r ae0 k t", "ih0 k s t r ae1 k t", "", "", {1, 9, -400}},
    {"import", "ih1 m p ao0 r t", "ih0 m p ao1 r t", "", "", {5, 4, -400}},
    {"insert", "ih1 n s er0 t", "ih0 n s er1 t", "", "", {-8, 16, -400}},
    {"insult", "ih1 n s ah0 l t", "ih0 n s ah1 l t", "", "", {2, 4, -400}},
    {"invalid", "ih1 n v ax0 l ih0 d", "", "ih0 n v ae1 l ih0 d", "", {3, -400, -2}},
    {"perfect", "p er1 f ih0 k t", "p er0 f eh1 k t", "p er1 f ih0 k t", "", {-12, 1, 11}},
    {"permit", "p er1 m ih0 t", "p er0 m ih1 t", "", "", {-1, 18, -400}},
    {"produce", "p r ow1 d uw0 s", "p r ax0 d uw1 s", "", "", {-8, 24, -400}},
    {"progress", "p r aa1 g r eh0 s", "p r ax0 g r eh1 s", "", "", {11, 5, -400}},
    {"project", "p r aa1 jh eh0 k t", "p r ax0 jh eh1 k t", "", "", {8, 8, -400}},
    {"protest", "p r ow1 t eh0 s t", "p r ax0 t eh1 s t", "", "", {6, 9, -400}},
    {"rebel", "r eh1 b ax0 l", "r ih0 b eh1 l", "r eh1 b ax0 l", "", {6, 1, -7}},
    {"refund", "r iy1 f ah0 n d", "r ih0 f ah1 n d", "", "", {10, -2, -400}},
    {"refuse", "r eh1 f y uw0 s", "r ih0 f y uw1 z", "", "", {-8, 20, -400}},
    {"reject", "r iy1 jh eh0 k t", "r ih0 jh eh1 k t", "", "", {-10, 19, -400}},
    {"separate", "", "s eh1 p er0 ey0 t", "s eh1 p r ax0 t", "", {-400, 12, 7}},
    {"estimate", "eh1 s t ax0 m ax0 t", "eh1 s t ax0 m ey0 t", "", "", {7, 11, -400}},
    {"graduate", "g r ae1 jh ax0 w ax0 t", "g r ae1 jh ax0 w ey0 t", "", "", {0, 4, -400}},
    {"moderate", "m aa1 d er0 ax0 t", "m aa1 d er0 ey0 t", "m aa1 d er0 ax0 t", "", {-6, -3, 9}},
    {"deliberate", "", "d ih0 l ih1 b er0 ey0 t", "d ih0 l ih1 b er0 ax0 t", "", {-400, -5, 8}},
    {"alternate",
     "ao1 l t er0 n ax0 t",
     "ao1 l t er0 n ey0 t",
     "ao1 l t er0 n ax0 t",
     "",
     {-9, 2, 6}},
    {"duplicate",
     "d uw1 p l ax0 k ax0 t",
     "d uw1 p l ax0 k ey0 t",
     "d uw1 p l ax0 k ax0 t",
     "",
     {-4, 7, -4}},
    {"delegate", "d eh1 l ax0 g ax0 t", "d eh1 l ax0 g ey0 t", "", "", {-2, 8, -400}},
    {"animate", "", "ae1 n ax0 m ey0 t", "ae1 n ax0 m ax0 t", "", {-400, 2, 2}},
    {"advocate", "ae1 d v ax0 k ax0 t", "ae1 d v ax0 k ey0 t", "", "", {-1, 10, -400}},
    {"associate", "ax0 s ow1 s iy0 ax0 t", "ax0 s ow1 s iy0 ey0 t", "", "", {2, 12, -400}},
    {"subject", "s ah1 b jh eh0 k t", "s ax0 b jh eh1 k t", "s ah1 b jh eh0 k t", "", {8, 0, -8}},
    {"suspect", "s ah1 s p eh0 k t", "s ax0 s p eh1 k t", "s ah1 s p eh0 k t", "", {-9, 14, -6}},
    {"survey", "s er1 v ey0", "s er0 v ey1", "", "", {6, 7, -400}},
    {"excuse", "ih0 k s k y uw1 s", "ih0 k s k y uw1 z", "", "", {7, 4, -400}},
    {"abuse", "ax0 b y uw1 s", "ax0 b y uw1 z", "", "", {-1, 7, -400}},
    {"house", "hh aw1 s", "hh aw1 z", "", "", {19, 2, -400}},
    {"sow", "s aw1", "s ow1", "", "", {-5, 10, -400}},
});

enum Kind { kNoun, kVerb, kAdjective, kOther };
using Scores = std::array<int, 3>;

const std::unordered_map<std::string_view, Scores>& weights() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, Scores> table;
    for (const std::string_view line : split(kWeights, '\n')) {
      const size_t c = line.rfind(' ');
      const size_t b = c == line.npos || c == 0 ? line.npos : line.rfind(' ', c - 1);
      const size_t a = b == line.npos || b == 0 ? line.npos : line.rfind(' ', b - 1);
      if (a == line.npos) continue;
      const auto number = [&](size_t from, size_t to) {
        const std::string_view text = line.substr(from + 1, to - from - 1);
        const bool minus = text.starts_with('-');
        int value = 0;
        for (const char digit : text.substr(minus ? 1 : 0)) value = value * 10 + (digit - '0');
        return minus ? -value : value;
      };
      table[line.substr(0, a)] = {number(a, b), number(b, c), number(c, line.size())};
    }
    return table;
  }();
  return kTable;
}

const Heteronym* find(std::string_view word) {
  const auto it = std::find_if(kHeteronyms.begin(), kHeteronyms.end(),
                               [&](const Heteronym& one) { return one.word == word; });
  return it == kHeteronyms.end() ? nullptr : &*it;
}

/// The sentence as the weights know it: small words, and commas between.
struct Words {
  std::vector<std::string> all;
  std::vector<size_t> of_piece;  ///< where the last word of each piece stands

  std::string_view at(size_t i, int step) const {
    const auto k = static_cast<std::ptrdiff_t>(i) + step;
    if (k < 0) return "^";
    return k < std::ssize(all) ? std::string_view(all[static_cast<size_t>(k)]) : "$";
  }
};

Words words_of(const std::vector<Piece>& pieces) {
  Words out;
  for (const Piece& piece : pieces) {
    for (const std::string_view word : split(piece.words, ' ')) out.all.push_back(lower(word));
    out.of_piece.push_back(out.all.size() - 1);
    if (piece.mark == ',' || piece.mark == ';' || piece.mark == ':') {
      out.all.emplace_back(1, piece.mark);
    }
  }
  return out;
}

std::string_view ending(std::string_view word) {
  return word.size() < 2 ? word : word.substr(word.size() - 2);
}

Kind learned(const Words& words, size_t at, const Heteronym& one, bool plural) {
  const std::string_view before = words.at(at, -1), second = words.at(at, -2);
  const std::string_view after = words.at(at, 1);
  Scores scores{one.bias[0], one.bias[1], one.bias[2]};
  const auto put = [&](std::string_view name, const std::string& what) {
    const auto known = weights().find(std::string(name) + ' ' + what);
    if (known == weights().end()) return;
    for (size_t k = 0; k < scores.size(); ++k) scores[k] += known->second[k];
  };
  put("p", std::string(before));
  put("q", std::string(second));
  put("n", std::string(after));
  put("b", std::string(second) + '_' + std::string(before));
  put("e", std::string(ending(before)));
  put("f", std::string(ending(after)));
  if (plural) {
    const auto known = weights().find("s");
    if (known != weights().end()) {
      for (size_t k = 0; k < scores.size(); ++k) scores[k] += known->second[k];
    }
  }
  return static_cast<Kind>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// ---------------------------------------------------------------- what kinds do not decide

/// Looks for words around one: `left` of them before, and at most two after.
class Around {
 public:
  Around(const Words& words, size_t at) : words_(words), at_(at) {}
  std::string_view before(int n = 1) const { return words_.at(at_, -n); }
  std::string_view after(int n = 1) const { return words_.at(at_, n); }
  bool before_in(std::string_view list, int far = 1) const {
    for (int n = 1; n <= far; ++n) {
      if (listed(list, before(n))) return true;
    }
    return false;
  }
  bool after_in(std::string_view list, int far = 1) const {
    for (int n = 1; n <= std::min(far, 2); ++n) {
      if (listed(list, after(n))) return true;
    }
    return false;
  }
  bool near(std::string_view list) const {
    return after_in(list, 2) || before_in(list, static_cast<int>(at_));
  }

 private:
  const Words& words_;
  size_t at_;
};

constexpr std::string_view kPronouns = " i you he she it we they who ";
constexpr std::string_view kModals =
    " to will can could should would may might must shall let please don't didn't doesn't won't"
    " can't cannot couldn't wouldn't did does do not i'll we'll you'll they'll he'll she'll ";
constexpr std::string_view kArticles = " a an the this that his her its my your our their ";

std::optional<Kind> settle_read(const Around& a) {
  constexpr std::string_view kHave =
      " have has had having i've we've you've they've he's she's was were is are been be being"
      " haven't hasn't hadn't i'd wasn't weren't got it's ";
  constexpr std::string_view kAdverbs =
      " just already never ever recently also once always only finally often quickly actually "
      "well ";
  constexpr std::string_view kPast = " yesterday ago last earlier when then once before ";
  const int skip = listed(kAdverbs, a.before()) ? 2 : 1;
  if (listed(kModals, a.before(skip)) || listed(" n't ", a.before(skip))) return kVerb;
  if (listed(kHave, a.before(skip)) || (skip == 1 && listed(" well widely ", a.before())))
    return kOther;
  if (a.before_in(kModals, 2) && !a.before_in(kHave, 2)) return kVerb;
  if (listed(kHave, a.before(skip + 1)) && listed(kPronouns, a.before(skip))) {
    return listed(" have has had haven't hasn't hadn't ", a.before(skip + 1))
               ? std::optional(kOther)
               : std::optional(kVerb);
  }
  if (listed(" he she it nobody everyone somebody ", a.before(skip))) return kOther;
  if (a.near(kPast)) return kOther;
  if (skip == 2 && listed(" well ", a.before())) return kOther;
  return kVerb;
}

/// Nothing: the learned kind is as good.
std::optional<Kind> settle(const Heteronym& one, const Around& a, std::string_view written,
                           Kind kind) {
  const std::string_view word = one.word;
  if (word == "read") return settle_read(a);
  if (word == "lead") {
    constexpr std::string_view kMetal =
        " pipe pipes paint paints poisoning pencil pencils acid battery batteries weight weights "
        "ore"
        " foil shot bullet bullets levels exposure contamination ";
    constexpr std::string_view kBeside =
        " tin copper zinc mercury iron molten heavy toxic metal gold arsenic contain contains"
        " contained ";
    const bool made =
        a.before() == "of" &&
        a.before_in(" made full tons ounces sheet sheets piece pound pounds lump ", 2);
    const bool like = a.before() == "like" || a.before_in(kBeside, 2);
    if (a.after_in(kMetal) || made || (like && kind == kNoun)) return kOther;
    if (a.after() == "is" && a.after_in(" heavy toxic a ", 2) && a.before() == "^") return kOther;
  }
  if (word == "bass") {
    return a.near(
               " fish fishing fished caught catch lake river sea striped largemouth smallmouth"
               " grilled fillet trout hooked hook pond swam bait baked fried salmon ")
               ? kOther
               : kNoun;
  }
  if (word == "bow") {
    if (a.after_in(" and or ") && a.after_in(" arrow arrows stern ", 2)) {
      return a.after_in(" stern ", 2) ? kVerb : kNoun;
    }
    if (a.after() == "of" && a.after_in(" the his our a ", 2)) return kVerb;  // of a ship
    if (a.before_in(" take takes took taking final deep low polite slight stiff ", 2)) return kVerb;
    if (a.near(" ship boat vessel deck stern waves ")) return kVerb;
    if (a.after_in(" to before down low deeply politely slightly ") && !a.before_in(kArticles)) {
      return kVerb;
    }
    if (a.before_in(kModals) && kind == kVerb) return kVerb;
    if (a.before_in(kPronouns) && !a.before_in(" it ")) return kVerb;
    return kind == kVerb && !a.before_in(kArticles, 2) ? kVerb : kNoun;
  }
  if (word == "wound") {
    const bool around = a.after_in(
        " up down around through its his her tightly tight back along"
        " between into ");
    const bool thing =
        a.before_in(kArticles) || a.before_in(" bullet knife open head gunshot stab ");
    if (around && !thing) return kOther;
    if (a.before_in(" road river path trail stream street procession clock vine she he ") &&
        !thing) {
      return a.after_in(" him her them me you people ") ? kVerb : kOther;
    }
  }
  if (word == "dove") {
    const bool into = a.after_in(
        " into in off under down for straight beneath below headfirst deep"
        " from through toward towards right to ");
    if (into && !a.before_in(kArticles)) return kVerb;
    if (a.before_in(kPronouns)) return kVerb;
    return kNoun;
  }
  if (word == "polish") {
    const bool capital = is_upper(written[0]);
    const bool command =
        a.before() == "^" && a.after_in(
                                 " the my your his her their our this that these those it them up"
                                 " until each every all with ");
    return capital && !command ? kOther : kVerb;
  }
  if (word == "live") {
    constexpr std::string_view kShown =
        " music show shows concert concerts broadcast audience performance performances wire wires"
        " bait stream streaming coverage tv band event events album ammunition animals recording"
        " chat feed version from at updates birth ";
    constexpr std::string_view kShowing =
        " broadcast streamed stream perform performed reporting recorded aired shown going go goes"
        " went playing play played sang sing watch watched watching ";
    if (listed(" from at ", a.after()) && !a.before_in(kShowing, 2) && a.before() != "^") {
      return kind == kAdjective && !a.before_in(kPronouns) && !a.before_in(kModals) ? kAdjective
                                                                                    : kVerb;
    }
    if (a.after_in(kShown) && !a.before_in(kPronouns) && !a.before_in(" to who "))
      return kAdjective;
    if (a.before_in(kShowing, 2)) return kAdjective;
    if (a.before_in(kPronouns) || a.before_in(kModals)) return kVerb;
  }
  if (word == "wind") {
    if (a.after_in(" up down around ") && !a.before_in(kArticles)) return kVerb;
    if (a.before_in(kModals)) return kVerb;
    if (a.before_in(kArticles)) return kNoun;
  }
  if (word == "tear") {
    if (a.before() == "and" && a.before(2) == "wear") return kOther;
    if (a.after_in(" apart up down off away out open through ") && !a.before_in(kArticles))
      return kVerb;
    if (a.after() == "in" && a.after_in(" the a my ", 2) && a.before_in(kArticles)) return kOther;
    if (a.before_in(" ligament muscle cartilage acl tendon small meniscus ")) return kOther;
    if (a.after_in(" gas drop duct ducts drops ")) return kNoun;
    if (a.before_in(" a single another each every ")) return kNoun;
  }
  if (word == "minute") {
    const bool degree = a.before_in(" very so too extremely incredibly most rather quite such ");
    const bool small = a.after_in(
        " amounts amount quantities quantity details detail traces particles"
        " differences difference changes fraction crystals organisms"
        " creatures fragments inspection examination variations ");
    return degree || small ? kAdjective : kNoun;
  }
  if (word == "close" && kind == kNoun) {
    return a.before() == "the" || a.before_in(" a its ") ? std::optional(kNoun)
                                                         : std::optional(kVerb);
  }
  if (word == "close") {
    if (a.after_in(" to by enough friend friends call together behind ") && !a.before_in(kModals)) {
      return kAdjective;
    }
    if (a.before_in(" very so too get got stay come came keep kept how as pretty "))
      return kAdjective;
  }
  if (word == "present" && a.before_in(" at the ") && a.before(1) == "at") return kAdjective;
  return {};
}

std::string_view phones_of(const Heteronym& one, Kind kind) {
  const std::array<std::string_view, 4> all = {one.noun, one.verb, one.adjective, one.other};
  if (!all[kind].empty()) return all[kind];
  for (const std::string_view phones : all) {
    if (!phones.empty()) return phones;
  }
  return {};
}

}  // namespace

std::span<const Heteronym> heteronyms() { return kHeteronyms; }

void say_heteronyms(std::vector<Piece>& pieces) {
  Words words;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    if (!piece.phones.empty() || piece.words.find(' ') != std::string::npos) continue;
    const std::string small = lower(piece.words);
    const Heteronym* one = find(small);
    const bool plural =
        one == nullptr && small.size() > 3 && small.ends_with('s') && !small.ends_with("ss");
    if (plural) one = find(std::string_view(small).substr(0, small.size() - 1));
    if (one == nullptr) continue;
    if (plural && listed(" bass minute read dove polish invalid separate live ", one->word))
      continue;
    if (words.all.empty()) words = words_of(pieces);
    const size_t at = words.of_piece[i];
    Kind kind = learned(words, at, *one, plural);
    kind = settle(*one, Around(words, at), piece.words, kind).value_or(kind);
    Phones phones = phones_of_arpabet(phones_of(*one, kind)).value();
    piece.phones = plural ? possessive(std::move(phones)) : std::move(phones);
  }
}

}  // namespace syrinx::english
