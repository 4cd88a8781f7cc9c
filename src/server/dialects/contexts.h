// The contexts of one connection: text goes in, piece by piece; the audio of their utterances comes
// out in order. Where the model takes late text, an utterance is an open request that grows with
// every piece; elsewhere each sentence is a request of its own. One utterance of a context is with
// the engine at a time, and the next one from the moment that the first is heard.
// Nothing goes on after the destructor. One thread, but for `wake`.
#pragma once

#include <deque>
#include <functional>
#include <list>
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

/// What a connection may have, and on whose behalf it asks.
struct ContextLimits {
  int max_contexts = 1;
  int max_utterances = 64;                    ///< of a context, that wait or are spoken
  size_t max_text_bytes = size_t{256} << 10;  ///< of a context, that wait or are spoken
  uint64_t client = 0;                        ///< as in SpeechRequest
  VoiceDesk* voices = nullptr;                ///< fetches voices; null: unsupported
};

/// The contexts of a connection: texts that come in pieces, and their audio in turn.
class SpeechContexts {
 public:
  /// `wake` is called on the engine's thread when next() may have something.
  SpeechContexts(std::shared_ptr<Backend> backend, ContextLimits limits,
                 std::function<void()> wake);
  ~SpeechContexts();
  SpeechContexts(const SpeechContexts&) = delete;
  SpeechContexts& operator=(const SpeechContexts&) = delete;

  // What actions ask for. Faults come out of next() as kFailed.
  void open(const std::string& name, ContextOptions options);
  /// As open(), on suspicion: it is spoken in the background, no more than `ahead_s` of it, and
  /// nothing but kFailed comes of it until release().
  void open_ahead(const std::string& name, ContextOptions options, double ahead_s);
  /// It is wanted, and called `as` from now on. The seconds that its first audio has taken (so far,
  /// where it is not there yet); nothing: there is no such context any more.
  std::optional<double> release(const std::string& name, const std::string& as);
  void add_text(const std::string& name, std::string_view text);
  void flush(const std::string& name);
  void finish(const std::string& name);
  void cancel(const std::string& name);

  /// The next event, if there is one; contexts take turns. Audio comes in pieces of at most 0.4 s.
  std::optional<SpeechEvent> next();
  /// The client took everything that next() gave.
  void written();

  /// With the connection's own model, what is added to a text is spoken from where the text ended,
  /// whatever comes then; otherwise a sentence waits for what makes its end certain.
  bool takes_late_text() const { return backend_->info().speech.late_text == LateText::kToken; }
  /// Nothing is spoken or waits to be.
  bool quiet() const;
  int64_t utterances() const { return utterances_; }
  /// Inner faults since the last call, for the log; never texts.
  std::vector<std::string> take_troubles() { return std::exchange(troubles_, {}); }

 private:
  struct Utterance {
    std::string text = {};  // all of it
    bool closed = false;    // no text follows
    bool flushes = false;   // kFlushed after it
    bool speakable = false;
    std::shared_ptr<AudioQueue> queue = {};  // once submitted
    std::optional<RequestId> id = {};
    double asked_s = 0;                     // when
    std::unique_ptr<Encoder> encoder = {};  // from the first audio on
    double audio_s = 0;                     // as taken
    std::vector<WordMark> marks = {};       // whose times were not sent yet
    // For a document of SSML:
    std::shared_ptr<const SpeechRequest> said = {};  // how its text is said; null: it is plain
    Markup markup = {};
    size_t markup_bytes = 0;  // of the document, beyond its text
    size_t bytes() const { return text.size() + markup_bytes; }
  };
  struct Context {
    std::string name;
    ContextOptions options;  // with a backend
    const PipelineInfo& info() const { return options.backend->info(); }
    std::unique_ptr<VoiceFetch> fetch = {};  // while its voice is on the way
    std::optional<double> ahead_s = {};      // while it is ahead of its turn
    bool sentences = false;
    bool finishing = false;
    SentenceStream splitter{SentenceOptions{}};
    HalfJoiner halves{};
    SsmlStream ssml{};
    std::deque<Utterance> utterances;
    size_t text_bytes = 0;
  };

  Context* find(const std::string& name);
  void add_whole(Context& context, const std::string& text);
  Context* take(const std::string& name, std::vector<SsmlStream::Piece> pieces);
  void add_plain(Context& context, std::string_view text);
  void add_document(Context& context, std::string_view document);
  Utterance& growing(Context& context);
  void add_sentences(Context& context, const std::vector<SentenceStream::Item>& items);
  void check_count(Context& context);
  void close_plain(Context& context);
  Context* close_last(const std::string& name);
  void advance(Context& context);
  void look_ahead(Context& context);
  bool has_voice(Context& context);
  std::optional<ApiError> submit(Context& context, Utterance& utterance);
  std::optional<SpeechEvent> next_of(Context& context);
  std::optional<SpeechEvent> audio_of(Context& context, Utterance& utterance);
  std::optional<SpeechEvent> words_of(Context& context, Utterance& utterance, bool all);
  std::optional<SpeechEvent> phones_of(const Context& context, const Outcome& outcome,
                                       double audio_s) const;
  std::vector<TimedWord> marks_of(const Context& context, const Utterance& utterance,
                                  const Outcome& outcome) const;
  SpeechEvent end_of(Context& context, Utterance& utterance, const Outcome& outcome);
  static void drop(Context& context, size_t most = SIZE_MAX);
  void fail(Context& context, ApiError error);
  void forget(const std::string& name);
  ApiError inner_fault(const Error& error);

  const std::shared_ptr<Backend> backend_;
  const ContextLimits limits_;
  const std::function<void()> wake_;
  std::list<Context> contexts_;  // the front one is next
  std::deque<SpeechEvent> events_;
  std::vector<std::pair<std::shared_ptr<AudioQueue>, size_t>> taken_;
  std::vector<std::string> troubles_;
  std::vector<float> samples_;
  int64_t utterances_ = 0;
};

}  // namespace syrinx
