#include "families/finch/frontend.h"

#include <algorithm>

extern "C" {
void usenglish_init(cst_voice* voice);
cst_lexicon* cmu_lex_init(void);
cst_utterance* utt_synth_text2segs(cst_utterance* utterance);
cst_val* us_tokentowords(cst_item* token);
}

namespace syrinx::finch {

namespace {

constexpr const char* kSentence = "syrinx_sentence";  // name of the feature that stores a Sentence

cst_val* one_word(const char* word) { return cons_val(string_val(word), nullptr); }

/// Finds the piece of the sentence from which a token was read.
class PieceFinder {
 public:
  explicit PieceFinder(const Sentence& sentence) {
    size_t end = 0;  // offset of its end in the sentence's text
    for (const Piece& piece : sentence.pieces) {
      end += piece.text.size() + (ends_.empty() ? 0 : 1);
      ends_.push_back(end);
    }
  }
  /// libflite stores the position of its reader after it has read a token: one character after the
  /// space that follows the token.
  int piece_of(const cst_item* token) const {
    const auto at = static_cast<size_t>(std::max(0, item_feat_int(token, "file_pos") - 2));
    const auto it = std::upper_bound(ends_.begin(), ends_.end(), at);
    return static_cast<int>(std::min<size_t>(it - ends_.begin(), ends_.size() - 1));
  }

 private:
  std::vector<size_t> ends_;
};

struct SpokenFrom {
  const Sentence& sentence;
  PieceFinder finder;
};

/// Returns phones in the form that libflite accepts with a token. libflite merges two tokens with
/// equal phones, so neighbouring tokens get different numbers of spaces (`odd`).
std::string flite_phones(const Phones& phones, bool odd) {
  std::string out;
  for (std::string phone : phones.arpabet) {
    if (phone.back() == '2') phone.back() = '0';
    out += (out.empty() ? "" : odd ? "  " : " ") + phone;
  }
  return out;
}

/// Returns the word that libflite must look up for a token. The text has only words and single
/// capitals ("B", "U's"). A letter's name is looked up as in libflite.
cst_val* words_of_token(cst_item* token) {
  const std::string_view name = item_name(token);
  const cst_val* given = feat_val(item_utt(token)->features, kSentence);
  if (given != nullptr) {
    const auto& source = *static_cast<const SpokenFrom*>(val_userdata(given));
    const int piece = source.finder.piece_of(token);
    const Phones& phones = source.sentence.pieces[static_cast<size_t>(piece)].phones;
    if (!phones.empty()) {
      item_set_string(token, "phones", flite_phones(phones, piece % 2 == 1).c_str());
      return one_word(std::string(name).c_str());
    }
  }
  const bool capital = !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
  if (!capital || (name.size() > 1 && name[1] != '\'') || name[0] == 'I') {
    return us_tokentowords(token);
  }
  const std::string letter =
      name[0] == 'A' ? "_a" : std::string(1, static_cast<char>(name[0] + 32));
  cst_val* words = one_word(letter.c_str());
  if (name.size() > 1) words = val_append(words, one_word(std::string(name.substr(1)).c_str()));
  return words;
}

/// Returns a sentence's text for libflite. It is in lower case, so that libflite reads no word as
/// an acronym, a numeral or a state.
std::string flite_text(const Sentence& sentence) {
  std::string text = sentence.text();
  const auto letter = [&](size_t i) {
    return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone = (i == 0 || text[i - 1] == ' ') && !letter(i + 1);
    if (letter(i) && !alone) text[i] = static_cast<char>(std::tolower(text[i]));
  }
  return text;
}

}  // namespace

/// A libflite voice without sound: only language and lexicon.
struct Frontend::Flite {
  cst_voice* voice = nullptr;
  cst_lexicon* lexicon = nullptr;

  Flite() {
    flite_init();
    voice = new_voice();
    usenglish_init(voice);
    lexicon = cmu_lex_init();
    feat_set(voice->features, "lexicon", lexicon_val(lexicon));
    feat_set(voice->features, "tokentowords_func", itemfunc_val(&words_of_token));
  }
  ~Flite() { delete_voice(voice); }
  Flite(const Flite&) = delete;
  Flite& operator=(const Flite&) = delete;
};

namespace {

struct DeleteUtterance {
  void operator()(cst_utterance* utterance) const { delete_utterance(utterance); }
};

/// Returns the piece from which each token of the utterance was read.
std::vector<int> piece_of_token(cst_utterance* utterance, const PieceFinder& finder) {
  std::vector<int> pieces;
  for (const cst_item* token = relation_head(utt_relation(utterance, "Token")); token;
       token = item_next(token)) {
    const int piece = finder.piece_of(token);
    pieces.push_back(pieces.empty() ? piece : std::max(piece, pieces.back()));
  }
  return pieces;
}

/// Adds accents to emphasised words. If several words are emphasised ("*in the end*"), only content
/// words get an accent.
void accent(const Sentence& sentence, std::vector<PhoneSymbol>& symbols) {
  const auto is_strong = [&](int32_t piece) {
    return piece >= 0 && piece < std::ssize(sentence.pieces) && sentence.pieces[piece].strong;
  };
  for (size_t i = 0; i < symbols.size();) {
    size_t end = i + 1;
    while (end < symbols.size() && symbols[end].word == symbols[i].word) ++end;
    const int32_t piece = symbols[i].token;
    if (is_strong(piece)) {
      const bool alone = !is_strong(piece - 1) && !is_strong(piece + 1);
      const bool content = symbols[i].place % 2 == 0;
      if (alone || content) make_strong({&symbols[i], end - i});
    }
    i = end;
  }
}

bool speaks(const std::vector<PhoneSymbol>& symbols) {
  return std::any_of(symbols.begin(), symbols.end(),
                     [](const PhoneSymbol& symbol) { return symbol.word >= 0; });
}

/// Stores the symbol at which each piece of the sentence begins.
void mark_words(const Sentence& sentence, Segment& segment) {
  segment.words.clear();
  int last = -1;
  for (size_t i = 0; i < segment.symbols.size(); ++i) {
    const int at = segment.symbols[i].token;
    if (at < 0 || at == last) continue;
    last = at;
    const Piece& piece = sentence.pieces[at];
    segment.words.push_back({static_cast<int>(i), piece.begin, piece.end});
  }
}

/// Cuts a sentence with too many words into two halves.
std::vector<Sentence> halve(const Sentence& sentence) {
  const size_t count = sentence.pieces.size();
  std::vector<Sentence> halves(2);
  if (count > 1) {
    const auto middle = sentence.pieces.begin() + static_cast<std::ptrdiff_t>(count / 2);
    halves[0].pieces.assign(sentence.pieces.begin(), middle);
    halves[1].pieces.assign(middle, sentence.pieces.end());
  } else {
    const Piece& piece = sentence.pieces.front();
    size_t cut = piece.text.find(' ', piece.text.size() / 2);
    if (cut == std::string::npos) cut = piece.text.size() / 2;
    halves[0].pieces = {{piece.text.substr(0, cut), piece.begin, piece.end, {}, piece.strong}};
    halves[1].pieces = {{piece.text.substr(cut), piece.begin, piece.end, {}, piece.strong}};
  }
  halves[1].rising = sentence.rising;
  halves[1].pause_s = sentence.pause_s;
  return halves;
}

}  // namespace

Frontend::Frontend() : flite_(std::make_unique<Flite>()) {}
Frontend::~Frontend() = default;

Segment Frontend::read_pieces(const Sentence& sentence) const {
  const std::string text = flite_text(sentence);
  SpokenFrom source{sentence, PieceFinder(sentence)};
  std::unique_ptr<cst_utterance, DeleteUtterance> utterance(new_utterance());
  utt_set_input_text(utterance.get(), text.c_str());
  utt_init(utterance.get(), flite_->voice);
  feat_set(utterance->features, kSentence, userdata_val(&source));
  utt_synth_text2segs(utterance.get());
  flite_->lexicon->postlex(utterance.get());  // changes e.g. "the" before a vowel

  Segment segment;
  segment.symbols = phone_stream(utterance.get(), sentence.rising);
  const auto pieces = piece_of_token(utterance.get(), source.finder);
  for (PhoneSymbol& symbol : segment.symbols) {
    if (symbol.token >= 0) symbol.token = pieces[symbol.token];
  }
  accent(sentence, segment.symbols);
  mark_words(sentence, segment);
  return segment;
}

Segment Frontend::read_part(const Sentence& sentence, size_t first, size_t last, bool whole) const {
  Segment segment;
  {
    const std::lock_guard lock(mutex_);
    segment = read_pieces(sentence);
  }
  std::vector<PhoneSymbol>& symbols = segment.symbols;
  keep_near_phrases(symbols, whole);
  // Returns the symbol at which the pauses before a piece begin.
  const auto start_of = [&symbols](size_t piece) {
    size_t at = 0;
    while (at < symbols.size() && symbols[at].token < static_cast<int64_t>(piece)) ++at;
    if (at == symbols.size() && at > 0) --at;  // a last piece without symbols: use the last pause
    while (at > 0 && symbols[at - 1].word < 0) --at;
    return static_cast<std::ptrdiff_t>(at);
  };
  if (!whole) symbols.resize(static_cast<size_t>(start_of(last)));
  if (first > 0) symbols.erase(symbols.begin(), symbols.begin() + start_of(first));
  mark_words(sentence, segment);
  return segment;
}

std::vector<Segment> Frontend::read(const Sentence& sentence) const {
  Segment whole;
  {
    const std::lock_guard lock(mutex_);
    whole = read_pieces(sentence);
  }
  std::vector<Segment> segments;
  if (!speaks(whole.symbols)) return segments;
  const bool divisible = sentence.pieces.size() > 1 || sentence.pieces.front().text.size() > 8;
  if (static_cast<int>(whole.symbols.size()) > kMaxSymbols && divisible) {
    for (const Sentence& half : halve(sentence)) {
      for (Segment& part : read(half)) segments.push_back(std::move(part));
    }
  } else {
    whole.pause_s = sentence.pause_s;
    segments.push_back(std::move(whole));
  }
  return segments;
}

}  // namespace syrinx::finch
