// Decodes untrusted recordings in other processes. A helper is forked while this process is still
// small and has one thread. The helper forks a child for each recording. The child confines
// itself (confinement.h), reads the file from a socket and writes samples to it. A file that
// crashes its decoder ends only one child. A child's output is checked like the file itself. A
// killed helper is replaced by a newly started program instead of a fork, because this process
// then has threads and secrets.
//
//   DecodeHelper helper;                          // first thing in main
//   read_recording(bytes, {.helper = &helper});   // any thread
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "audio/recording.h"
#include "base/error.h"

namespace syrinx {

class Decoding;

/// Options of the children's confinement, and the program that replaces a lost helper.
struct DecodeHelperOptions {
  bool filter = true;                           ///< filter system calls, if possible
  uint64_t memory_bytes = uint64_t{128} << 20;  ///< memory of a child, in addition to the file
  /// For tests: called in a child, with the socket, instead of the decoder. Null means the
  /// decoder.
  void (*instead)(int socket) = nullptr;
  /// The program, with its arguments, that replaces a lost helper. It calls run_decode_helper(),
  /// e.g. {"/proc/self/exe", "decode-helper"}. If empty, a lost helper is not replaced.
  std::vector<std::string> again = {};
};

/// Runs a replacement helper as a whole program. The socket is descriptor kDecodeControl.
[[noreturn]] void run_decode_helper();
inline constexpr int kDecodeControl = 3;
/// The argument that makes `syrinx` a helper. Not for users.
inline constexpr const char* kDecodeHelperCommand = "decode-helper";

/// Decodes recordings in children of a helper process. Must outlive all recordings that it decodes.
/// Public methods are safe from any thread.
class DecodeHelper {
 public:
  /// Forks the helper. This process should have one thread and no secrets yet, because children
  /// start with a copy of its memory, without the environment. Throws LoadError if forking fails,
  /// or if children cannot be limited.
  explicit DecodeHelper(const DecodeHelperOptions& options = {});
  /// Ends the helper and its children.
  ~DecodeHelper();
  DecodeHelper(const DecodeHelper&) = delete;
  DecodeHelper& operator=(const DecodeHelper&) = delete;

  /// Returns a text for users about the children's confinement: "seccomp and resource limits".
  const std::string& confinement() const { return confinement_; }
  /// Returns whether the filter of system calls is in force.
  bool filtered() const { return filtered_; }
  pid_t pid() const;
  /// Returns the number of children that were started to decode recordings.
  int64_t begun() const { return begun_; }

  /// Decodes a recording within limits: max_s limits the samples, max_decode_s each read, and both
  /// limit the child's processor time. Errors of the file are kInvalid, even if the file crashed
  /// its decoder. If another process killed the child, the error is kInternal. If the helper is
  /// lost, the next helper decodes the recording once more. If that helper is lost too, or cannot
  /// be started, the error is kOverloaded.
  std::unique_ptr<Decoding> decode(std::string_view file, const RecordingLimits& limits) const;

 private:
  friend class DecodingApart;
  /// A child of a helper. pid 0: no process could be started. pid -1: the helper has ended.
  struct Child {
    pid_t pid = -1;
    uint64_t helper = 0;  ///< number of the helper that started the child
  };
  /// Starts a child that uses `socket`. Replaces the helper first if it has ended.
  Child begin_child(int socket, uint64_t memory_bytes, uint32_t cpu_s, bool probe) const;
  /// Ends a running child. Returns its status like waitpid(); -1 if its helper has ended.
  int end_child(const Child& child) const;
  // Sends a request and returns the answer. Call with mutex_ held.
  int64_t ask(const void* request, size_t bytes, int descriptor) const;
  bool start_again() const;
  void stop() const;
  void probe();

  const DecodeHelperOptions options_;
  bool filtered_ = false;
  std::string confinement_;
  mutable std::atomic<int64_t> begun_ = 0;
  mutable std::mutex mutex_;  // held from a request to its answer; protects the members below
  mutable pid_t pid_ = -1;
  mutable int control_ = -1;
  mutable uint64_t number_ = 0;  // number of the current helper; the first helper is 0
};

}  // namespace syrinx
