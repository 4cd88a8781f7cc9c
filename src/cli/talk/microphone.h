// Records from the microphone through a recorder program of the system. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace syrinx {

/// Runs a recorder as a child, which writes mono 16-bit samples at kHearingRate to its standard
/// output. Throws LoadError if it cannot be run. The destructor ends the child, and drops samples
/// that were not read.
class Microphone {
 public:
  /// `command` is a shell command. It runs in its own process group.
  explicit Microphone(const std::string& command);
  ~Microphone();
  Microphone(const Microphone&) = delete;
  Microphone& operator=(const Microphone&) = delete;

  /// Writes the next samples to `samples`, in [-1, 1]: 20 ms, or fewer at the end of the recording.
  /// Waits for them for at most 100 ms; `samples` may be empty. Returns false when the recorder has
  /// ended. Throws LoadError when it has failed.
  bool read(std::vector<float>& samples);

 private:
  void check_end();
  const std::string command_;
  pid_t recorder_ = -1;
  int pipe_ = -1;
  std::string bytes_;  // bytes read that are less than 20 ms of samples
};

/// Returns SYRINX_RECORDER, or the command of the first known recorder in PATH; nothing without a
/// recorder.
std::optional<std::string> find_recorder();

}  // namespace syrinx
