// Carries a transcript from a recogniser's thread to a connection. The recogniser calls the sink's
// methods; the connection calls everything else, on one thread at a time. Bounded by the length of
// a transcript.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outbox.h"
#include "ears/recogniser.h"

namespace syrinx {

class HeardQueue : public TranscriptSink {
 public:
  /// Calls `wake` on the recogniser's thread when News arrive, until detach(). `wake` must not
  /// block and must not call this object.
  explicit HeardQueue(std::function<void()> wake);

  void partial(std::string_view text) override;
  void segment(const TranscriptSegment& segment) override;
  void done(bool done) override;
  void heard(double seconds) override;
  void finished(Result<Transcript> transcript) override;

  struct News {
    std::vector<TranscriptSegment> segments;
    std::optional<std::string> partial;        ///< newest text after the segments
    std::optional<bool> done;                  ///< newest TranscriptSink::done()
    std::optional<Result<Transcript>> result;  ///< set with the last segments
  };
  /// Returns what has arrived since the last call.
  News take();
  double heard_s() const;
  /// Stops calling `wake`; drops text that arrives later.
  void detach();

 private:
  struct Heard {
    News news = {};
    double seconds = 0;
  };
  Outbox<Heard> box_;
};

}  // namespace syrinx
