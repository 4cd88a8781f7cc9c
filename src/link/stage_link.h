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

namespace syrinx {

struct LinkOptions {
  std::string path;
  Introduction wanted;  ///< this process, and the nodes that the other one is to hold
  /// A line when the link comes up or goes down; called on the link's thread.
  std::function<void(const std::string&)> log = {};
  double answer_s = 30;  ///< a batch that takes longer, or a greeting: the peer counts as gone
  double first_pause_s = 0.05, longest_pause_s = 2;  ///< between two attempts
};

/// Seen at one moment.
struct LinkState {
  bool up = false;
  std::string trouble;  ///< why it is down
  uint64_t ups = 0;     ///< how often it came up
  uint64_t batches = 0, lost_batches = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
};

class StageLink {
 public:
  explicit StageLink(LinkOptions options);
  /// Fails what waits.
  ~StageLink();
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  const std::string& path() const;
  LinkState state() const;
  /// Waits until it is up; false: not within so many seconds.
  bool wait_until_up(double timeout_s) const;

  /// Which connection this is, counted from 1; 0: none. Streams live as long as theirs.
  uint64_t epoch() const;
  /// Numbers for streams and batches, each given once.
  uint64_t new_number();

  /// Sends messages, the last of which is push `batch`, over connection `epoch`, and waits for what
  /// it made. kOverloaded: the connection is gone, or goes while this waits.
  Result<Message> exchange(uint64_t epoch, uint64_t batch, std::string messages);
  /// Tells connection `epoch`, if it is still there, that a stream has ended. Does not wait.
  void close_stream(uint64_t epoch, uint64_t stream);
  /// Gives up connection `epoch`, whose peer sends nonsense.
  void drop(uint64_t epoch, const std::string& why);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
