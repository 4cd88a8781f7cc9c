// Carries a transcript from a recogniser's thread to a connection. The sink's calls are the
// recogniser's; everything else is the connection's, on one thread at a time. Bounded by the length
// of a transcript.
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
  /// `wake` is called on the recogniser's thread when there is something new, until detach(). It
  /// must not block and must not call back.
  explicit HeardQueue(std::function<void()> wake);

  void partial(std::string_view text) override;
  void segment(const TranscriptSegment& segment) override;
  void heard(double seconds) override;
  void finished(Result<Transcript> transcript) override;

  struct News {
    std::vector<TranscriptSegment> segments;
    std::optional<std::string> partial;        ///< the newest after them, of live listeners
    std::optional<Result<Transcript>> result;  ///< with the last segments
  };
  /// What came since the last call.
  News take();
  double heard_s() const;
  /// No further wake; what still comes is dropped.
  void detach();

 private:
  struct Heard {
    News news = {};
    double seconds = 0;
  };
  Outbox<Heard> box_;
};

}  // namespace syrinx
