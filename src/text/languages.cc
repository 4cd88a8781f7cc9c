#include "text/languages.h"

#include <algorithm>

#include "base/ascii.h"

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

/// Alternative codes and names of the languages above.
constexpr Language kOthers[] = {
    {"ar", "ara"},      {"cs", "ces"},       {"cs", "cze"},       {"da", "dan"},
    {"de", "deu"},      {"de", "ger"},       {"el", "ell"},       {"el", "gre"},
    {"en", "eng"},      {"es", "spa"},       {"es", "castilian"}, {"fa", "fas"},
    {"fa", "per"},      {"fi", "fin"},       {"fr", "fra"},       {"fr", "fre"},
    {"he", "iw"},       {"he", "heb"},       {"hi", "hin"},       {"hu", "hun"},
    {"id", "in"},       {"id", "ind"},       {"it", "ita"},       {"ja", "jpn"},
    {"jw", "jv"},       {"ko", "kor"},       {"my", "burmese"},   {"nl", "nld"},
    {"nl", "dut"},      {"nl", "flemish"},   {"no", "nb"},        {"no", "nor"},
    {"no", "nob"},      {"pl", "pol"},       {"pt", "por"},       {"ro", "ron"},
    {"ro", "rum"},      {"ro", "moldavian"}, {"ru", "rus"},       {"sv", "swe"},
    {"tl", "fil"},      {"tl", "filipino"},  {"tr", "tur"},       {"uk", "ukr"},
    {"vi", "vie"},      {"zh", "cmn"},       {"zh", "zho"},       {"zh", "chi"},
    {"zh", "mandarin"},
};

const Language* row_of(std::string_view text) {
  const auto at = std::find_if(std::begin(kLanguages), std::end(kLanguages), [&](const auto& each) {
    return each.code == text || each.name == text;
  });
  return at == std::end(kLanguages) ? nullptr : at;
}

/// Returns a tag in small letters, with hyphens between its parts.
std::string tag_text(std::string_view called) {
  std::string out = lower_ascii(trimmed(called));
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// Returns the code of a name or code without a region. Unknown names are returned unchanged.
std::string code_of(std::string_view name) {
  if (const Language* row = row_of(name)) return std::string(row->code);
  const auto at = std::find_if(std::begin(kOthers), std::end(kOthers),
                               [&](const Language& each) { return each.name == name; });
  return std::string(at == std::end(kOthers) ? name : at->code);
}

/// A language tag. `rest`: the other parts of the tag, like region, script and variant.
struct Tag {
  std::string code, rest;
};

Tag read_tag(std::string_view called) {
  const std::string text = tag_text(called);
  const size_t hyphen = text.find('-');
  if (hyphen == text.npos) return {code_of(text), ""};
  return {code_of(text.substr(0, hyphen)), text.substr(hyphen + 1)};
}

/// Returns how well a model's tag fits the requested tag, from 1 to 5; 0 if the languages differ.
int fit(const Tag& known, const Tag& asked) {
  if (known.code != asked.code) return 0;
  if (known.rest == asked.rest) return 5;
  if (known.rest.empty()) return 4;
  if (asked.rest.starts_with(known.rest + "-")) return 3;
  const bool usual = known.rest == known.code || (known.code == "en" && known.rest == "us");
  return usual ? 2 : 1;
}

}  // namespace

std::string language_name(std::string_view code) {
  const Language* found = row_of(code);
  return std::string(found == nullptr ? code : found->name);
}

std::string language_code(std::string_view called) {
  if (is_any_language(called)) return {};
  const std::string text = tag_text(called);
  const std::string code = read_tag(text).code;
  return row_of(code) == nullptr ? text : code;
}

std::optional<std::string> find_language(std::span<const std::string> known,
                                         std::string_view called) {
  const std::string text = tag_text(called);
  const Tag asked = read_tag(text);
  const std::string* best = nullptr;
  int best_fit = 0;
  for (const std::string& each : known) {
    if (is_any_language(each)) continue;
    const int fits = tag_text(each) == text ? 6 : fit(read_tag(each), asked);
    if (fits > best_fit) best = &each, best_fit = fits;
  }
  if (best == nullptr) return {};
  return *best;
}

bool is_any_language(std::string_view called) {
  const std::string_view name = trimmed(called);
  return name.empty() || same_but_case(name, "auto");
}

}  // namespace syrinx
