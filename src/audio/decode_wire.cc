#include "audio/decode_wire.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <vector>

#include "audio/recording_libav.h"

namespace syrinx {
namespace {

constexpr size_t kSamplesAtOnce = 16 << 10;

class Sender {
 public:
  explicit Sender(int socket) : socket_(socket) {}

  bool send(DecodeMessage kind, const void* bytes, size_t count) const {
    const DecodeMessageHead head{kind, static_cast<uint32_t>(count)};
    return write_whole(socket_, &head, sizeof head) && write_whole(socket_, bytes, count);
  }
  bool send_info(const Decoding& decoding) const {
    const DecodeInfo info{.sample_rate = decoding.sample_rate(), .claimed_s = decoding.claimed_s()};
    std::string bytes(reinterpret_cast<const char*>(&info), sizeof info);
    bytes += decoding.format();
    return send(DecodeMessage::kInfo, bytes.data(), bytes.size());
  }
  bool send_samples(const std::vector<float>& samples) const {
    for (size_t at = 0; at < samples.size(); at += kSamplesAtOnce) {
      const size_t count = std::min(kSamplesAtOnce, samples.size() - at);
      if (!send(DecodeMessage::kSamples, &samples[at], count * sizeof(float))) return false;
    }
    return true;
  }
  void send_fault(const std::string& message) const {
    send(DecodeMessage::kFault, message.data(), std::min<size_t>(message.size(), 1000));
  }

 private:
  const int socket_;
};

void decode_job(int socket, const DecodeJob& job, const Sender& sender) {
  std::string file(job.file_bytes, '\0');
  if (!read_whole(socket, file.data(), file.size())) return;
  const auto decoding = decode_here(file, {.max_bytes = file.size(),
                                           .max_s = job.max_s,
                                           .max_decode_s = job.max_decode_s,
                                           .first_channel = job.first_channel != 0});
  std::vector<float> samples;
  for (bool more = true, first = true; more; first = false) {
    samples.clear();
    const Result<bool> read = decoding->read(kSamplesAtOnce, samples);
    if (!read) return sender.send_fault(read.error().message);
    more = read.value();
    if (first && !sender.send_info(*decoding)) return;
    if (!sender.send_samples(samples)) return;
  }
  sender.send(DecodeMessage::kEnd, nullptr, 0);
}

}  // namespace

bool read_whole(int fd, void* to, size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool write_whole(int fd, const void* from, size_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t put = write(fd, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

void run_decode_job(int socket) {
  const Sender sender(socket);
  try {
    DecodeJob job;
    if (read_whole(socket, &job, sizeof job)) decode_job(socket, job, sender);
  } catch (const std::bad_alloc&) {
    sender.send_fault("decoding the recording needs too much memory");
  }
}

}  // namespace syrinx
