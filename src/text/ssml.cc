#include "text/ssml.h"

#include <expat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/ascii.h"
#include "base/check.h"
#include "base/number.h"
#include "text/phones.h"
#include "text/say_as.h"
#include "text/sentence_rules.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMostDepth = 50, kMostElements = 20'000, kMostIgnored = 16;
constexpr size_t kMostSaid = 1000;  // most bytes of text or replacement in say-as, sub, phoneme
constexpr std::string_view kXmlSpace = " \t\r\n";
constexpr float kLeastRate = 0.2f, kMostRate = 5, kMostPitch = 24;

/// Returns the beginning of a name, for a message. Cuts between characters only.
std::string_view shown(std::string_view name) {
  const std::string_view cut = name.substr(0, 40);
  return cut.substr(0, cut.size() - utf8_unfinished(cut));
}

/// The attributes of an element; a missing attribute is empty.
class SsmlAttributes {
 public:
  explicit SsmlAttributes(const XML_Char** pairs) : pairs_(pairs) {}
  std::string_view operator[](std::string_view name) const {
    for (const XML_Char** at = pairs_; at != nullptr && at[0] != nullptr; at += 2) {
      if (name == at[0]) return trimmed(at[1]);
    }
    return {};
  }

 private:
  const XML_Char** pairs_;
};

/// Parses a number; rejects "nan" and "inf", which parse_fixed() accepts.
std::optional<float> decimal_of(std::string_view text) {
  float value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_fixed(text, value) && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Parses "+10%", "80%" and "1.2" as factors. A sign means a change: "+10%" is 1.1.
std::optional<float> factor_of(std::string_view text) {
  const bool percent = text.ends_with('%');
  const bool change = text.starts_with('+') || text.starts_with('-');
  if (percent) text.remove_suffix(1);
  const std::optional<float> value = decimal_of(text);
  if (!value || (change && !percent)) return {};
  if (!percent) return value;
  return (change ? 1 : 0) + *value / 100;
}

struct NamedValue {
  std::string_view name;
  float value;
};
constexpr std::array kRates = std::to_array<NamedValue>({{"x-slow", 0.5f},
                                                         {"slow", 0.75f},
                                                         {"medium", 1},
                                                         {"default", 1},
                                                         {"fast", 1.3f},
                                                         {"x-fast", 1.7f}});
constexpr std::array kPitches = std::to_array<NamedValue>(
    {{"x-low", -5}, {"low", -2.5f}, {"medium", 0}, {"default", 0}, {"high", 2.5f}, {"x-high", 5}});
constexpr std::array kBreaks = std::to_array<NamedValue>({{"none", 0},
                                                          {"x-weak", 0.25f},
                                                          {"weak", 0.5f},
                                                          {"medium", 0.75f},
                                                          {"strong", 1},
                                                          {"x-strong", 1.25f}});

template <size_t N>
std::optional<float> value_named(const std::array<NamedValue, N>& table, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const NamedValue& one) { return one.name == name; });
  return it == table.end() ? std::nullopt : std::optional(it->value);
}

std::optional<float> rate_of(std::string_view value) {
  auto rate = value_named(kRates, value);
  if (!rate) rate = factor_of(value);
  if (rate) rate = std::clamp(*rate, kLeastRate, kMostRate);
  return rate;
}

/// Parses semitones. Refuses Hz, because their effect would depend on the voice.
std::optional<float> pitch_of(std::string_view value) {
  auto pitch = value_named(kPitches, value);
  if (!pitch && value.ends_with("st")) pitch = decimal_of(value.substr(0, value.size() - 2));
  if (!pitch && value.ends_with('%')) {
    const auto times = factor_of(value);
    if (times && *times > 0) pitch = 12 * std::log2(*times);
  }
  if (pitch) pitch = std::clamp(*pitch, -kMostPitch, kMostPitch);
  return pitch;
}

/// Parses "500ms", "0.5s"; returns seconds.
std::optional<float> seconds_of(std::string_view value) {
  const bool ms = value.ends_with("ms");
  if (!value.ends_with('s')) return {};
  const auto time = decimal_of(value.substr(0, value.size() - (ms ? 2 : 1)));
  if (!time || *time < 0) return {};
  return ms ? *time / 1000 : *time;
}

struct OpenElement {
  enum Kind { kPlain, kParagraph, kSentence, kSayAs, kSub, kPhoneme, kProsody, kEmphasis, kSilent };
  Kind kind = kPlain;
  size_t begin = 0;  ///< position in the text at which the element's text begins
  size_t sayings = 0;
  std::string value = {}, format = {};
  Phones phones = {};
  Delivery before = {};
};

/// Returns a message that says what to do, for common faults; otherwise the parser's message.
std::string in_words(XML_Error fault) {
  switch (fault) {
    case XML_ERROR_NO_ELEMENTS:
      return "the document ends before its </speak>";
    case XML_ERROR_SYNTAX:
      return "this is not XML: a document begins with <speak> and ends with </speak>";
    case XML_ERROR_UNDEFINED_ENTITY:
      return "this entity is not known; XML has &amp; &lt; &gt; &quot; and &apos;";
    case XML_ERROR_INVALID_TOKEN:
      return "not well-formed (& and < are written &amp; and &lt;)";
    case XML_ERROR_TAG_MISMATCH:
      return "this end tag does not match the last start tag";
    default:
      return XML_ErrorString(fault);
  }
}

bool is_ascii_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns the full stop that is missing after a sentence's last word; "" if it is not missing.
std::string_view full_stop_for(std::string_view sentence) {
  while (!sentence.empty()) {
    const CodePoint last = utf8_before(sentence, sentence.size());
    if (is_letter(last.value) || is_digit(last.value)) {
      return is_wide_letter(last.value) ? "。" : ".";
    }
    if (!is_closer(last.value)) break;
    sentence.remove_suffix(last.size);
  }
  return {};
}

/// Returns the line of the parser's current event. Expat 2.9 deprecates the shorter function name.
unsigned long current_line(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
  return XML_GetCurrentLineNumber64(parser);
#else
  return XML_GetCurrentLineNumber(parser);
#endif
}

class SsmlReader {
 public:
  SsmlReader(std::string_view document, bool english)
      : document_(document), english_(english), parser_(XML_ParserCreate("UTF-8")) {}
  ~SsmlReader() { XML_ParserFree(parser_); }
  SsmlReader(const SsmlReader&) = delete;
  SsmlReader& operator=(const SsmlReader&) = delete;

  Result<Ssml> read() {
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_,
        [](void* self, const XML_Char* name, const XML_Char** pairs) {
          static_cast<SsmlReader*>(self)->guarded(
              [&](SsmlReader& r) { r.begin(name, SsmlAttributes(pairs)); });
        },
        [](void* self, const XML_Char*) {
          static_cast<SsmlReader*>(self)->guarded([](SsmlReader& r) { r.end(); });
        });
    XML_SetCharacterDataHandler(parser_, [](void* self, const XML_Char* text, int size) {
      static_cast<SsmlReader*>(self)->guarded([&](SsmlReader& r) {
        r.characters({text, static_cast<size_t>(size)});
      });
    });
    XML_SetStartDoctypeDeclHandler(
        parser_, [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
          static_cast<SsmlReader*>(self)->fail("a document type is not supported");
        });
    const size_t most = static_cast<size_t>(std::numeric_limits<int>::max());
    const auto size = static_cast<int>(std::min(document_.size(), most));
    const XML_Status status = XML_Parse(parser_, document_.data(), size, XML_TRUE);
    if (!fault_.empty()) return error(fault_);
    if (status != XML_STATUS_OK) return error(in_words(XML_GetErrorCode(parser_)));
    cut(out_.text.find_last_not_of(kXmlSpace) + 1);
    return std::move(out_);
  }

 private:
  /// Runs `work` and catches its exceptions, because the parser is C and must not receive any.
  template <typename Work>
  void guarded(Work work) {
    if (!fault_.empty()) return;
    try {
      work(*this);
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }
  void fail(std::string what) {
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    line_ = current_line(parser_);
    XML_StopParser(parser_, XML_FALSE);
  }
  Error error(std::string_view what) const {
    const auto line = fault_.empty() ? current_line(parser_) : line_;
    return {ErrorCode::kInvalid, concat("SSML, line ", line, ": ", what), "input"};
  }
  void ignore(std::string what) {
    // The message may become the value of an HTTP header, so control characters are replaced.
    std::replace_if(
        what.begin(), what.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    auto& all = out_.ignored;
    const bool there = std::find(all.begin(), all.end(), what) != all.end();
    if (!there && all.size() < kMostIgnored) all.push_back(std::move(what));
  }

  void begin(std::string_view name, const SsmlAttributes& given);
  void end();
  void characters(std::string_view text);
  void add(std::string_view text);
  void gap(std::string_view wanted);
  void cut(size_t size);
  void pause(const SsmlAttributes& given);
  void prosody(const SsmlAttributes& given, OpenElement& open);
  void deliver();
  void say(const OpenElement& open, Saying saying);

  std::string_view document_;
  const bool english_;
  XML_Parser parser_;
  Ssml out_;
  std::vector<OpenElement> open_;
  Delivery now_;
  size_t elements_ = 0;
  size_t apart_ = 0;  // position after the words of the last say-as
  int silent_ = 0;    // number of open elements whose text is not spoken
  std::string fault_;
  unsigned long line_ = 0;
};

/// Adds text; a run of white space becomes one space, also across elements.
void SsmlReader::characters(std::string_view text) {
  if (silent_ > 0) return;
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find_first_of(kXmlSpace, at), text.size());
    if (space > at) add(text.substr(at, space - at));
    if (space < text.size()) gap(" ");
    at = std::min(text.find_first_not_of(kXmlSpace, space), text.size());
  }
}

void SsmlReader::add(std::string_view text) {
  if (open_.empty() || text.empty()) return;
  const bool joined = apart_ > 0 && apart_ == out_.text.size() && is_ascii_word(text[0]);
  if (joined) out_.text += ' ';  // as in "<say-as>5</say-as>km"
  out_.text += text;
}

/// Makes the text end with at least the white space `wanted`.
void SsmlReader::gap(std::string_view wanted) {
  std::string& text = out_.text;
  const size_t end = text.find_last_not_of(kXmlSpace) + 1;
  if (end == 0) return cut(0);
  if (text.size() - end >= wanted.size()) return;
  text.resize(end);
  text += wanted;
}

/// Shortens the text. Marks and changes of delivery (speed, pitch) beyond the new end move to the
/// end. If several changes are at one position, the last one applies.
void SsmlReader::cut(size_t size) {
  out_.text.resize(size);
  const auto end = static_cast<int64_t>(size);
  for (auto at = out_.marks.rbegin(); at != out_.marks.rend() && at->at > end; ++at) at->at = end;
  auto& all = out_.deliveries;
  for (auto at = all.rbegin(); at != all.rend() && at->begin > end; ++at) at->begin = end;
  while (all.size() >= 2 && all[all.size() - 2].begin == all.back().begin) {
    all.erase(all.end() - 2);
  }
}

void SsmlReader::pause(const SsmlAttributes& given) {
  std::optional<float> seconds = 0.75f;
  if (const auto time = given["time"]; !time.empty()) {
    seconds = seconds_of(time);
    if (!seconds) return fail(concat("invalid time '", time, "': use e.g. 500ms or 0.5s"));
  } else if (const auto strength = given["strength"]; !strength.empty()) {
    seconds = value_named(kBreaks, strength);
    if (!seconds)
      return fail(concat("invalid break strength '", strength, "': use e.g. weak or strong"));
  }
  if (*seconds == 0) return;
  gap(" ");
  add(concat("<break time=\"", std::llround(*seconds * 1000.0), "ms\"/>"));
  add(" ");
}

void SsmlReader::prosody(const SsmlAttributes& given, OpenElement& open) {
  open.before = now_;
  if (const auto rate = given["rate"]; !rate.empty()) {
    const auto value = rate_of(rate);
    if (!value) return fail(concat("invalid rate '", rate, "': use e.g. slow, 80% or +10%"));
    now_.rate = std::clamp(now_.rate * *value, kLeastRate, kMostRate);
  }
  if (const auto pitch = given["pitch"]; !pitch.empty()) {
    const bool hertz = lower_ascii(pitch).ends_with("hz");
    const auto value = pitch_of(pitch);
    if (!value && !hertz)
      return fail(concat("invalid pitch '", pitch, "': use e.g. high, +10% or -2st"));
    if (hertz) ignore("prosody pitch in Hz");
    now_.pitch = std::clamp(now_.pitch + value.value_or(0), -kMostPitch, kMostPitch);
  }
  for (const std::string_view other : {"volume", "contour", "range", "duration"}) {
    if (!given[other].empty()) ignore(concat("prosody ", other));
  }
  deliver();
}

/// Starts the present delivery at the end of the text.
void SsmlReader::deliver() {
  now_.begin = static_cast<int64_t>(out_.text.size());
  auto& all = out_.deliveries;
  if (!all.empty() && all.back().begin == now_.begin) all.pop_back();
  const Delivery last = all.empty() ? Delivery() : all.back();
  if (last.rate != now_.rate || last.pitch != now_.pitch) all.push_back(now_);
}

void SsmlReader::begin(std::string_view name, const SsmlAttributes& given) {
  if (open_.size() >= kMostDepth)
    return fail(concat("nested more than ", kMostDepth, " elements deep"));
  if (++elements_ > kMostElements) return fail(concat("more than ", kMostElements, " elements"));
  if (open_.empty() && name != "speak") return fail("the root element must be <speak>");
  OpenElement open;
  const auto needs = [&](std::string_view what) {
    if (given[what].empty()) fail(concat("<", name, "> needs '", what, "'"));
    if (given[what].size() > kMostSaid) {
      fail(concat("'", what, "' of <", name, "> has more than ", kMostSaid, " bytes"));
    }
    return std::string(given[what].substr(0, kMostSaid));
  };
  if (name == "break") {
    pause(given);
  } else if (name == "mark") {
    out_.marks.push_back({needs("name"), static_cast<int64_t>(out_.text.size())});
  } else if (name == "p" || name == "paragraph") {
    open.kind = OpenElement::kParagraph;
    gap("\n\n");
  } else if (name == "s" || name == "sentence") {
    open.kind = OpenElement::kSentence;
    gap(" ");
  } else if (name == "say-as") {
    open.kind = OpenElement::kSayAs;
    open.value = needs("interpret-as");
    open.format = given["format"];
  } else if (name == "sub") {
    open.kind = OpenElement::kSub;
    open.value = needs("alias");
  } else if (name == "phoneme") {
    open.kind = OpenElement::kPhoneme;
    const std::string ph = needs("ph");
    const std::string_view alphabet = given["alphabet"];
    const bool arpabet = alphabet == "x-cmu" || alphabet == "x-arpabet" || alphabet == "arpabet" ||
                         alphabet == "cmu-arpabet" || alphabet == "x-cmu-arpabet";
    if (!arpabet && !alphabet.empty() && alphabet != "ipa") {
      return fail(concat("invalid alphabet '", alphabet, "': use ipa or x-cmu"));
    }
    if (!fault_.empty()) return;
    Result<Phones> phones = arpabet ? phones_of_arpabet(ph) : phones_of_ipa(ph);
    if (!phones) return fail(phones.error().message);
    open.phones = phones.take();
  } else if (name == "prosody") {
    open.kind = OpenElement::kProsody;
    prosody(given, open);
  } else if (name == "emphasis") {
    open.kind = OpenElement::kEmphasis;
    const auto level = given["level"];
    if (level == "none" || level == "reduced") open.kind = OpenElement::kPlain;
    if (level == "reduced") ignore("emphasis 'reduced'");
  } else if (name == "metadata" || name == "meta" || name == "lexicon" || name == "desc") {
    open.kind = OpenElement::kSilent;
    ++silent_;
    if (name == "lexicon") ignore("<lexicon>");
  } else if (name == "speak") {
    if (!open_.empty()) return fail("<speak> contains another <speak>");
  } else if (name != "w" && name != "token") {
    ignore(concat("<", shown(name), ">"));
  }
  open.begin = out_.text.size();
  open.sayings = out_.sayings.size();
  open_.push_back(std::move(open));
}

/// Adds a saying for the text written since `open`, without the white space at its ends.
void SsmlReader::say(const OpenElement& open, Saying saying) {
  const size_t first = out_.text.find_first_not_of(kXmlSpace, open.begin);
  const size_t end = out_.text.find_last_not_of(kXmlSpace) + 1;
  if (first == out_.text.npos || end <= first) return;
  saying.begin = static_cast<int64_t>(first);
  saying.end = static_cast<int64_t>(end);
  out_.sayings.push_back(std::move(saying));
}

void SsmlReader::end() {
  const OpenElement open = std::move(open_.back());
  open_.pop_back();
  std::string& text = out_.text;
  const size_t begin = std::min(open.begin, text.size());
  const std::string inside(trimmed(std::string_view(text).substr(begin)));
  const auto replace = [&](std::string_view with) {
    const bool spaced = text.size() > begin && kXmlSpace.find(text.back()) != kXmlSpace.npos;
    cut(begin);
    out_.sayings.resize(std::min(out_.sayings.size(), open.sayings));
    text += with;
    if (spaced) text += ' ';
  };
  switch (open.kind) {
    case OpenElement::kParagraph:
      return gap("\n\n");
    case OpenElement::kSentence:
      if (!inside.empty()) {
        text.erase(text.find_last_not_of(kXmlSpace) + 1);
        text += full_stop_for(text);
        text += ' ';
        cut(text.size());  // the text may have become shorter
      }
      return;
    case OpenElement::kSayAs: {
      if (inside.empty()) return;
      if (inside.size() > kMostSaid)
        return fail(concat("<say-as> has more than ", kMostSaid, " bytes"));
      const auto said = say_as(lower_ascii(open.value), open.format, inside, english_);
      if (said) {
        const bool joined = begin > 0 && is_ascii_word(text[begin - 1]);
        replace(joined ? ' ' + *said : *said);
        apart_ = text.size();
        return;
      }
      return ignore(
          concat("say-as '", shown(open.value), "' (unsupported, or does not fit its text)"));
    }
    case OpenElement::kSub:
      return replace(open.value);
    case OpenElement::kPhoneme:
      if (inside.empty()) replace("x");  // phones without text need a text to apply to
      if (text.size() - begin > kMostSaid) return fail("<phoneme> contains too much text");
      out_.sayings.resize(std::min(out_.sayings.size(), open.sayings));
      return say(open, {.phones = open.phones});
    case OpenElement::kProsody:
      now_.rate = open.before.rate;
      now_.pitch = open.before.pitch;
      return deliver();
    case OpenElement::kEmphasis:
      for (size_t i = open.sayings; i < out_.sayings.size(); ++i) out_.sayings[i].strong = true;
      if (out_.sayings.size() == open.sayings) say(open, {.strong = true});
      return;
    case OpenElement::kSilent:
      --silent_;
      return;
    case OpenElement::kPlain:
      return;
  }
}

}  // namespace

SsmlStart ssml_start(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) {
    text.remove_prefix(kMark.size());
  } else if (kMark.starts_with(text)) {
    return SsmlStart::kUnfinished;
  }
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kXmlSpace), text.size()));
    if (text.empty()) return SsmlStart::kUnfinished;
    size_t end = 0;
    if (text.starts_with("<?xml")) {
      end = text.find("?>");
    } else if (text.starts_with("<!--")) {
      end = text.find("-->", 4);
    } else if (lower_ascii(text.substr(0, 9)) == "<!doctype") {
      const size_t name = text.find_first_not_of(kXmlSpace, 9);
      const size_t behind = name == text.npos ? name : text.find_first_of(" \t\r\n>[", name);
      if (behind == text.npos) return SsmlStart::kUnfinished;
      if (text.substr(name, behind - name) == "speak") return SsmlStart::kYes;
      end = text.find('>', behind);
    } else {
      for (const std::string_view opener : {"<?xml", "<!--", "<!doctype", "<speak"}) {
        if (opener.starts_with(lower_ascii(text))) return SsmlStart::kUnfinished;
      }
      const bool speaks = text.starts_with("<speak") &&
                          std::string_view(" \t\r\n>/").find(text[6]) != std::string_view::npos;
      return speaks ? SsmlStart::kYes : SsmlStart::kNo;
    }
    if (end == text.npos) return SsmlStart::kUnfinished;
    text.remove_prefix(text.find('>', end) + 1);
  }
}

bool is_ssml(std::string_view text) { return ssml_start(text) == SsmlStart::kYes; }

Result<Ssml> read_ssml(std::string_view document, bool english) {
  if (document.starts_with("\xef\xbb\xbf")) document.remove_prefix(3);
  return SsmlReader(trimmed(document, kXmlSpace), english).read();
}

}  // namespace syrinx
