#include "text/english/word_lists.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "text/english/tables.h"

namespace syrinx::english {
namespace {

constexpr std::pair<std::string_view, std::string_view WordLists::*> kLists[] = {
    {"top_domains", &WordLists::top_domains},
    {"elements", &WordLists::elements},
    {"formulas", &WordLists::formulas},
    {"formula_groups", &WordLists::formula_groups},
    {"molecules", &WordLists::molecules},
    {"positive_ions", &WordLists::positive_ions},
    {"negative_ions", &WordLists::negative_ions},
    {"element_names", &WordLists::element_names},
    {"code_names", &WordLists::code_names},
    {"numbered_things", &WordLists::numbered_things},
    {"code_links", &WordLists::code_links},
    {"numbered_places", &WordLists::numbered_places},
    {"call_words", &WordLists::call_words},
    {"shell_commands", &WordLists::shell_commands},
    {"lettered", &WordLists::lettered},
    {"payment_words", &WordLists::payment_words},
    {"after_amounts", &WordLists::after_amounts},
    {"counted_things", &WordLists::counted_things},
    {"day_cues", &WordLists::day_cues},
    {"pronouns", &WordLists::pronouns},
    {"modals", &WordLists::modals},
    {"articles", &WordLists::articles},
    {"read_auxiliaries", &WordLists::read_auxiliaries},
    {"read_adverbs", &WordLists::read_adverbs},
    {"drawled", &WordLists::drawled},
    {"heart_words", &WordLists::heart_words},
    {"music_words", &WordLists::music_words},
    {"interest_words", &WordLists::interest_words},
    {"game_words", &WordLists::game_words},
    {"heat_words", &WordLists::heat_words},
    {"past_words", &WordLists::past_words},
    {"lead_objects", &WordLists::lead_objects},
    {"lead_neighbours", &WordLists::lead_neighbours},
    {"live_objects", &WordLists::live_objects},
    {"live_verbs", &WordLists::live_verbs},
    {"counted_parts", &WordLists::counted_parts},
    {"function_words", &WordLists::function_words},
    {"roman_parts", &WordLists::roman_parts},
    {"rulers", &WordLists::rulers},
    {"titles", &WordLists::titles},
    {"decade_nouns", &WordLists::decade_nouns},
    {"capital_words", &WordLists::capital_words},
    {"ratio_before", &WordLists::ratio_before},
    {"ratio_after", &WordLists::ratio_after},
    {"letter_nouns", &WordLists::letter_nouns},
    {"spelled", &WordLists::spelled},
    {"said", &WordLists::said},
    {"short_words", &WordLists::short_words},
    {"two_faced", &WordLists::two_faced},
    {"onsets", &WordLists::onsets},
    {"codas", &WordLists::codas},
    {"block_tags", &WordLists::block_tags},
    {"inline_tags", &WordLists::inline_tags},
    {"hidden_tags", &WordLists::hidden_tags},
    {"control_tags", &WordLists::control_tags},
    {"control_marks", &WordLists::control_marks},
    {"roles", &WordLists::roles},
    {"tex_words", &WordLists::tex_words},
    {"menus", &WordLists::menus},
    {"digit_cues", &WordLists::digit_cues},
    {"lengths", &WordLists::lengths},
    {"shares", &WordLists::shares},
};

/// The lists, and the texts in which their views point.
struct Loaded {
  std::vector<std::string> texts;
  WordLists lists;

  Loaded() : texts(std::size(kLists)) {
    std::string* text = nullptr;
    for (const std::string_view line : data_lines(tables::words())) {
      if (line.front() == '[') {
        const std::string_view name = line.substr(1, line.size() - 2);
        const auto known = std::find_if(std::begin(kLists), std::end(kLists),
                                        [name](const auto& list) { return list.first == name; });
        SYRINX_CHECK(known != std::end(kLists), "unknown list in tables/words.txt: ", line);
        text = &texts[static_cast<size_t>(known - kLists)];
        SYRINX_CHECK(text->empty(), "a list occurs twice in tables/words.txt: ", line);
        *text = " ";
        continue;
      }
      SYRINX_CHECK(text != nullptr && line.find("  ") == line.npos && line.back() != ' ',
                   "invalid line in tables/words.txt: ", line);
      *text += with_folded_signs(line) + ' ';
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      SYRINX_CHECK(texts[i].size() > 1, "tables/words.txt has an empty list ", kLists[i].first);
      lists.*kLists[i].second = texts[i];
    }
  }
};

}  // namespace

const WordLists& word_lists() {
  static const Loaded kLoaded;
  return kLoaded.lists;
}

}  // namespace syrinx::english
