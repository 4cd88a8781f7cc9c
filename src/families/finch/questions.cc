#include "families/finch/questions.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <vector>

namespace syrinx::finch {
namespace {

constexpr std::string_view kVerbs =
    " is are am was were do does did have has had can could will would shall should may might must"
    " isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't"
    " won't wouldn't shan't shouldn't mustn't mightn't needn't oughtn't ain't ";
constexpr std::string_view kSubjects =
    " i you he she it we they this that these those there one someone somebody everyone everybody"
    " anyone anybody nobody ";
constexpr std::string_view kDeterminers =
    " a an the my your his her its our their this that these those some ";
constexpr std::string_view kQuestionWords =
    " what who whom whose which when where why how what's who's where's how's when's why's what're"
    " who're who'd how'd where'd what'd what'll who'll who've what've ";
constexpr std::string_view kPrepositions =
    " in at on to for from with by of about until till since through under over after before into"
    " during near behind like than says ";
/// Words that may come before the question itself.
constexpr std::string_view kOpeners =
    " and but so or well oh ok okay now then also yes no please hey hi hello sorry listen look say"
    " actually honestly seriously anyway hmm um uh ah right wait excuse me ";
constexpr std::string_view kTags =
    " right okay ok yes yeah no huh eh hm correct alright true really remember agreed deal sure ";
/// Words that make an "or" join parts of a single question: "Do you have any ... or ...?".
constexpr std::string_view kOneThing =
    " any anything anyone anybody anywhere ever either whether if ";
/// Words after an "or" that do not add an alternative: "or so", "or something".
constexpr std::string_view kNoChoice =
    " so more less fewer something anything someone somebody anyone anybody whatever thereabouts"
    " other another ";
constexpr std::string_view kPairs =
    " he-she his-her him-her his-hers sooner-later now-never more-less rain-shine one-two two-three"
    " three-four four-five five-six once-twice hour-two day-two week-two month-two year-two"
    " minute-two moment-two word-two thing-two drop-two mile-two ";
/// Statements that introduce a question. The pitch then falls, as in a wh-question.
constexpr std::string_view kAsking[] = {
    "i wonder", "i'm wondering", "i was wondering", "i'd like to know",    "i want to know",
    "tell me",  "we wonder",     "let me ask",      "i would like to know"};
/// Verbs of asides such as "do you think" or "did he say". An aside belongs to the question before
/// it.
constexpr std::string_view kAsides =
    " think know suppose say believe reckon mean feel guess expect imagine ";

bool in(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    if (list[at - 1] == ' ' && list[at + word.size()] == ' ') return true;
  }
  return false;
}

struct SpokenWord {
  std::string text;  // lower case, including apostrophes
  size_t begin = 0;  // byte offset in the sentence
};

/// The words between two punctuation marks of a sentence, without leading words of kOpeners.
struct AskingPart {
  enum Kind { kNone, kWhich, kWhether };
  std::vector<SpokenWord> words;
  std::string opener = {};  // last omitted opener
  size_t begin = 0;         // byte offset in the sentence of the first word or opener
  Kind kind = kNone;
  std::string_view word(size_t i) const {
    return i < words.size() ? std::string_view(words[i].text) : std::string_view();
  }
};

std::vector<AskingPart> parts_of(std::string_view sentence) {
  std::vector<AskingPart> parts(1);
  SpokenWord word;
  const auto end_word = [&] {
    while (word.text.ends_with('\'')) word.text.pop_back();
    if (!word.text.empty()) parts.back().words.push_back(std::move(word));
    word = {};
  };
  for (size_t i = 0; i < sentence.size(); ++i) {
    const char c = sentence[i];
    if (std::isalnum(static_cast<unsigned char>(c)) || (c == '\'' && !word.text.empty())) {
      if (word.text.empty()) word.begin = i;
      word.text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    end_word();
    const bool ends = std::string_view(",;:.?!").find(c) != std::string_view::npos;
    if (ends && !parts.back().words.empty()) parts.emplace_back();
  }
  end_word();
  if (parts.back().words.empty() && parts.size() > 1) parts.pop_back();
  for (AskingPart& part : parts) {
    if (part.words.empty()) continue;
    part.begin = part.words.front().begin;
    size_t openers = 0;
    while (openers + 1 < part.words.size() && in(kOpeners, part.word(openers))) ++openers;
    if (openers == 0) continue;
    part.opener = part.word(openers - 1);
    part.words.erase(part.words.begin(), part.words.begin() + static_cast<std::ptrdiff_t>(openers));
  }
  return parts;
}

bool starts_with(const AskingPart& part, std::string_view words) {
  std::string text;
  for (const SpokenWord& word : part.words) text += (text.empty() ? "" : " ") + word.text;
  return text == words || (text.starts_with(words) && text[words.size()] == ' ');
}

template <size_t N>
bool starts_with_one(const AskingPart& part, const std::string_view (&all)[N]) {
  return std::any_of(std::begin(all), std::end(all),
                     [&](std::string_view one) { return starts_with(part, one); });
}

/// Returns whether a verb precedes its subject. Only then does a question word make a question:
/// "where is it" is a question, "where it is" is not.
bool turned(const AskingPart& part) {
  for (size_t i = 0; i + 1 < part.words.size(); ++i) {
    const std::string_view next = part.word(i + 1);
    if (in(kVerbs, part.word(i)) && (in(kSubjects, next) || in(kDeterminers, next))) return true;
  }
  return false;
}

bool has_verb(const AskingPart& part) {
  return std::any_of(part.words.begin(), part.words.end(), [](const SpokenWord& word) {
    return in(kVerbs, word.text) || (word.text.find('\'') != word.text.npos);
  });
}

AskingPart::Kind kind_of(const AskingPart& part, bool after_statement) {
  const std::string_view first = part.word(0), second = part.word(1);
  if (starts_with_one(part, kAsking)) return AskingPart::kWhich;
  if (in(kVerbs, first)) return second.empty() ? AskingPart::kNone : AskingPart::kWhether;
  if (in(kPrepositions, first) && in(kQuestionWords, second)) return AskingPart::kWhich;
  if (!in(kQuestionWords, first)) return AskingPart::kNone;
  const bool time_or_place = first == "when" || first == "where";
  const bool subject = in(kSubjects, second) || in(kDeterminers, second);
  if (time_or_place && subject) return AskingPart::kNone;  // "When it rains, do you stay?"
  const bool relative = first == "which" || first == "who" || first == "whose" || time_or_place;
  if (after_statement && relative && !turned(part)) return AskingPart::kNone;  // ", which is red?"
  return AskingPart::kWhich;
}

/// Returns whether a part is a question tag: "isn't it", "will you", "am I not", "right".
bool is_tag(const AskingPart& part) {
  const size_t size = part.words.size();
  if (size == 1) return in(kTags, part.word(0));
  if (in(kVerbs, part.word(0)) && in(kSubjects, part.word(1))) {
    return size == 2 || (size == 3 && part.word(2) == "not");
  }
  return starts_with(part, "you know") || starts_with(part, "am i right") ||
         starts_with(part, "is that right") || starts_with(part, "don't you think") ||
         starts_with(part, "wouldn't you say") || starts_with(part, "you see");
}

bool is_aside(const AskingPart& part) {
  return part.words.size() == 3 && in(kVerbs, part.word(0)) && in(kSubjects, part.word(1)) &&
         in(kAsides, part.word(2));
}

/// Returns the byte offset of the "or" before the last alternative in the parts of a question of
/// this kind. Returns npos if the parts have no alternatives.
size_t choice_in(std::span<const AskingPart> parts, AskingPart::Kind kind) {
  std::vector<const SpokenWord*> words;
  std::vector<bool> begins;  // whether a word is the first one of a later part, after "or"
  std::vector<size_t> at;
  for (const AskingPart& part : parts) {
    for (size_t i = 0; i < part.words.size(); ++i) {
      words.push_back(&part.words[i]);
      begins.push_back(i == 0 && part.opener == "or" && &part != &parts.front());
      at.push_back(begins.back() ? part.begin : part.words[i].begin);
    }
  }
  for (size_t i = words.size(); i-- > 1;) {
    const bool here = words[i]->text == "or";
    if (!here && !begins[i]) continue;
    const size_t next = here ? i + 1 : i;
    if (next >= words.size()) return std::string_view::npos;
    const std::string& before = words[i - 1]->text;
    const std::string& after = words[next]->text;
    const bool last = next + 1 == words.size();
    if ((last && in(kNoChoice, after)) || in(kPairs, before + "-" + after)) continue;
    for (size_t k = 0; k < i; ++k) {
      if (in(kOneThing, words[k]->text)) return std::string_view::npos;
      // "Do you know what to do or say?" is also a single question.
      if (kind == AskingPart::kWhether && in(kQuestionWords, words[k]->text)) {
        return std::string_view::npos;
      }
    }
    return at[i];
  }
  return std::string_view::npos;
}

bool asks(std::string_view sentence) {
  const size_t end = sentence.find_last_not_of(" \t\r\n\"')!");
  return end != std::string_view::npos && sentence[end] == '?';
}

}  // namespace

Tune tune_of(std::string_view sentence) {
  if (!asks(sentence)) return {};
  std::vector<AskingPart> parts = parts_of(sentence);
  const size_t count = parts.size();
  bool after_statement = false, open_question = false;  // open_question: not a yes-no question
  size_t governing = count;                             // index of the part with the question
  for (size_t i = 0; i < count; ++i) {
    AskingPart& part = parts[i];
    part.kind = kind_of(part, after_statement);
    if (part.kind == AskingPart::kNone) {
      after_statement = after_statement || part.words.size() > 2;
      continue;
    }
    const bool last = i + 1 == count;
    const bool whether = part.kind == AskingPart::kWhether;
    const bool tag = last && i > 0 && is_tag(part);
    // "Where, exactly, is it?" is one question.
    const bool goes_on = whether && governing + 1 < i && parts[governing].words.size() == 1;
    open_question = open_question || goes_on;
    if (open_question && (goes_on || tag || (last && is_aside(part)))) continue;
    if (tag && (part.opener != "or" || governing == count)) return {.rises = true};
    const bool choice = part.opener == "or" && governing < count;  // "Is it, or isn't it?"
    if (!choice) governing = i;
    if (part.kind == AskingPart::kWhich)
      open_question = open_question || turned(part) || count == 1;
  }
  const AskingPart& last = parts.back();
  if (governing == count) {
    const size_t choice = choice_in(parts, AskingPart::kNone);
    return {.rises = choice == std::string_view::npos, .choice = choice};
  }
  const AskingPart& asking = parts[governing];
  const bool which = asking.kind == AskingPart::kWhich;
  // "What a day, right?" is an exclamation; "What, again?" asks for a repetition.
  const bool cries = which && !open_question && !has_verb(asking) && governing + 1 < count;
  if (cries && is_tag(last)) return {.rises = true};
  const bool echo = cries && asking.words.size() == 1 && last.words.size() <= 2 &&
                    (asking.word(0) == "what" || asking.word(0) == "who") &&
                    !last.words.back().text.ends_with("ly");
  if (echo) return {.rises = true};
  if (which && !open_question && governing + 1 < count && is_tag(last)) return {.rises = true};
  const std::span<const AskingPart> rest = std::span(parts).subspan(governing);
  // In a wh-question the alternatives come after a comma.
  const size_t choice = which ? (rest.size() > 1 ? choice_in(rest.subspan(1), AskingPart::kNone)
                                                 : std::string_view::npos)
                              : choice_in(rest, asking.kind);
  return {.rises = !which && choice == std::string_view::npos, .choice = choice};
}

}  // namespace syrinx::finch
