// A server's end of the link to a process that holds some of its stages. Connects on a thread of
// its own, again and again with growing pauses, for as long as it lives; a process that is killed
// and started again is found again. Public methods are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "link/message.h"
#include "link/transport.h"

namespace syrinx {

/// Where the other process is, and what is expected of it.
struct LinkOptions {
  std::string address;  ///< of the other process (transport.h)
  StageKeys keys = {};
  Introduction wanted;  ///< this process, and the nodes that the other one is to hold
  /// A line when the link comes up or goes down, or lost streams were computed again; any thread.
  std::function<void(const std::string&)> log = {};
  double answer_s = 30;  ///< a batch that takes longer, or a greeting: the peer counts as gone
  double first_pause_s = 0.05, longest_pause_s = 2;  ///< between two attempts
  /// Seconds after which a process that comes back has lost no stream that can be computed again.
  double return_s = 0.5;
  size_t kept_bytes = size_t{8} << 20;  ///< of each stream, to compute it again (StreamPast)
};

/// Seen at one moment.
struct LinkState {
  bool up = false;
  bool leaving = false;  ///< up, but it is about to end: what lives there goes on, and nothing else
  std::string trouble;   ///< why it is down, or leaving
  uint64_t ups = 0;      ///< how often it came up
  uint64_t batches = 0, lost_batches = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  int streams = 0;         ///< that live there
  int bound = 0;           ///< streams that cannot be computed again elsewhere
  uint64_t recovered = 0;  ///< streams that were lost elsewhere, or here before, and computed again
  double down_since_s = 0;  ///< as now_s()

  bool takes() const { return up && !leaving; }
};

/// One link, with its thread and the calls that wait for answers.
class StageLink {
 public:
  explicit StageLink(LinkOptions options);
  /// Fails what waits.
  ~StageLink();
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  const LinkOptions& options() const;
  LinkState state() const;
  /// Waits until it is up; false: not within `timeout_s`.
  bool wait_until_up(double timeout_s) const;

  /// Which connection this is, counted from 1; 0: none. Streams live as long as theirs.
  uint64_t epoch() const;
  /// Numbers for streams and batches, each given once.
  uint64_t new_number();

  /// A batch under way.
  struct Batch;
  /// Sends messages, the last of which is push `batch`, over connection `epoch`. Does not wait.
  std::shared_ptr<Batch> send(uint64_t epoch, uint64_t batch, std::string messages);
  /// Waits until it is over, one way or the other.
  void wait(Batch& batch);
  /// Waits for what it made. kOverloaded: the connection is gone, or goes while this waits.
  Result<Message> receive(Batch& batch);
  /// Counts a stream that begins to live there.
  void open_stream(bool recovered);
  /// One of them cannot be computed again any more.
  void bind_stream();
  /// A stream of connection `epoch` has ended, which is sent if that is still there. Does not wait.
  void close_stream(uint64_t epoch, uint64_t stream, bool bound = false);
  /// Gives up connection `epoch`, whose peer sends nonsense.
  void drop(uint64_t epoch, const std::string& why);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
