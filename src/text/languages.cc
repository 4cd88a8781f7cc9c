#include "ears/languages.h"

#include <algorithm>

namespace syrinx {
namespace {

struct Language {
  std::string_view code, name;
};
constexpr Language kLanguages[] = {
    {"af", "afrikaans"},      {"am", "amharic"},     {"ar", "arabic"},
    {"as", "assamese"},       {"az", "azerbaijani"}, {"ba", "bashkir"},
    {"be", "belarusian"},     {"bg", "bulgarian"},   {"bn", "bengali"},
    {"bo", "tibetan"},        {"br", "breton"},      {"bs", "bosnian"},
    {"ca", "catalan"},        {"cs", "czech"},       {"cy", "welsh"},
    {"da", "danish"},         {"de", "german"},      {"el", "greek"},
    {"en", "english"},        {"es", "spanish"},     {"et", "estonian"},
    {"eu", "basque"},         {"fa", "persian"},     {"fi", "finnish"},
    {"fo", "faroese"},        {"fr", "french"},      {"gl", "galician"},
    {"gu", "gujarati"},       {"ha", "hausa"},       {"haw", "hawaiian"},
    {"he", "hebrew"},         {"hi", "hindi"},       {"hr", "croatian"},
    {"ht", "haitian creole"}, {"hu", "hungarian"},   {"hy", "armenian"},
    {"id", "indonesian"},     {"is", "icelandic"},   {"it", "italian"},
    {"ja", "japanese"},       {"jw", "javanese"},    {"ka", "georgian"},
    {"kk", "kazakh"},         {"km", "khmer"},       {"kn", "kannada"},
    {"ko", "korean"},         {"la", "latin"},       {"lb", "luxembourgish"},
    {"ln", "lingala"},        {"lo", "lao"},         {"lt", "lithuanian"},
    {"lv", "latvian"},        {"mg", "malagasy"},    {"mi", "maori"},
    {"mk", "macedonian"},     {"ml", "malayalam"},   {"mn", "mongolian"},
    {"mr", "marathi"},        {"ms", "malay"},       {"mt", "maltese"},
    {"my", "myanmar"},        {"ne", "nepali"},      {"nl", "dutch"},
    {"nn", "nynorsk"},        {"no", "norwegian"},   {"oc", "occitan"},
    {"pa", "punjabi"},        {"pl", "polish"},      {"ps", "pashto"},
    {"pt", "portuguese"},     {"ro", "romanian"},    {"ru", "russian"},
    {"sa", "sanskrit"},       {"sd", "sindhi"},      {"si", "sinhala"},
    {"sk", "slovak"},         {"sl", "slovenian"},   {"sn", "shona"},
    {"so", "somali"},         {"sq", "albanian"},    {"sr", "serbian"},
    {"su", "sundanese"},      {"sv", "swedish"},     {"sw", "swahili"},
    {"ta", "tamil"},          {"te", "telugu"},      {"tg", "tajik"},
    {"th", "thai"},           {"tk", "turkmen"},     {"tl", "tagalog"},
    {"tr", "turkish"},        {"tt", "tatar"},       {"uk", "ukrainian"},
    {"ur", "urdu"},           {"uz", "uzbek"},       {"vi", "vietnamese"},
    {"yi", "yiddish"},        {"yo", "yoruba"},      {"yue", "cantonese"},
    {"zh", "chinese"},
};

const Language* find_language(std::string_view text) {
  const auto at = std::find_if(std::begin(kLanguages), std::end(kLanguages), [&](const auto& each) {
    return each.code == text || each.name == text;
  });
  return at == std::end(kLanguages) ? nullptr : at;
}

}  // namespace

std::string language_name(std::string_view code) {
  const Language* found = find_language(code);
  return std::string(found == nullptr ? code : found->name);
}

std::string language_code(std::string_view called) {
  std::string small(called);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const Language* found = find_language(small);
  if (found == nullptr) found = find_language(small.substr(0, small.find_first_of("-_")));
  return found == nullptr ? small : std::string(found->code);
}

}  // namespace syrinx
