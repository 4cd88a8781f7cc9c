// Messages between a decoder's child and its parent, over a stream socket of one machine:
// the job and the file's bytes one way, messages the other. Inside the room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syrinx {

/// What a child is asked for; the file's bytes follow.
struct DecodeJob {
  uint64_t file_bytes = 0;
  double max_s = 0, max_decode_s = 0;
  uint64_t first_channel = 0;  ///< 0 or 1
};

/// What a child says.
enum class DecodeMessage : uint32_t {
  kInfo,     ///< DecodeInfo, then the format as text; once, before samples
  kSamples,  ///< floats
  kEnd,      ///< that was all
  kFault,    ///< the message of an error; nothing follows
};

/// Stands before each message of a child.
struct DecodeMessageHead {
  DecodeMessage kind = DecodeMessage::kEnd;
  uint32_t bytes = 0;  ///< that follow, at most kMaxDecodeMessage
};
constexpr uint32_t kMaxDecodeMessage = 1 << 20;

/// What a file says of itself.
struct DecodeInfo {
  int32_t sample_rate = 0;
  uint32_t unused = 0;
  double claimed_s = 0;
};

/// Reads or writes all of it; false when the other end is gone. EINTR is retried.
bool read_whole(int fd, void* to, size_t bytes);
bool write_whole(int fd, const void* from, size_t bytes);

/// What the child does: confined already; until the end of the job.
void run_decode_job(int socket);

}  // namespace syrinx
