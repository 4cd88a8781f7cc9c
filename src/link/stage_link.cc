#include "link/stage_link.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "link/transport.h"

namespace syrinx {
namespace {

constexpr double kGreeting_s = 5;
constexpr const char* kLeft = "the process is about to end";

}  // namespace

struct StageLink::Batch {
  double until_s = 0;
  bool done = false;
  std::optional<Message> answer;  ///< empty if the connection was lost
};

struct StageLink::Impl {
  explicit Impl(LinkOptions o) : options(std::move(o)), thread([this] { run(); }) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.set();
    thread.join();
  }

  void run();
  void connect();
  void serve(MessageSocket& socket);
  void write(std::string messages);
  /// While this object exists, other threads may write to the socket.
  struct Shared {
    Impl& of;
    ~Shared() {
      const std::lock_guard lock(of.mutex);
      of.peer = nullptr;
    }
  };
  void take(Message message, size_t bytes);
  double first_deadline() const;
  void went_down(const std::string& why);
  Error gone() const;
  void say(const std::string& line) const {
    if (options.log) options.log(line);
  }

  const LinkOptions options;
  WakeUp wake;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool stopping = false;
  LinkState state{.trouble = "the process is not connected yet", .down_since_s = now_s()};
  uint64_t numbers = 0;
  MessageSocket* peer = nullptr;  ///< null while the link is down; other threads only write to it
  std::string out;                ///< bytes that the socket has not accepted yet
  std::string dropped;            ///< why the connection must be closed; empty if it need not
  std::map<uint64_t, std::shared_ptr<Batch>> waiting;  ///< unanswered batches, by number

  std::thread thread;
};

// ---------------------------------------------------------------------------- the link's thread

void StageLink::Impl::run() {
  double pause_s = options.first_pause_s;
  std::string said;
  for (;;) {
    std::string why;
    const uint64_t ups = state.ups;  // only this thread writes it
    try {
      connect();
    } catch (const std::exception& e) {
      why = e.what();
    }
    went_down(why);
    const bool was_up = state.ups > ups;
    if (was_up) pause_s = options.first_pause_s;
    std::unique_lock lock(mutex);
    if (stopping) return;
    lock.unlock();
    if (was_up || why != said) say(options.address + ": " + why);
    said = why;
    lock.lock();
    changed.wait_for(lock, std::chrono::duration<double>(pause_s), [&] { return stopping; });
    if (stopping) return;
    if (!was_up) pause_s = std::min(2 * pause_s, options.longest_pause_s);
  }
}

/// Runs one connection from its beginning to its end. Throws the reason of its end.
void StageLink::Impl::connect() {
  MessageSocket socket(connect_at(options.address, options.keys, kGreeting_s));
  wake.clear();
  {
    const std::lock_guard lock(mutex);
    if (stopping) return;
  }
  std::string hello;
  append_hello(hello, options.wanted);
  socket.send(std::move(hello), kGreeting_s, wake);
  const std::optional<Message> answer = socket.wait_for(kGreeting_s, kMostGreeting, wake);
  if (!answer) throw LoadError("the process does not answer");
  if (answer->kind == MessageKind::kRefuse) {
    throw LoadError("the process refuses: " + read_refuse(answer->body));
  }
  if (answer->kind != MessageKind::kWelcome)
    throw LoadError("no greeting came: is this a Syrinx stage process?");
  const std::string unlike = mismatch(options.wanted, read_introduction(answer->body));
  if (!unlike.empty()) throw LoadError("the process does not fit this server: " + unlike);
  const Shared shared{*this};
  {
    const std::lock_guard lock(mutex);
    out.clear(), dropped.clear();
    peer = &socket;
    state.up = true;
    state.trouble.clear();
    ++state.ups;
  }
  changed.notify_all();
  std::string names;
  for (const NodeShape& node : options.wanted.nodes)
    names += (names.empty() ? "" : ", ") + node.name;
  say(options.address + ": connected (" + names + ")");
  serve(socket);
}

/// Writes messages, from any thread, under the lock. Writes directly to the socket, so that the
/// bytes need not wait until the link's thread wakes up. The link's thread notices a broken socket
/// by itself.
void StageLink::Impl::write(std::string messages) {
  const size_t bytes = messages.size();
  if (out.empty() && peer) {
    try {
      peer->flush(messages);
    } catch (const LoadError&) {
    }
    state.sent_bytes += bytes - messages.size();
  }
  out += messages;
  if (!out.empty()) wake.set();
}

void StageLink::Impl::serve(MessageSocket& socket) {
  for (;;) {
    bool more = false;
    double until_s = 0;
    {
      const std::lock_guard lock(mutex);
      if (stopping) throw LoadError("this process is stopping");
      if (!dropped.empty()) throw LoadError(dropped);
      if (state.leaving && state.streams == 0) throw LoadError(kLeft);
      const size_t before = out.size();
      socket.flush(out);
      state.sent_bytes += before - out.size();
      more = !out.empty();
      until_s = first_deadline();
    }
    // A new batch does not wake this thread, so the thread checks often enough to observe answer_s.
    const double look_s = std::min(until_s, now_s() + options.answer_s / 4);
    const double left_ms = std::clamp(std::ceil((look_s - now_s()) * 1e3), 0.0, 1e6);
    std::array<pollfd, 2> polled{
        {{socket.get(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0},
         {wake.get(), POLLIN, 0}}};
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(left_ms));
    if (ready == 0 && now_s() >= until_s) {
      throw LoadError(concat("no answer within ", options.answer_s, " s"));
    }
    if (polled[1].revents != 0) wake.clear();
    if (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) {
      socket.fill();
      while (std::optional<Message> message = socket.next()) {
        const size_t bytes = message->body.size();
        take(std::move(*message), bytes);
      }
    }
  }
}

void StageLink::Impl::take(Message message, size_t bytes) {
  if (message.kind == MessageKind::kRefuse)
    throw LoadError("it reports: " + read_refuse(message.body));
  if (message.kind == MessageKind::kLeaving) {
    read_leaving(message.body);
    const std::lock_guard lock(mutex);
    state.leaving = true;
    state.trouble = kLeft;
    return;
  }
  if (message.kind != MessageKind::kMade && message.kind != MessageKind::kStepped) {
    throw LoadError("the answer has an unexpected kind");
  }
  const auto batch = ByteReader(message.body, "the result of a batch").number<uint64_t>();
  {
    const std::lock_guard lock(mutex);
    state.received_bytes += bytes;
    const auto found = waiting.find(batch);
    if (found == waiting.end()) throw LoadError("result of an unknown batch");
    found->second->answer = std::move(message);
    found->second->done = true;
    waiting.erase(found);
    ++state.batches;
  }
  changed.notify_all();
}

/// Returns the earliest deadline of a waiting batch. Call with the lock held.
double StageLink::Impl::first_deadline() const {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& [batch, one] : waiting) first = std::min(first, one->until_s);
  return first;
}

void StageLink::Impl::went_down(const std::string& why) {
  {
    const std::lock_guard lock(mutex);
    if (state.up) state.down_since_s = now_s();
    state.up = state.leaving = false;
    state.trouble = why;
    state.lost_batches += waiting.size();
    for (auto& [batch, one] : waiting) one->done = true;
    waiting.clear();
    out.clear();
  }
  changed.notify_all();
}

/// Returns the error of a lost connection. Call with the lock held.
Error StageLink::Impl::gone() const {
  std::string names;
  for (const NodeShape& node : options.wanted.nodes)
    names += (names.empty() ? "" : ", ") + node.name;
  return {ErrorCode::kOverloaded,
          "the process with " + names + " has disconnected" +
              (state.trouble.empty() ? "" : " (" + state.trouble + ")"),
          {},
          1};
}

// ---------------------------------------------------------------------------- callers

StageLink::StageLink(LinkOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
StageLink::~StageLink() = default;

const LinkOptions& StageLink::options() const { return impl_->options; }

LinkState StageLink::state() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->state;
}

bool StageLink::wait_until_up(double timeout_s) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::duration<double>(timeout_s),
                                 [&] { return impl_->state.up; });
}

uint64_t StageLink::epoch() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->state.up ? impl_->state.ups : 0;
}

uint64_t StageLink::new_number() {
  const std::lock_guard lock(impl_->mutex);
  return ++impl_->numbers;
}

std::shared_ptr<StageLink::Batch> StageLink::send(uint64_t epoch, uint64_t batch,
                                                  std::string messages) {
  auto mine = std::make_shared<Batch>();
  const std::lock_guard lock(impl_->mutex);
  if (epoch == 0 || !impl_->state.up || impl_->state.ups != epoch) {
    mine->done = true;
    return mine;
  }
  mine->until_s = now_s() + impl_->options.answer_s;
  impl_->waiting.emplace(batch, mine);
  impl_->write(std::move(messages));
  return mine;
}

void StageLink::wait(Batch& batch) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return batch.done; });
}

Result<Message> StageLink::receive(Batch& batch) {
  wait(batch);
  const std::lock_guard lock(impl_->mutex);
  if (!batch.answer) return impl_->gone();
  return std::move(*batch.answer);
}

void StageLink::open_stream(bool recovered) {
  const std::lock_guard lock(impl_->mutex);
  ++impl_->state.streams;
  impl_->state.recovered += recovered ? 1 : 0;
}

void StageLink::bind_stream() {
  const std::lock_guard lock(impl_->mutex);
  ++impl_->state.bound;
}

void StageLink::close_stream(uint64_t epoch, uint64_t stream, bool bound) {
  const std::lock_guard lock(impl_->mutex);
  --impl_->state.streams;
  impl_->state.bound -= bound ? 1 : 0;
  if (!impl_->state.up || impl_->state.ups != epoch) return;
  std::string bytes;
  append_close(bytes, stream);
  impl_->write(std::move(bytes));
  if (impl_->state.leaving) impl_->wake.set();
}

void StageLink::drop(uint64_t epoch, const std::string& why) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->state.up || impl_->state.ups != epoch) return;
  impl_->dropped = why;
  impl_->wake.set();
}

}  // namespace syrinx
