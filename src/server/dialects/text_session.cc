#include "server/dialects/text_session.h"

#include <utility>

#include "base/check.h"

namespace syrinx {

TextSession::TextSession(std::shared_ptr<Backend> backend, std::unique_ptr<Dialect> dialect,
                         const SessionLimits& limits, std::function<void()> wake, double now_s)
    : dialect_(std::move(dialect)),
      contexts_(std::move(backend),
                {.max_contexts = dialect_->max_contexts(),
                 .max_text_bytes = limits.max_text_bytes,
                 .client = limits.client,
                 .voices = limits.voices},
                std::move(wake)),
      active_s_(now_s) {
  Actions actions;
  dialect_->opened(actions);
  carry_out(actions);
}

void TextSession::message(std::string_view bytes, bool binary, double now_s) {
  if (closing_) return;
  active_s_ = now_s;
  Actions actions;
  dialect_->message(bytes, binary, actions);
  carry_out(actions);
}

void TextSession::model_loaded(const Status& loaded, double now_s) {
  if (closing_) return;
  active_s_ = now_s;
  Actions actions;
  dialect_->model_loaded(loaded, actions);
  carry_out(actions);
}

WireSession::Step TextSession::read(std::string_view bytes, bool binary) {
  return [this, bytes = std::string(bytes), binary](double now_s) {
    message(bytes, binary, now_s);
    return false;
  };
}

std::string TextSession::summary() const { return concat("utterances=", contexts_.utterances()); }

void TextSession::tick(double now_s, bool stopping) {
  if (closing_) return;
  const bool quiet = contexts_.quiet() && frames_.empty() && !dialect_->busy();
  if (!quiet) active_s_ = now_s;
  if (quiet && stopping) {
    closing_ = CloseConnection{1001, "the server is stopping"};
  } else if (now_s - active_s_ > dialect_->idle_timeout_s()) {
    Actions actions;
    dialect_->idle(actions);
    carry_out(actions);
  }
}

const SendMessage* TextSession::next(double now_s) {
  if (frames_.empty() && !closing_) {
    Actions actions;
    dialect_->progress(actions);
    carry_out(actions);
  }
  while (frames_.empty() && !closing_) {
    auto event = contexts_.next();
    if (!event) return nullptr;
    active_s_ = event->at_s = now_s;
    Actions actions;
    dialect_->event(*event, actions);
    carry_out(actions);
  }
  if (frames_.empty()) return nullptr;
  current_ = std::move(frames_.front());
  frames_.pop_front();
  backlog_bytes_ -= current_.bytes.size();
  return &current_;
}

void TextSession::written() {
  if (frames_.empty()) contexts_.written();
}

void TextSession::carry_out(Actions& actions) {
  struct {
    TextSession& session;
    void operator()(SendMessage& message) {
      session.backlog_bytes_ += message.bytes.size();
      session.frames_.push_back(std::move(message));
    }
    void operator()(OpenContext& open) {
      session.contexts_.open(open.context, std::move(open.options));
    }
    void operator()(AddText& add) { session.contexts_.add_text(add.context, add.text); }
    void operator()(FlushContext& flush) { session.contexts_.flush(flush.context); }
    void operator()(FinishContext& finish) { session.contexts_.finish(finish.context); }
    void operator()(CancelContext& cancel) { session.contexts_.cancel(cancel.context); }
    void operator()(CloseConnection& close) { session.closing_ = std::move(close); }
    void operator()(LoadModel& load) { session.wanted_model_ = std::move(load.model); }
  } visitor{*this};
  for (Action& action : actions) {
    if (closing_) return;
    std::visit(visitor, action);
  }
}

}  // namespace syrinx
