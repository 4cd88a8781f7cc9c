// A VoiceEncoding that is written as a coroutine: the base class of the families' encodings.
#pragma once

#include <utility>

#include "base/check.h"
#include "base/pieces.h"
#include "model/voice.h"

namespace syrinx {

/// To use it, derive a class, write `Pieces work()`, and call start(work()) in the constructor. The
/// running piece can call ctx(), whose arena is empty when a piece starts. The class cannot be
/// copied or moved, because the coroutine has its address.
class VoiceWork : public VoiceEncoding {
 public:
  VoiceWork() = default;
  VoiceWork(const VoiceWork&) = delete;
  VoiceWork& operator=(const VoiceWork&) = delete;

  bool done() const override { return pieces_.done(); }
  Voice take() override { return std::move(voice); }
  /// Runs the next piece.
  void run(StepContext& ctx) {
    SYRINX_CHECK(!done(), "a finished encoding was continued");
    ctx_ = &ctx;
    const Arena::Mark mark(ctx.arena);
    pieces_.next();
  }

 protected:
  void start(Pieces pieces) { pieces_ = std::move(pieces); }
  /// The context of the running piece; do not keep it beyond that piece.
  StepContext& ctx() const { return *ctx_; }
  /// Returns the variable that holds the context of the running piece, for nested coroutines.
  StepContext* const& ctx_slot() const { return ctx_; }

  Voice voice;

 private:
  Pieces pieces_;
  StepContext* ctx_ = nullptr;
};

}  // namespace syrinx
