// Stream::repeat() and repeat_as(): recording of repeated steps. The backend's part is in
// cuda/device.cc.
#include <algorithm>
#include <bit>
#include <exception>

#include "tensor/device.h"

namespace syrinx {
namespace {

constexpr size_t kRoom = 4u << 20;       // most bytes that a piece may upload, and may download
constexpr size_t kMostRecordings = 256;  // graphs per stream; each one uses device memory

/// Rounds up to a power of two, so that a growing list (e.g. a history) seldom changes the
/// addresses after it.
size_t padded(size_t bytes) { return std::bit_ceil(std::max<size_t>(bytes, 256)); }

/// Makes room for one more entry.
template <typename Map>
void forget_oldest(Map& map) {
  if (map.size() < kMostRecordings) return;
  map.erase(std::min_element(map.begin(), map.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
}

}  // namespace

void* Stream::Notes::room(size_t bytes) {
  constexpr size_t kNoteAlign = alignof(std::max_align_t);
  bytes = (bytes + kNoteAlign - 1) / kNoteAlign * kNoteAlign;
  if (used_ % kBlock + bytes > kBlock) used_ = (used_ / kBlock + 1) * kBlock;
  if (used_ / kBlock == blocks_.size()) blocks_.push_back(std::make_unique<std::byte[]>(kBlock));
  void* at = blocks_[used_ / kBlock].get() + used_ % kBlock;
  used_ += bytes;
  return at;
}

void Stream::Notes::clear() {
  calls_.clear();
  used_ = 0;
}

void Stream::upload(const void* host, void* device, size_t bytes) {
  if (const void* from = staged(host, bytes)) {
    queue([=, this] { on_device(from, device, bytes); }, "upload", from, device, bytes);
  } else {
    to_device(host, device, bytes);
  }
}

void Stream::download(const void* device, void* host, size_t bytes) {
  if (noting_ && down_used_ + padded(bytes) > kRoom) queue_notes();
  if (!noting_) return to_host(device, host, bytes);
  char* landing = down_ + down_used_;
  down_used_ += padded(bytes);
  landings_.push_back({landing, host, bytes});
  queue([=, this] { to_host(device, landing, bytes); }, "download", device, landing, bytes);
}

void Stream::synchronize() {
  if (noting_) end_piece();
  wait();
  for (const Landing& l : landings_) std::memcpy(l.to, l.from, l.bytes);
  landings_.clear();
}

void* Stream::staged(const void* host, size_t bytes) {
  const std::less<> before;
  if (noting_ && !before(host, up_) && before(host, up_ + block_))
    return static_cast<char*>(staged_.view().data) + (static_cast<const char*>(host) - up_);
  if (noting_ && up_used_ + padded(bytes) > kRoom) queue_notes();
  if (!noting_) return nullptr;
  const size_t at = up_used_;
  if (bytes > 0) std::memcpy(up_ + at, host, bytes);
  up_used_ += padded(bytes);
  return static_cast<char*>(staged_.view().data) + at;
}

/// Hashes 32 bytes at a time in four independent sums, so that the processor multiplies all four at
/// once. The multipliers are those of FxHash and splitmix64. Speed matters: a step has a thousand
/// launches, each with some 300 bytes of arguments.
void Stream::sign_bytes(const void* data, size_t bytes) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u, kLast = 0xbf58476d1ce4e5b9u;
  const auto mixed = [](uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * kMultiplier;
    return sum ^ sum >> 32;
  };
  const auto* from = static_cast<const char*>(data);
  uint64_t sums[4] = {signature_, signature_ + 1, signature_ + 2, signature_ + 3}, words[4];
  size_t at = 0;
  for (; at + sizeof(words) <= bytes; at += sizeof(words)) {
    std::memcpy(words, from + at, sizeof(words));
    for (int i = 0; i < 4; ++i) sums[i] = mixed(sums[i], words[i]);
  }
  for (int i = 0; at < bytes; at += sizeof(uint64_t), ++i) {
    uint64_t word = 0;
    std::memcpy(&word, from + at, std::min(sizeof(word), bytes - at));
    sums[i] = mixed(sums[i], word);
  }
  uint64_t sum = mixed(sums[0], bytes);
  for (int i = 1; i < 4; ++i) sum = (sum ^ sums[i]) * kLast, sum ^= sum >> 29;
  signature_ = sum;
}

/// Waits for the copies of the last piece. At the first call, allocates the pinned memory.
void Stream::prepare() {
  SYRINX_CHECK(!noting_, "[stream] repeat() was called within repeat()");
  synchronize();  // copies in progress still use this memory
  block_ = 0;
  if (up_) return;
  staged_ = Tensor({static_cast<int64_t>(kRoom)}, DType::kU8, device_);
  up_ = static_cast<char*>(pinned(kRoom));
  down_ = static_cast<char*>(pinned(kRoom));
}

void* Stream::block(size_t bytes) {
  prepare();
  if (bytes > kRoom / 2) return nullptr;
  block_ = (bytes + 255) / 256 * 256;
  return up_;
}

void Stream::repeat(const std::function<void()>& work) {
  prepare();
  note(work);
}

void Stream::repeat_as(const std::vector<uint64_t>& key, void* results, size_t bytes,
                       const std::function<void()>& work) {
  if (key.empty()) {
    note(work);
    return;
  }
  const uint64_t memory = memory_version();
  const auto found = known_.find(key);
  if (found != known_.end() && found->second.memory == memory)
    return recall(found->second, results, bytes);
  if (!note(work)) return;
  const auto recording = recordings_.find(signature_);
  if (recording == recordings_.end() || !recording->second.graph) return;
  if (landings_.size() != 1 || landings_[0].to != results || landings_[0].bytes != bytes) return;
  if (found == known_.end()) forget_oldest(known_);
  known_[key] = {
      recording->second.graph, memory, {up_ + block_, up_ + up_used_}, landings_[0].from, ++clock_};
}

/// Runs a recorded piece with the numbers of block().
void Stream::recall(Known& known, void* results, size_t bytes) {
  std::copy(known.constants.begin(), known.constants.end(), up_ + block_);
  send(up_, staged_.view().data, block_ + known.constants.size());
  play(known.graph.get());
  landings_.push_back({known.landing, results, bytes});
  known.used = ++clock_;
  ++played_, ++recalled_;
}

/// Records what `work` queues, then queues it. Returns false if part of it was queued unrecorded.
bool Stream::note(const std::function<void()>& work) {
  signature_ = memory_version();
  up_used_ = block_, down_used_ = 0;
  notes_.clear();
  noting_ = true;
  try {
    work();
    const bool whole = noting_;
    if (whole) end_piece();
    return whole;
  } catch (...) {  // recorded work that is not yet queued is dropped
    noting_ = false;
    landings_.clear();
    throw;
  }
}

void Stream::queue_notes() {
  noting_ = false;
  if (up_used_ > 0) send(up_, staged_.view().data, up_used_);
  use_device();
  notes_.play();
}

/// Queues the recorded piece. If it was queued before, queues it as a graph.
void Stream::end_piece() {
  if (notes_.empty()) return queue_notes();
  if (!recordings_.contains(signature_)) {
    forget_oldest(recordings_);
    recordings_[signature_].used = ++clock_;
    return queue_notes();
  }
  Recording& recording = recordings_[signature_];
  recording.used = ++clock_;
  if (recording.impossible) return queue_notes();
  if (recording.graph) {
    ++played_;
  } else if (!(recording.graph = record([this] { notes_.play(); }))) {
    recording.impossible = true;
    return queue_notes();
  }
  noting_ = false;
  if (up_used_ > 0) send(up_, staged_.view().data, up_used_);
  play(recording.graph.get());
}

}  // namespace syrinx
