// Decodes untrusted recordings in other processes. A helper is forked while this process is still
// small and has one thread. The helper forks a child for each recording. The child confines itself
// (confinement.h), reads the file from a socket and writes samples to it. A file that crashes its
// decoder only ends one child; a child's output is checked like the file itself. If a helper was
// killed, a new one is started as a new program, because this process by then has threads and
// secrets.
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
  bool filter = true;                           ///< whether to filter system calls, if possible
  uint64_t memory_bytes = uint64_t{128} << 20;  ///< memory of a child, not counting the file
  /// For tests: called in a child, with the socket, instead of the decoder. Null: the child
  /// decodes.
  void (*instead)(int socket) = nullptr;
  /// The program, with its arguments, that replaces a lost helper; it calls run_decode_helper(),
  /// e.g. {"/proc/self/exe", "decode-helper"}. Empty: a lost helper is not replaced.
  std::vector<std::string> again = {};
};

/// Runs a replacement helper as a whole program. The socket is descriptor kDecodeControl.
[[noreturn]] void run_decode_helper();
inline constexpr int kDecodeControl = 3;
/// Argument that makes `syrinx` a helper; not for users.
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

  /// Returns how children are confined on this machine, for users: "seccomp and resource limits".
  const std::string& confinement() const { return confinement_; }
  /// Returns whether the filter of system calls is in force.
  bool filtered() const { return filtered_; }
  pid_t pid() const;
  /// Returns the number of children that were started to decode.
  int64_t begun() const { return begun_; }

  /// Decodes a recording within limits: max_s limits the samples, max_decode_s each read, and both
  /// limit the child's processor time. Errors caused by the file are kInvalid, also if the file
  /// crashed its decoder. If another process killed the child, the error is kInternal. If the
  /// helper is lost, the next helper decodes the recording once more. If that one is lost too, or
  /// there is none, the error is kOverloaded.
  std::unique_ptr<Decoding> decode(std::string_view file, const RecordingLimits& limits) const;

 private:
  friend class DecodingApart;
  /// A child of a helper. pid 0: no process could be started; -1: the helper is gone.
  struct Child {
    pid_t pid = -1;
    uint64_t helper = 0;  ///< number of the helper that started it
  };
  /// Starts a child with its end of a socket; replaces a helper that is gone.
  Child begin_child(int socket, uint64_t memory_bytes, uint32_t cpu_s, bool probe) const;
  /// Ends a child that still runs. Returns its status as waitpid() does; -1: its helper is gone.
  int end_child(const Child& child) const;
  // Sends a request and returns the answer; needs mutex_.
  int64_t ask(const void* request, size_t bytes, int descriptor) const;
  bool start_again() const;
  void stop() const;
  void probe();

  const DecodeHelperOptions options_;
  bool filtered_ = false;
  std::string confinement_;
  mutable std::atomic<int64_t> begun_ = 0;
  mutable std::mutex mutex_;  // protects a request with its answer, and the fields below
  mutable pid_t pid_ = -1;
  mutable int control_ = -1;
  mutable uint64_t number_ = 0;  // number of the current helper, counted from the first
};

}  // namespace syrinx
