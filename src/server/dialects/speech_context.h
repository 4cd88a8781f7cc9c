// A text that arrives in pieces, and its utterances: the data that SpeechContexts has for each
// context, and functions on them that need no engine. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/encoder.h"
#include "model/markup.h"
#include "server/dialects/dialect.h"
#include "server/models/backend.h"
#include "server/request/audio_queue.h"
#include "server/request/timed_words.h"
#include "server/voices/voice_desk.h"
#include "text/sentences.h"
#include "text/ssml_stream.h"
#include "text/surrogates.h"

namespace syrinx {

/// Returns whether the text has words. Text with only signs and white space is skipped, not
/// refused: language models often leave such text between two flushes.
bool speakable(std::string_view text);

/// One request to the engine: text, and its audio.
struct SpokenUtterance {
  std::string text = {};  ///< all text so far
  bool closed = false;    ///< no further text will follow
  bool flushes = false;   ///< kFlushed follows the utterance
  bool speakable = false;
  std::shared_ptr<AudioQueue> queue = {};  ///< set when the utterance is submitted
  std::optional<RequestId> id = {};
  double asked_s = 0;                     ///< time of the request
  std::unique_ptr<Encoder> encoder = {};  ///< set from the first audio on
  double audio_s = 0;                     ///< seconds of audio taken so far
  std::vector<WordMark> marks = {};       ///< words whose times were not sent yet
  // Set only for a document of SSML.
  std::shared_ptr<const SpeechRequest> said = {};  ///< how its text is spoken; null for plain text
  Markup markup = {};
  size_t markup_bytes = 0;  ///< bytes of the document without its text
  size_t bytes() const { return text.size() + markup_bytes; }
};

struct SpeechContext {
  std::string name;
  ContextOptions options;                  ///< `backend` is always set
  std::unique_ptr<VoiceFetch> fetch = {};  ///< set while the context's voice is fetched
  std::optional<double> ahead_s = {};      ///< see SpeechContexts::open_ahead(); else unset
  bool sentences = false;                  ///< each sentence is an utterance
  bool finishing = false;                  ///< no further text is taken
  SentenceStream splitter{SentenceOptions{}};
  HalfJoiner halves{};
  SsmlStream ssml{};
  std::deque<SpokenUtterance> utterances;
  size_t text_bytes = 0;  ///< bytes of the utterances that are not finished
  bool heard = false;     ///< text since the last flush had audio
  /// The error of an utterance without speech since the last flush.
  std::optional<ApiError> unspoken = {};

  const PipelineInfo& info() const { return options.backend->info(); }
  /// Splits text without surrogate halves into plain pieces and pieces of SSML.
  std::vector<SsmlStream::Piece> pieces_of(std::string_view text);
  /// Returns the utterance to which text is added: the last utterance, or a new one.
  SpokenUtterance& growing();
  /// Appends an utterance for each sentence.
  void append(const std::vector<SentenceStream::Item>& items);
  /// Cancels the first `most` utterances; they stay in the list.
  void drop(size_t most = SIZE_MAX);
  /// Removes the first utterance. Returns whether it ends with a flush.
  bool drop_first();
  /// Ends the text up to a flush or the end. Returns its error if nothing of it was spoken.
  std::optional<ApiError> end_text();
  /// Returns whether no utterance is spoken or waiting.
  bool silent() const;

  /// Moves the words whose end is known from the utterance's marks to a kWords event. With `all`,
  /// also moves the last word, which ends with the audio.
  std::optional<SpeechEvent> words_of(SpokenUtterance& utterance, bool all) const;
  /// Returns the phones as kPhones, if the client wants them. Each lasts until the next one begins,
  /// the last one until the audio ends.
  std::optional<SpeechEvent> phones_of(const Outcome& outcome, double audio_s) const;
  /// Returns the marks of SSML, each at the time when it is reached.
  std::vector<TimedWord> marks_of(const SpokenUtterance& utterance, const Outcome& outcome) const;
};

}  // namespace syrinx
