// Steps that repeat: see Stream::repeat(). What a backend adds is in cuda/device.cc.
#include <algorithm>
#include <bit>
#include <exception>

#include "tensor/device.h"

namespace syrinx {
namespace {

constexpr size_t kRoom = 4u << 20;       // bytes a step may send, and receive
constexpr size_t kMostRecordings = 256;  // of a stream; each takes memory of the device
constexpr int kMostFailures = 8;         // of a key, until it is no longer tried

/// Powers of two, so that a list that grows (a history) seldom moves what comes after it.
size_t padded(size_t bytes) { return std::bit_ceil(std::max<size_t>(bytes, 256)); }

/// Of a step that cannot be recorded: it sends or receives more than there is room for, or waits.
struct NoRecording : std::exception {};

}  // namespace

void Stream::upload(const void* host, void* device, size_t bytes) {
  const void* from = staged(host, bytes);
  if (!from) {
    to_device(host, device, bytes);
  } else if (queues("upload", from, device, bytes)) {
    on_device(from, device, bytes);
  }
}

void Stream::download(const void* device, void* host, size_t bytes) {
  if (mode_ == Mode::kQueue) return to_host(device, host, bytes);
  if (down_used_ + padded(bytes) > kRoom) throw NoRecording();
  char* landing = down_ + down_used_;
  down_used_ += padded(bytes);
  landings_.push_back({landing, host, bytes});
  if (queues("download", device, landing, bytes)) to_host(device, landing, bytes);
}

void Stream::synchronize() {
  if (mode_ != Mode::kQueue) throw NoRecording();
  wait();
  for (const Landing& l : landings_) std::memcpy(l.to, l.from, l.bytes);
  landings_.clear();
}

void* Stream::staged(const void* host, size_t bytes) {
  if (mode_ == Mode::kQueue) return nullptr;
  if (up_used_ + padded(bytes) > kRoom) throw NoRecording();
  const size_t at = up_used_;
  if (bytes > 0) std::memcpy(up_ + at, host, bytes);
  up_used_ += padded(bytes);
  return static_cast<char*>(staged_.view().data) + at;
}

/// Eight bytes at a time; the multiplication and the turn are those of FxHash and splitmix64.
void Stream::sign_bytes(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t word = bytes;
    std::memcpy(&word, from + at, std::min<size_t>(8, bytes - at));
    uint64_t mixed = (signature_ ^ word) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    signature_ = mixed * 0xbf58476d1ce4e5b9u + at;
  }
}

bool Stream::run(Mode mode, const std::function<void()>& work) {
  signature_ = up_used_ = down_used_ = 0;
  mode_ = mode;
  try {
    work();
  } catch (const std::exception&) {  // if it was the work's own fault, it will be told again
    mode_ = Mode::kQueue;
    landings_.clear();
    return false;
  }
  mode_ = Mode::kQueue;
  return true;
}

bool Stream::record(Recording& recording, const std::function<void()>& work) {
  begin_recording();
  const bool ran = run(Mode::kRecord, work);
  recording.graph = end_recording();
  if (!ran || !recording.graph) {
    drop(recording);
    return false;
  }
  recording.state = Recording::State::kReady;
  recording.signature = signature_;
  launch(recording);
  return true;
}

bool Stream::play_again(Recording& recording, const std::function<void()>& work) {
  if (!run(Mode::kPlay, work) || signature_ != recording.signature) {
    drop(recording);
    return false;
  }
  launch(recording);
  ++played_;
  return true;
}

/// After a failure: the key may be recorded anew, if it has not failed too often.
void Stream::drop(Recording& recording) {
  landings_.clear();
  recording.graph.reset();
  using State = Recording::State;
  recording.state = ++recording.failures < kMostFailures ? State::kSeen : State::kNever;
}

void Stream::launch(const Recording& recording) {
  if (up_used_ > 0) send(up_, staged_.view().data, up_used_);
  play(recording.graph.get());
}

void Stream::forget_oldest() {
  if (recordings_.size() < kMostRecordings) return;
  recordings_.erase(
      std::min_element(recordings_.begin(), recordings_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

void Stream::repeat(uint64_t key, const std::function<void()>& work) {
  SYRINX_CHECK(mode_ == Mode::kQueue, "[stream] repeat() within repeat()");
  if (!recordings_.contains(key)) forget_oldest();
  Recording& recording = recordings_[key];
  recording.used = ++clock_;
  using State = Recording::State;
  if (recording.state == State::kSeen || recording.state == State::kReady) {
    synchronize();  // what is being sent or received must not change
    if (!up_) {
      staged_ = Tensor({static_cast<int64_t>(kRoom)}, DType::kU8, Device::kCuda);
      up_ = static_cast<char*>(pinned(kRoom));
      down_ = static_cast<char*>(pinned(kRoom));
    }
    if (recording.state == State::kReady ? play_again(recording, work) : record(recording, work))
      return;
  } else if (recording.state == State::kNew) {
    recording.state = State::kSeen;
  }
  work();
}

}  // namespace syrinx
