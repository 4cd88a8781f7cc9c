// Cuts a request's text into utterances, in order, each when it is needed. It cuts at the ends of
// sentences, where a cut is inaudible. It also cuts a long first sentence at a comma or other pause
// near its start, so that the first samples come soon. Used by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/finch/sentences.h"
#include "families/kokoro/config.h"
#include "families/kokoro/phonemes.h"
#include "families/unsaid.h"
#include "model/request.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// Text that the network speaks in one call.
struct Utterance {
  struct Word {
    int place = 0;  ///< index in `ids` of its first phoneme
    int64_t begin = 0, end = 0;
  };
  std::vector<int32_t> ids;  ///< the first and last id are 0
  std::vector<Word> words;   ///< words, in order
  /// Index in `ids` from which the pitch rises to the end of the utterance; -1: as predicted.
  int rise = -1;

  int phonemes() const { return std::max(0, static_cast<int>(ids.size()) - 2); }
};

class Script {
 public:
  /// `language`: "en-us", "ja", "zh", or a voice of espeak-ng. `config` must outlive the script.
  Script(const KokoroConfig& config, std::shared_ptr<const EnglishReader> reader,
         std::string language, const SpeechRequest& request);

  /// Appends text; `last`: no more text follows. May run espeak-ng or mecab.
  Status push(std::string_view text, bool last);
  /// Moves the next utterance to `out`; returns false when no utterance waits.
  bool next(Utterance& out);
  /// Warns of symbols without a sound in the utterances that next() returned.
  void report(StepOutput& out) { unsaid_.report(out); }

 private:
  Result<std::vector<std::vector<Spoken>>> read_others(
      std::span<const SentenceStream::Item> items) const;
  Result<std::vector<std::vector<Spoken>>> read_plain(
      std::span<const SentenceStream::Item> items) const;
  void cut(std::span<const Spoken> words);
  void add(std::span<const Spoken> words);

  const KokoroConfig& config_;
  std::shared_ptr<const EnglishReader> reader_;
  std::string language_;
  finch::SentenceReader english_;
  // The members below are for languages other than US English.
  const std::vector<Saying> sayings_;
  const std::shared_ptr<const Lexicon> lexicon_;
  SentenceStream others_;
  std::deque<finch::Sentence> sentences_;
  std::deque<Utterance> ready_;
  bool begun_ = false;  // the first utterance has been made
  UnsaidSymbols unsaid_;
};

}  // namespace syrinx::kokoro
