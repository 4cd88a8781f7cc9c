// Decodes strangers' recordings in other processes. A helper, forked while this process is still
// small and has one thread, forks a child for each recording. The child gives up what it does not
// need (confinement.h), reads the file from a socket and writes samples to it. A file that breaks
// its decoder breaks one child; the output of a child is checked like the file itself. A helper
// that was killed is started again as a new program: by then this process has threads and secrets.
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

/// How children are confined, and the program that replaces a lost helper.
struct DecodeHelperOptions {
  bool filter = true;                           ///< of system calls, where it is possible
  uint64_t memory_bytes = uint64_t{128} << 20;  ///< of a child, beside the file
  /// Called in a child instead of the decoder, for tests, with the socket. Null: it decodes.
  void (*instead)(int socket) = nullptr;
  /// The program and its arguments that call run_decode_helper() when the helper is gone, e.g.
  /// {"/proc/self/exe", "decode-helper"}; empty: no new helper.
  std::vector<std::string> again = {};
};

/// The main function of such a program. The socket is descriptor kDecodeControl.
[[noreturn]] void run_decode_helper();
inline constexpr int kDecodeControl = 3;
/// The argument that makes `syrinx` a helper; not for users.
inline constexpr const char* kDecodeHelperCommand = "decode-helper";

/// Must outlive all recordings that it decodes. Public methods are safe from any thread.
class DecodeHelper {
 public:
  /// Forks; the process should have one thread, and hold no secrets yet: children start with a copy
  /// of its memory, without the environment. Throws LoadError when it cannot, or no child can be
  /// bounded.
  explicit DecodeHelper(const DecodeHelperOptions& options = {});
  /// The helper ends, and its children with it.
  ~DecodeHelper();
  DecodeHelper(const DecodeHelper&) = delete;
  DecodeHelper& operator=(const DecodeHelper&) = delete;

  /// How children are confined on this machine, for people: "seccomp and resource limits".
  const std::string& confinement() const { return confinement_; }
  /// Whether the filter of system calls is in force.
  bool filtered() const { return filtered_; }
  pid_t pid() const;
  /// Children that were begun to decode.
  int64_t begun() const { return begun_; }

  /// Within limits, of which max_s bounds samples, max_decode_s each read, and both the child's
  /// processor time. Errors that are the file's fault are kInvalid, also when it crashed its
  /// decoder; a child that another process killed is kInternal. A recording whose helper goes is
  /// decoded once more by the next one; then, or where there is no next one, it is kOverloaded.
  std::unique_ptr<Decoding> decode(std::string_view file, const RecordingLimits& limits) const;

 private:
  friend class DecodingApart;
  /// A child of a helper: pid 0: there is no process for it, -1: there is no helper.
  struct Child {
    pid_t pid = -1;
    uint64_t helper = 0;  ///< which one, of those that there were
  };
  /// With its end of a socket. A helper that is gone is started again.
  Child begin_child(int socket, uint64_t memory_bytes, uint32_t cpu_s, bool probe) const;
  /// Ends it if it has not ended by itself; status as of waitpid(), -1: its helper is gone.
  int end_child(const Child& child) const;
  // Under mutex_:
  int64_t ask(const void* request, size_t bytes, int descriptor) const;
  bool start_again() const;
  void stop() const;
  void probe();

  const DecodeHelperOptions options_;
  bool filtered_ = false;
  std::string confinement_;
  mutable std::atomic<int64_t> begun_ = 0;
  mutable std::mutex mutex_;  // of a question and its answer, and of what follows
  mutable pid_t pid_ = -1;
  mutable int control_ = -1;
  mutable uint64_t number_ = 0;  // of this helper, of those that there were
};

}  // namespace syrinx
