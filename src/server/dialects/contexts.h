// The contexts of one connection: text arrives piece by piece, and the audio of utterances is
// returned in order. If the model takes late text, an utterance is an open request, to which every
// piece is appended; otherwise each sentence is a request of its own. The next utterance of a
// context is submitted to the engine when the current one has audio. The destructor cancels
// everything. One thread, except for `wake`.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/dialects/speech_context.h"

namespace syrinx {

/// Limits of a connection, and its client.
struct ContextLimits {
  int max_contexts = 1;
  int max_utterances = 64;                    ///< most unfinished utterances of a context
  size_t max_text_bytes = size_t{256} << 10;  ///< most bytes of a context's unfinished utterances
  uint64_t client = 0;                        ///< see SpeechRequest
  VoiceDesk* voices = nullptr;                ///< fetches voices; null if unsupported
};

/// The contexts of a connection: texts that arrive in pieces, and their audio in order.
class SpeechContexts {
 public:
  /// `wake` is called on the engine's thread when next() may return an event.
  SpeechContexts(std::shared_ptr<Backend> backend, ContextLimits limits,
                 std::function<void()> wake);
  ~SpeechContexts();
  SpeechContexts(const SpeechContexts&) = delete;
  SpeechContexts& operator=(const SpeechContexts&) = delete;

  // Execute the actions of a dialect. next() reports faults as kFailed, and text without speech as
  // kUnspoken.
  void open(const std::string& name, ContextOptions options);
  /// Opens a context for predicted text. The engine speaks at most `ahead_s` seconds of the text in
  /// the background. Until release(), next() returns only a kFailed event for the context.
  void open_ahead(const std::string& name, ContextOptions options, double ahead_s);
  /// Turns a context of open_ahead() into an ordinary context with the name `as`. Returns the
  /// seconds from its request to its first audio, or to the present if no audio has arrived.
  /// Returns nothing if the context has ended.
  std::optional<double> release(const std::string& name, const std::string& as);
  void add_text(const std::string& name, std::string_view text);
  void flush(const std::string& name);
  void finish(const std::string& name);
  void cancel(const std::string& name);

  /// Returns the next event, or nothing; contexts take turns. An event has at most 0.4 s of
  /// audio.
  std::optional<SpeechEvent> next();
  /// Call when the client has received everything that next() returned.
  void written();

  /// Returns whether the connection's model speaks added text at once. Otherwise a sentence is
  /// spoken only after the text that makes its end certain.
  bool takes_late_text() const { return backend_->info().speech.late_text == LateText::kToken; }
  /// Returns whether no utterance is spoken or waiting.
  bool quiet() const;
  int64_t utterances() const { return utterances_; }
  /// Returns internal faults since the last call, for the log. They contain no texts of clients.
  std::vector<std::string> take_troubles() { return std::exchange(troubles_, {}); }

 private:
  SpeechContext* find(const std::string& name);
  SpeechContext* take(const std::string& name, std::vector<SsmlStream::Piece> pieces);
  void add_plain(SpeechContext& context, std::string_view text);
  void add_document(SpeechContext& context, std::string_view document);
  void check_count(SpeechContext& context);
  void close_plain(SpeechContext& context);
  SpeechContext* close_last(const std::string& name);
  void advance(SpeechContext& context);
  void look_ahead(SpeechContext& context);
  bool has_voice(SpeechContext& context);
  std::optional<ApiError> submit(SpeechContext& context, SpokenUtterance& utterance);
  std::optional<SpeechEvent> next_of(SpeechContext& context);
  std::optional<SpeechEvent> audio_of(SpeechContext& context, SpokenUtterance& utterance);
  SpeechEvent end_of(SpeechContext& context, SpokenUtterance& utterance, const Outcome& outcome);
  void fail(SpeechContext& context, ApiError error);
  void forget(const std::string& name);
  ApiError inner_fault(const Error& error);

  const std::shared_ptr<Backend> backend_;
  const ContextLimits limits_;
  const std::function<void()> wake_;
  std::list<SpeechContext> contexts_;  // next() begins with the front context
  std::deque<SpeechEvent> events_;
  std::vector<std::pair<std::shared_ptr<AudioQueue>, size_t>> taken_;
  std::vector<std::string> troubles_;
  std::vector<float> samples_;
  int64_t utterances_ = 0;
};

}  // namespace syrinx
