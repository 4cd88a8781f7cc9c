// The contexts of one connection: text arrives piece by piece, and the audio of utterances is
// returned in order. If the model takes late text, an utterance is an open request, to which every
// piece is appended; otherwise each sentence is a request of its own. The engine has one utterance
// of a context at a time; it gets the next one when the first has audio. The destructor cancels
// everything. One thread, except for `wake`.
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

/// Limits of a connection, and its client.
struct ContextLimits {
  int max_contexts = 1;
  int max_utterances = 64;                    ///< most unfinished utterances of a context
  size_t max_text_bytes = size_t{256} << 10;  ///< most text of a context that is not finished
  uint64_t client = 0;                        ///< as in SpeechRequest
  VoiceDesk* voices = nullptr;                ///< fetches voices; null: unsupported
};

/// The contexts of a connection: texts that arrive in pieces, and their audio in order.
class SpeechContexts {
 public:
  /// `wake` is called on the engine's thread when next() may have something.
  SpeechContexts(std::shared_ptr<Backend> backend, ContextLimits limits,
                 std::function<void()> wake);
  ~SpeechContexts();
  SpeechContexts(const SpeechContexts&) = delete;
  SpeechContexts& operator=(const SpeechContexts&) = delete;

  // The actions of a dialect. next() reports faults as kFailed.
  void open(const std::string& name, ContextOptions options);
  /// Opens a context whose text may never be wanted. It is spoken in the background, at most
  /// `ahead_s` seconds, and next() returns only kFailed for it until release().
  void open_ahead(const std::string& name, ContextOptions options, double ahead_s);
  /// Makes a context that is ahead an ordinary one with the name `as`. Returns the seconds from its
  /// request to its first audio (or to now, if there is no audio yet); nothing if the context does
  /// not exist any more.
  std::optional<double> release(const std::string& name, const std::string& as);
  void add_text(const std::string& name, std::string_view text);
  void flush(const std::string& name);
  void finish(const std::string& name);
  void cancel(const std::string& name);

  /// Returns the next event, if there is one; contexts take turns. Audio comes in pieces of at most
  /// 0.4 s.
  std::optional<SpeechEvent> next();
  /// The client has received everything that next() returned.
  void written();

  /// Returns whether the connection's model speaks added text at once, whatever follows. Otherwise
  /// a sentence waits for the text that makes its end certain.
  bool takes_late_text() const { return backend_->info().speech.late_text == LateText::kToken; }
  /// Returns whether no utterance is spoken or waits.
  bool quiet() const;
  int64_t utterances() const { return utterances_; }
  /// Returns inner faults since the last call, for the log; never texts.
  std::vector<std::string> take_troubles() { return std::exchange(troubles_, {}); }

 private:
  struct Utterance {
    std::string text = {};  // complete text so far
    bool closed = false;    // no further text will follow
    bool flushes = false;   // kFlushed follows the utterance
    bool speakable = false;
    std::shared_ptr<AudioQueue> queue = {};  // set when submitted
    std::optional<RequestId> id = {};
    double asked_s = 0;                     // time of the request
    std::unique_ptr<Encoder> encoder = {};  // set from the first audio on
    double audio_s = 0;                     // seconds of audio taken so far
    std::vector<WordMark> marks = {};       // words whose times were not sent yet
    // For a document of SSML:
    std::shared_ptr<const SpeechRequest> said = {};  // how its text is spoken; null: plain text
    Markup markup = {};
    size_t markup_bytes = 0;  // bytes of the document without its text
    size_t bytes() const { return text.size() + markup_bytes; }
  };
  struct Context {
    std::string name;
    ContextOptions options;  // `backend` is always set
    const PipelineInfo& info() const { return options.backend->info(); }
    std::unique_ptr<VoiceFetch> fetch = {};  // set while its voice is fetched
    std::optional<double> ahead_s = {};      // set while the context is ahead
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
  std::list<Context> contexts_;  // the first one is asked next
  std::deque<SpeechEvent> events_;
  std::vector<std::pair<std::shared_ptr<AudioQueue>, size_t>> taken_;
  std::vector<std::string> troubles_;
  std::vector<float> samples_;
  int64_t utterances_ = 0;
};

}  // namespace syrinx
