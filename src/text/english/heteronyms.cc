#include "text/english/heteronyms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "text/english/chars.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

const std::vector<Heteronym>& heteronym_rows() {
  static const auto kRows = table_rows<Heteronym>(tables::heteronyms(), 8, 8, [](const Cells& c) {
    const auto phones = [&c](size_t k) { return c[k] == "-" ? std::string() : c[k]; };
    return Heteronym{c[0],      phones(1), phones(2),
                     phones(3), phones(4), {number_in(c[5]), number_in(c[6]), number_in(c[7])}};
  });
  return kRows;
}

enum Kind { kNoun, kVerb, kAdjective, kOther };
using Scores = std::array<int, 3>;

const std::unordered_map<std::string_view, Scores>& weights() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, Scores> table;
    for (const std::string_view line : data_lines(tables::heteronym_weights())) {
      const auto words = split(line, ' ');
      SYRINX_CHECK(words.size() > 3, "invalid line in heteronym_weights.txt: ", line);
      const std::span<const std::string_view> numbers(words.end() - 3, 3);
      const auto name = static_cast<size_t>(numbers[0].data() - line.data()) - 1;
      table[line.substr(0, name)] = {number_in(numbers[0]), number_in(numbers[1]),
                                     number_in(numbers[2])};
    }
    return table;
  }();
  return kTable;
}

const Heteronym* find(std::string_view word) {
  const auto it = std::find_if(heteronym_rows().begin(), heteronym_rows().end(),
                               [&](const Heteronym& one) { return one.word == word; });
  return it == heteronym_rows().end() ? nullptr : &*it;
}

/// The sentence as the weights require: words in small letters, and commas.
struct Words {
  std::vector<std::string> all;
  std::vector<size_t> of_piece;  ///< index of the last word of each piece

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

// ---------------------------------------------------------------- rules

/// Looks for words near a word: up to `left` words before it, and at most two after it.
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

std::optional<Kind> settle_read(const Around& a) {
  const int skip = listed(word_lists().read_adverbs, a.before()) ? 2 : 1;
  if (listed(word_lists().modals, a.before(skip)) || listed(" n't ", a.before(skip))) return kVerb;
  if (listed(word_lists().read_auxiliaries, a.before(skip)) ||
      (skip == 1 && listed(" well widely ", a.before())))
    return kOther;
  if (a.before_in(word_lists().modals, 2) && !a.before_in(word_lists().read_auxiliaries, 2))
    return kVerb;
  if (listed(word_lists().read_auxiliaries, a.before(skip + 1)) &&
      listed(word_lists().pronouns, a.before(skip))) {
    return listed(" have has had haven't hasn't hadn't ", a.before(skip + 1))
               ? std::optional(kOther)
               : std::optional(kVerb);
  }
  if (listed(" he she it nobody everyone somebody ", a.before(skip))) return kOther;
  if (a.near(word_lists().past_words)) return kOther;
  if (skip == 2 && listed(" well ", a.before())) return kOther;
  return kVerb;
}

/// Selects the kind by rules; returns nothing if no rule applies, so that the weights decide.
std::optional<Kind> settle(const Heteronym& one, const Around& a, std::string_view written,
                           Kind kind) {
  const std::string_view word = one.word;
  if (word == "read") return settle_read(a);
  if (word == "lead") {
    const bool made =
        a.before() == "of" &&
        a.before_in(" made full tons ounces sheet sheets piece pound pounds lump ", 2);
    const bool like = a.before() == "like" || a.before_in(word_lists().lead_neighbours, 2);
    if (a.after_in(word_lists().lead_objects) || made || (like && kind == kNoun)) return kOther;
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
    if (a.after() == "of" && a.after_in(" the his our a ", 2)) return kVerb;  // bow of a ship
    if (a.before_in(" take takes took taking final deep low polite slight stiff ", 2)) return kVerb;
    if (a.near(" ship boat vessel deck stern waves ")) return kVerb;
    if (a.after_in(" to before down low deeply politely slightly ") &&
        !a.before_in(word_lists().articles)) {
      return kVerb;
    }
    if (a.before_in(word_lists().modals) && kind == kVerb) return kVerb;
    if (a.before_in(word_lists().pronouns) && !a.before_in(" it ")) return kVerb;
    return kind == kVerb && !a.before_in(word_lists().articles, 2) ? kVerb : kNoun;
  }
  if (word == "wound") {
    const bool around = a.after_in(
        " up down around through its his her tightly tight back along"
        " between into ");
    const bool thing =
        a.before_in(word_lists().articles) || a.before_in(" bullet knife open head gunshot stab ");
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
    if (into && !a.before_in(word_lists().articles)) return kVerb;
    if (a.before_in(word_lists().pronouns)) return kVerb;
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
    if (listed(" from at ", a.after()) && !a.before_in(word_lists().live_verbs, 2) &&
        a.before() != "^") {
      return kind == kAdjective && !a.before_in(word_lists().pronouns) &&
                     !a.before_in(word_lists().modals)
                 ? kAdjective
                 : kVerb;
    }
    if (a.after_in(word_lists().live_objects) && !a.before_in(word_lists().pronouns) &&
        !a.before_in(" to who "))
      return kAdjective;
    if (a.before_in(word_lists().live_verbs, 2)) return kAdjective;
    if (a.before_in(word_lists().pronouns) || a.before_in(word_lists().modals)) return kVerb;
  }
  if (word == "wind") {
    if (a.after_in(" up down around ") && !a.before_in(word_lists().articles)) return kVerb;
    if (a.before_in(word_lists().modals)) return kVerb;
    if (a.before_in(word_lists().articles)) return kNoun;
  }
  if (word == "tear") {
    if (a.before() == "and" && a.before(2) == "wear") return kOther;
    if (a.after_in(" apart up down off away out open through ") &&
        !a.before_in(word_lists().articles))
      return kVerb;
    if (a.after() == "in" && a.after_in(" the a my ", 2) && a.before_in(word_lists().articles))
      return kOther;
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
    if (a.after_in(" to by enough friend friends call together behind ") &&
        !a.before_in(word_lists().modals)) {
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

std::span<const Heteronym> heteronyms() { return heteronym_rows(); }

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
