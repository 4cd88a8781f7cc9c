// Messages between a decoding child and its parent, over a local stream socket. The parent sends
// the job and the file's bytes; the child sends messages. Only for sources in audio/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syrinx {

/// The job of a child; the bytes of the file follow it.
struct DecodeJob {
  uint64_t file_bytes = 0;
  double max_s = 0, max_decode_s = 0;
  uint64_t first_channel = 0;  ///< 0 or 1
};

/// Types of a child's messages.
enum class DecodeMessage : uint32_t {
  kInfo,     ///< DecodeInfo, then the format as text; sent once, before the samples
  kSamples,  ///< samples as floats
  kEnd,      ///< the end of the samples
  kFault,    ///< the text of an error; the last message
};

/// Header of each message of a child.
struct DecodeMessageHead {
  DecodeMessage kind = DecodeMessage::kEnd;
  uint32_t bytes = 0;  ///< number of following bytes, at most kMaxDecodeMessage
};
constexpr uint32_t kMaxDecodeMessage = 1 << 20;

/// The format and length that a file states.
struct DecodeInfo {
  int32_t sample_rate = 0;
  uint32_t unused = 0;
  double claimed_s = 0;
};

/// Reads all `bytes` bytes; returns false if the other end is closed. Retries after EINTR.
bool read_whole(int fd, void* to, size_t bytes);
/// Writes all `bytes` bytes; returns false if the other end is closed. Retries after EINTR.
bool write_whole(int fd, const void* from, size_t bytes);

/// Runs the job of a child that is already confined. Returns at the end of the job.
void run_decode_job(int socket);

}  // namespace syrinx
