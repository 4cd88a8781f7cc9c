// A server's end of the link to a process that holds some of its stages. The link's thread
// connects, and reconnects after each loss with growing pauses, so that it finds a restarted
// process. Public methods are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "link/message.h"
#include "link/transport.h"

namespace syrinx {

/// The address of the other process, its expected identity, and time limits.
struct LinkOptions {
  std::string address;  ///< address of the other process (transport.h)
  StageKeys keys = {};
  Introduction wanted;  ///< identity of this process, and nodes that the other process must hold
  /// Receives a line when the link comes up or goes down, or when lost streams were computed again.
  /// Any thread.
  std::function<void(const std::string&)> log = {};
  double answer_s = 30;  ///< longest wait for a batch's answer; then the peer counts as lost
  double first_pause_s = 0.05, longest_pause_s = 2;  ///< pauses between two attempts to connect
  /// How long streams wait for a lost process to return if no other process holds their stage.
  double return_s = 0.5;
  size_t kept_bytes = size_t{8} << 20;  ///< most kept input of a stream, to compute it again
};

/// The state of a link at one moment.
struct LinkState {
  bool up = false;
  bool leaving = false;  ///< up, but the process is about to end and accepts no new streams
  std::string trouble;   ///< why the link is down or leaving
  uint64_t ups = 0;      ///< how often the link came up
  uint64_t batches = 0, lost_batches = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  int streams = 0;          ///< streams in the other process
  int bound = 0;            ///< streams that cannot be computed again in another process
  uint64_t recovered = 0;   ///< streams that the other process has computed again after a loss
  double down_since_s = 0;  ///< time of the loss, by now_s()

  bool takes() const { return up && !leaving; }
};

/// One link, with its thread and the calls that wait for answers.
class StageLink {
 public:
  explicit StageLink(LinkOptions options);
  /// Fails all batches that wait for results.
  ~StageLink();
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  const LinkOptions& options() const;
  LinkState state() const;
  /// Waits until the link is up; returns false if it is not up within `timeout_s`.
  bool wait_until_up(double timeout_s) const;

  /// Returns the number of the present connection, from 1 on; 0 without a connection. Streams end
  /// with their connection.
  uint64_t epoch() const;
  /// Returns a new number for a stream or a batch.
  uint64_t new_number();

  /// A batch that was sent.
  struct Batch;
  /// Sends messages over connection `epoch`. The last message must be the push or step of `batch`.
  /// Does not wait.
  std::shared_ptr<Batch> send(uint64_t epoch, uint64_t batch, std::string messages);
  /// Waits until the batch has its answer or its connection is lost.
  void wait(Batch& batch);
  /// Waits for the batch's answer. kOverloaded: the connection is lost.
  Result<Message> receive(Batch& batch);
  /// Counts a new stream in the other process.
  void open_stream(bool recovered);
  /// Counts a stream that has become impossible to compute again.
  void bind_stream();
  /// Ends a stream of connection `epoch`. Informs the peer if that connection still exists. Does
  /// not wait.
  void close_stream(uint64_t epoch, uint64_t stream, bool bound = false);
  /// Closes connection `epoch`, whose peer sent an invalid message.
  void drop(uint64_t epoch, const std::string& why);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
