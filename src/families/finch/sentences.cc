#include "families/finch/sentences.h"

#include <algorithm>
#include <span>

#include "families/finch/fold.h"
#include "families/finch/phone_stream.h"
#include "families/finch/reading.h"

namespace syrinx::finch {
namespace {

/// A token as written, its punctuation taken off.
struct Written {
  std::string core;
  int64_t begin = 0, end = 0;  ///< bytes of the core
  char close = 0;              ///< , ; : . ! ? after the core, the strongest; 0 none
  bool ellipsis = false;
  bool opens = false;       ///< a bracket opens before it
  bool closes = false;      ///< a bracket closes after it
  bool ends_block = false;  ///< a blank line or the end of an unfinished line follows
};

bool is_core(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_lead_sign(char c) {
  return std::string_view("$+-~#@&=<>*/%\\\x01\x02\x03\x04\xB0").find(c) != std::string_view::npos;
}

bool is_trail_sign(char c) {
  return std::string_view("$%+#&=<>@\x01\x02\x03\x04\xB0").find(c) != std::string_view::npos;
}

int strength(char close) { return static_cast<int>(std::string_view(",;:.!?").find(close)); }

/// Cuts one run of non-space characters into core and punctuation. The core may stay empty.
Written take_apart(const FoldedChar* chars, size_t count) {
  Written token;
  size_t first = 0, last = count;
  const auto spoken = [&](size_t i, bool (*sign)(char)) {
    return is_core(chars[i].ch) || sign(chars[i].ch);
  };
  while (first < last && !spoken(first, is_lead_sign)) {
    const char c = chars[first].ch;
    token.opens |= c == '(' || c == '[' || c == '\x1F';
    ++first;
  }
  if (first == last) first = 0;  // nothing but punctuation
  int dots = 0;
  while (last > first && !spoken(last - 1, is_trail_sign)) {
    const char c = chars[last - 1].ch;
    dots += c == '.';
    token.closes |= c == ')' || c == ']' || c == '\x1F';
    if (std::string_view(",;:.!?").find(c) != std::string_view::npos &&
        (token.close == 0 || strength(c) > strength(token.close))) {
      token.close = c;
    }
    --last;
  }
  token.ellipsis = dots >= 3 && token.close == '.';
  for (size_t i = first; i < last; ++i) token.core += chars[i].ch;
  token.begin = first < last ? chars[first].begin : chars[0].begin;
  token.end = first < last ? chars[last - 1].end : chars[count - 1].end;
  return token;
}

/// Punctuation that stands alone belongs to the token before it.
void add_token(std::vector<Written>& tokens, Written token) {
  const bool bare = std::none_of(token.core.begin(), token.core.end(), is_core) &&
                    (token.core.empty() ||
                     (token.core.size() > 1 &&
                      token.core.find_first_not_of("-=*#~<>+/\\&@") == std::string::npos) ||
                     token.core == "-");
  if (!bare) {
    tokens.push_back(std::move(token));
  } else if (!tokens.empty()) {
    Written& before = tokens.back();
    if (before.close == 0) before.close = token.close;
    before.closes |= token.opens || token.closes || token.core == "-";
  }
}

std::vector<Written> tokenise(const std::vector<FoldedChar>& text) {
  std::vector<Written> tokens;
  int newlines = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i].ch;
    if (c == ' ' || c == '\n') {
      newlines += c == '\n';
      ++i;
      continue;
    }
    size_t end = i;
    // An em dash ends a run like a space does, and closes it like a bracket.
    while (end < text.size() && text[end].ch != ' ' && text[end].ch != '\n') {
      if (text[end++].ch == '\x1F') break;
    }
    const bool starts_high = c >= 'A' && c <= 'Z';
    const bool bullet = c == '-' || c == '*' || c == '\x1F';
    const bool listed = bullet || (c >= '0' && c <= '9');
    if (!tokens.empty() && (newlines > 1 || (newlines == 1 && (starts_high || listed)))) {
      tokens.back().ends_block |= newlines > 1 || bullet || tokens.back().close == 0;
    }
    newlines = 0;
    add_token(tokens, take_apart(&text[i], end - i));
    i = end;
  }
  return tokens;
}

bool ends_sentence(const Written& token, const Written* next) {
  if (next == nullptr || token.ends_block) return true;
  if (token.close != '.' && token.close != '!' && token.close != '?') return false;
  const char start = next->core.empty() ? ' ' : next->core[0];
  if (start >= 'a' && start <= 'z') return false;
  return token.close != '.' || !is_abbreviation(token.core) || token.closes;
}

/// The mark that libflite should see after a token.
std::string_view spoken_mark(const Written& token, const Written* next, bool end) {
  if (end) return token.close == '?' ? "?" : token.close == '!' ? "!" : ".";
  if (token.close == '.' && !token.ellipsis && is_abbreviation(token.core)) return ".";
  if (token.close != 0) return token.close == ':' ? ":" : token.close == ';' ? ";" : ",";
  return token.closes || (next != nullptr && next->opens) ? "," : "";
}

bool has_core(std::string_view text) { return std::any_of(text.begin(), text.end(), is_core); }

std::string squeeze(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// How many pieces the next sentence takes: all when they fit, else up to the last comma past a
/// third, else as many as fit.
size_t cut_point(std::span<const Piece> pieces) {
  size_t chars = 0, fits = 0, comma = 0;
  for (const Piece& piece : pieces) {
    chars += piece.text.size() + (fits > 0 ? 1 : 0);
    if (chars > kMaxSentenceChars) return comma > 0 ? comma : std::max<size_t>(fits, 1);
    ++fits;
    const char last = piece.text.back();
    if ((last == ',' || last == ';' || last == ':') && chars > kMaxSentenceChars / 3) comma = fits;
  }
  return pieces.size();
}

/// One piece of text longer than a sentence may be: cut between its words, else anywhere.
std::vector<Piece> cut_piece(const Piece& piece) {
  std::vector<Piece> parts;
  std::string_view rest = piece.text;
  while (rest.size() > kMaxSentenceChars / 2) {
    const size_t space = rest.rfind(' ', kMaxSentenceChars / 2);
    const size_t at = space == std::string_view::npos || space == 0 ? kMaxSentenceChars / 2 : space;
    parts.push_back({std::string(rest.substr(0, at)), piece.begin, piece.end});
    rest.remove_prefix(rest[at] == ' ' ? at + 1 : at);
  }
  if (!rest.empty()) parts.push_back({std::string(rest), piece.begin, piece.end});
  return parts;
}

void add_sentence(std::vector<Sentence>& out, std::vector<Piece>& pieces) {
  std::vector<Piece> bounded;
  for (const Piece& piece : pieces) {
    for (Piece& part : cut_piece(piece)) bounded.push_back(std::move(part));
  }
  pieces.clear();
  if (std::none_of(bounded.begin(), bounded.end(),
                   [](const Piece& p) { return has_core(p.text); })) {
    return;
  }
  const bool rising = is_rising_question(Sentence{bounded}.text());
  for (std::span<const Piece> rest(bounded); !rest.empty();) {
    const size_t cut = cut_point(rest);
    out.push_back({{rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut)}});
    rest = rest.subspan(cut);
  }
  out.back().rising = rising;
}

}  // namespace

std::string Sentence::text() const {
  std::string out;
  for (const Piece& piece : pieces) {
    if (!out.empty()) out += ' ';
    out += piece.text;
  }
  return out;
}

std::vector<Sentence> split_sentences(std::string_view utf8) {
  const auto tokens = tokenise(fold(utf8));
  std::vector<Sentence> sentences;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Written* next = i + 1 < tokens.size() ? &tokens[i + 1] : nullptr;
    const bool joined = tokens[i].close != 0;  // punctuation between keeps tokens apart
    Neighbours near{i > 0 ? std::string_view(tokens[i - 1].core) : std::string_view(),
                    next && !joined ? std::string_view(next->core) : std::string_view()};
    const Reading reading = read_token(tokens[i].core, near);
    const Written* last = &tokens[i];
    if (reading.took_next) {
      last = &tokens[++i];
      next = i + 1 < tokens.size() ? &tokens[i + 1] : nullptr;
    }
    const bool end = ends_sentence(*last, next);
    std::string text = squeeze(reading.text);
    const auto mark = spoken_mark(*last, next, end);
    if (has_core(text)) {
      text += mark;
      pieces.push_back({std::move(text), tokens[reading.took_next ? i - 1 : i].begin, last->end});
    } else if (!pieces.empty() &&
               has_core(pieces.back().text.substr(pieces.back().text.size() - 1))) {
      pieces.back().text += mark;
    }
    if (end) add_sentence(sentences, pieces);
  }
  return sentences;
}

}  // namespace syrinx::finch
