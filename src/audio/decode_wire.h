// Messages between a decoder's child and its parent, over a stream socket of one machine:
// the job and the file's bytes one way, messages the other. Inside the room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syrinx {

/// The job of a child; the file's bytes follow.
struct DecodeJob {
  uint64_t file_bytes = 0;
  double max_s = 0, max_decode_s = 0;
  uint64_t first_channel = 0;  ///< 0 or 1
};

/// The messages of a child.
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

/// The format that a file states.
struct DecodeInfo {
  int32_t sample_rate = 0;
  uint32_t unused = 0;
  double claimed_s = 0;
};

/// Reads all bytes; false when the other end is gone. EINTR is retried.
bool read_whole(int fd, void* to, size_t bytes);
/// Writes all bytes; false when the other end is gone. EINTR is retried.
bool write_whole(int fd, const void* from, size_t bytes);

/// The main function of a child, which is confined already; returns at the end of the job.
void run_decode_job(int socket);

}  // namespace syrinx
