// A conversation in a dialect, without its socket: passes messages to the dialect, executes its
// actions, and returns the frames for the client in order. Audio becomes frames only when the
// socket has sent the earlier ones, so that a cancel drops everything not yet sent. One thread,
// except for `wake`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/dialects/contexts.h"
#include "server/dialects/dialect.h"
#include "server/dialects/wire_session.h"

namespace syrinx {

/// Limits of a connection, and its client.
struct SessionLimits {
  size_t max_text_bytes = size_t{256} << 10;  ///< most bytes of a context's unfinished utterances
  uint64_t client = 0;                        ///< see SpeechRequest
  VoiceDesk* voices = nullptr;                ///< fetches voices; null if unsupported
};

class TextSession : public WireSession {
 public:
  /// `now_s`: time of the caller's clock, as in tick().
  TextSession(std::shared_ptr<Backend> backend, std::unique_ptr<Dialect> dialect,
              const SessionLimits& limits, std::function<void()> wake, double now_s);

  void message(std::string_view bytes, bool binary, double now_s);

  Step read(std::string_view bytes, bool binary) override;
  /// Returns whether too many replies wait because the client does not read, or the dialect is
  /// full.
  bool full() const override { return backlog_bytes_ > kMaxBacklogBytes || dialect_->full(); }
  size_t max_message_bytes() const override { return size_t{256} << 10; }
  void tick(double now_s, bool stopping) override;
  const SendMessage* next(double now_s) override;
  void written() override;
  const std::optional<CloseConnection>& closing() const override { return closing_; }
  std::vector<std::string> take_troubles() override { return contexts_.take_troubles(); }
  std::string summary() const override;

  /// Returns the name of a model that must be loaded before further messages are read, once per
  /// model. The caller then calls model_loaded().
  std::optional<std::string> take_wanted_model() { return std::exchange(wanted_model_, {}); }
  void model_loaded(const Status& loaded, double now_s);

  /// Returns the bytes of replies that are not sent yet.
  size_t backlog_bytes() const { return backlog_bytes_; }
  const SpeechContexts& contexts() const { return contexts_; }

 private:
  static constexpr size_t kMaxBacklogBytes = size_t{256} << 10;
  void carry_out(Actions& actions);

  const std::unique_ptr<Dialect> dialect_;
  SpeechContexts contexts_;
  std::deque<SendMessage> frames_;
  SendMessage current_;
  size_t backlog_bytes_ = 0;
  std::optional<CloseConnection> closing_;
  std::optional<std::string> wanted_model_;
  double active_s_;
};

}  // namespace syrinx
