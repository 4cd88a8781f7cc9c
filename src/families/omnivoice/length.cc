#include "families/omnivoice/length.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::omnivoice {
namespace {

constexpr double kCjk = 3, kHangul = 2.5, kKana = 2.2, kEthiopic = 3, kYi = 3, kIndic = 1.8,
                 kThai = 1.5, kKhmer = 1.8, kArabic = 1.5, kHebrew = 1.5, kLetter = 1,
                 kPunctuation = 0.5, kBlank = 0.2, kNumber = 3.5;

/// The weight of the letters up to a code point.
struct Script {
  char32_t last;
  double weight;
};

// Neighbouring blocks of equal weight are one entry.
constexpr Script kScripts[] = {
    {0x058F, kLetter}, {0x05FF, kHebrew}, {0x08FF, kArabic}, {0x0DFF, kIndic},  {0x0EFF, kThai},
    {0x0FFF, kIndic},  {0x109F, kKhmer},  {0x10FF, kLetter}, {0x11FF, kHangul}, {0x139F, kEthiopic},
    {0x177F, kLetter}, {0x17FF, kKhmer},  {0x18FF, kLetter}, {0x19DF, kIndic},  {0x19FF, kKhmer},
    {0x1C7F, kIndic},  {0x1CBF, kLetter}, {0x1CFF, kIndic},  {0x1EFF, kLetter}, {0x30FF, kKana},
    {0x312F, kCjk},    {0x318F, kHangul}, {0x9FFF, kCjk},    {0xA4CF, kYi},     {0xA7FF, kLetter},
    {0xA82F, kIndic},  {0xA87F, kLetter}, {0xA95F, kIndic},  {0xA97F, kHangul}, {0xA9DF, kIndic},
    {0xA9FF, kKhmer},  {0xAA5F, kLetter}, {0xAA7F, kKhmer},  {0xAAFF, kIndic},  {0xAB2F, kEthiopic},
    {0xABBF, kLetter}, {0xABFF, kIndic},  {0xD7AF, kHangul}, {0xFAFF, kCjk},    {0xFDFF, kArabic},
    {0xFE6F, kLetter}, {0xFEFF, kArabic}, {0xFFEF, kLetter}};

double weight_of(char32_t code) {
  constexpr char32_t kTatweel = 0x0640, kIdeographs = 0x20000;
  if (code == kTatweel) return 0;
  switch (general_category(code)) {
    case Category::kMark:
      return 0;
    case Category::kPunctuation:
    case Category::kSymbol:
      return kPunctuation;
    case Category::kSeparator:
      return kBlank;
    case Category::kNumber:
      return kNumber;
    default:
      break;
  }
  const auto* script = std::ranges::lower_bound(kScripts, code, {}, &Script::last);
  if (script != std::end(kScripts)) return script->weight;
  return code > kIdeographs ? kCjk : kLetter;
}

bool is_one_of(char32_t code, std::u32string_view set) { return set.find(code) != set.npos; }

constexpr std::u32string_view kStops = U".,;:!?。，；：！？";
constexpr std::u32string_view kClosings = U"\"'“”‘’）]》>」】";
constexpr std::u32string_view kAbbreviations[] = {
    U"Mr.",   U"Mrs.",  U"Ms.",  U"Dr.",   U"Prof.", U"Sr.",     U"Jr.",  U"Rev.", U"Fr.",
    U"Hon.",  U"Pres.", U"Gov.", U"Capt.", U"Gen.",  U"Sen.",    U"Rep.", U"Col.", U"Maj.",
    U"Lt.",   U"Cmdr.", U"Sgt.", U"Cpl.",  U"Co.",   U"Corp.",   U"Inc.", U"Ltd.", U"Est.",
    U"Dept.", U"St.",   U"Ave.", U"Blvd.", U"Rd.",   U"Mt.",     U"Ft.",  U"No.",  U"Jan.",
    U"Feb.",  U"Mar.",  U"Apr.", U"Aug.",  U"Sep.",  U"Sept.",   U"Oct.", U"Nov.", U"Dec.",
    U"i.e.",  U"e.g.",  U"vs.",  U"Vs.",   U"Etc.",  U"approx.", U"fig.", U"def."};

bool ends_in_abbreviation(std::u32string_view sentence) {
  size_t begin = sentence.size();
  while (begin > 0 && !is_space(sentence[begin - 1])) --begin;
  return std::ranges::find(kAbbreviations, sentence.substr(begin)) != std::end(kAbbreviations);
}

/// Cuts a text after each stop. Stops and closing marks at the beginning of a sentence join the
/// sentence before it.
std::vector<std::u32string> sentences_of(std::string_view text) {
  std::vector<std::u32string> all;
  std::u32string now;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    at += code.size;
    const bool stops = is_one_of(code.value, kStops);
    if (now.empty() && !all.empty() && (stops || is_one_of(code.value, kClosings))) {
      all.back() += code.value;
      continue;
    }
    now += code.value;
    if (!stops || (code.value == U'.' && ends_in_abbreviation(now))) continue;
    all.push_back(std::move(now));
    now.clear();
  }
  if (!now.empty()) all.push_back(std::move(now));
  return all;
}

std::string trimmed_utf8(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  std::string out;
  for (const char32_t code : text) utf8_append(out, code);
  return out;
}

}  // namespace

double spoken_weight(std::string_view text) {
  double sum = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    sum += weight_of(code.value);
    at += code.size;
  }
  return sum;
}

int64_t estimated_frames(std::string_view text, const Pace& pace, double speed) {
  constexpr double kShort = 50;
  const double weight = spoken_weight(pace.text);
  if (weight == 0 || pace.frames <= 0) return 1;
  double frames = spoken_weight(text) / (weight / static_cast<double>(pace.frames));
  if (frames < kShort) frames = kShort * std::pow(frames / kShort, 1.0 / 3);
  if (speed != 1) frames /= speed;
  return std::max<int64_t>(1, static_cast<int64_t>(frames));
}

std::vector<std::string> pieces_of(std::string_view text, int64_t most) {
  constexpr int64_t kLeast = 3;
  std::vector<std::u32string> merged;
  std::u32string now;
  for (const std::u32string& sentence : sentences_of(text)) {
    if (std::ssize(now) + std::ssize(sentence) <= most) {
      now += sentence;
      continue;
    }
    if (!now.empty()) merged.push_back(std::move(now));
    now = sentence;
  }
  if (!now.empty()) merged.push_back(std::move(now));
  std::vector<std::u32string> joined;
  for (size_t i = 0; i < merged.size(); ++i) {
    const bool behind_short = i == 1 && std::ssize(merged[0]) < kLeast;
    if (!joined.empty() && (behind_short || std::ssize(merged[i]) < kLeast)) {
      joined.back() += merged[i];
    } else {
      joined.push_back(merged[i]);
    }
  }
  std::vector<std::string> out;
  for (const std::u32string& piece : joined) {
    if (std::string kept = trimmed_utf8(piece); !kept.empty()) out.push_back(std::move(kept));
  }
  return out;
}

}  // namespace syrinx::omnivoice
