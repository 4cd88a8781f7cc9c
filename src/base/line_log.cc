#include "base/line_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

struct Entry {
  std::string text;   // the line, including its line end
  uint64_t lost = 0;  // number of dropped lines that this line reports; 0 for an ordinary line
};

Entry report_of(uint64_t lost) {
  return {concat("log: ", lost, lost == 1 ? " line was" : " lines were",
                 " dropped here, because the log was not read or could not be written\n"),
          lost};
}

/// Writes the whole text, without a time limit. `torn` states whether the last line was written
/// incompletely, and is updated.
bool write_line(int descriptor, const std::string& text, bool& torn) {
  const std::string mended = torn ? "\n" + text : text;
  for (std::string_view rest = mended; !rest.empty();) {
    const ssize_t done = ::write(descriptor, rest.data(), rest.size());
    if (done > 0) {
      rest.remove_prefix(static_cast<size_t>(done));
      torn = !rest.empty();
      continue;
    }
    if (done < 0 && errno == EINTR) continue;
    if (done >= 0 || errno != EAGAIN) return false;
    // Another process has made the shared descriptor non-blocking.
    pollfd polled{descriptor, POLLOUT, 0};
    ::poll(&polled, 1, -1);
  }
  return true;
}

}  // namespace

struct LineLog::State {
  explicit State(const LineLogOptions& given) : options(given) {}

  void push(Entry entry) {
    bytes += entry.text.size();
    queue.push_back(std::move(entry));
  }
  void note_loss(const Entry& entry) {
    if (entry.lost == 0) ++dropped;
    unreported += entry.lost == 0 ? 1 : entry.lost;
  }
  void run();

  const LineLogOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> queue;
  size_t bytes = 0;         // total size of the lines in the queue
  uint64_t dropped = 0;     // lines dropped since the start
  uint64_t unreported = 0;  // dropped lines that are not yet reported in the queue
  bool closed = false, ended = false;
};

/// The writing thread. Holds the mutex except during a write.
void LineLog::State::run() {
  bool torn = false;
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return closed || !queue.empty(); });
    if (queue.empty()) break;
    Entry entry = std::move(queue.front());
    queue.pop_front();
    bytes -= entry.text.size();
    lock.unlock();
    const bool good = write_line(options.descriptor, entry.text, torn);
    lock.lock();
    if (!good) note_loss(entry);
    // Reports lines that were dropped during this write immediately, not only with the next line.
    if (good && queue.empty() && unreported > 0) push(report_of(std::exchange(unreported, 0)));
  }
  ended = true;
  changed.notify_all();
}

LineLog::LineLog(const LineLogOptions& options) : state_(std::make_shared<State>(options)) {
  std::thread([state = state_] { state->run(); }).detach();
}

LineLog::~LineLog() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::chrono::duration<double>(state_->options.patience_s),
                           [this] { return state_->ended; });
  state_->queue.clear();  // the thread, if blocked while writing a line, ends after that line
  state_->bytes = 0;
  state_->unreported = 0;
}

void LineLog::add(const std::string& line) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  Entry entry{line + "\n"};
  if (state.bytes + entry.text.size() > state.options.max_bytes) return state.note_loss(entry);
  if (state.unreported > 0) state.push(report_of(std::exchange(state.unreported, 0)));
  state.push(std::move(entry));
  state.changed.notify_all();
}

uint64_t LineLog::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

}  // namespace syrinx
