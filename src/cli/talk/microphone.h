// Records from the microphone through a recorder program of the system. One thread.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace syrinx {

/// Runs a recorder as a child, which writes mono 16-bit samples at kHearingRate to its standard
/// output. Throws LoadError if it cannot be run. The destructor drops samples that were not read.
class Microphone {
 public:
  /// `command` is a shell command.
  explicit Microphone(const std::string& command);
  ~Microphone();
  Microphone(const Microphone&) = delete;
  Microphone& operator=(const Microphone&) = delete;

  /// Waits for the next 100 ms and writes the samples to `samples`, in [-1, 1]. Returns fewer or no
  /// samples when the recorder has ended.
  void read(std::vector<float>& samples);

 private:
  std::FILE* pipe_ = nullptr;
};

/// Returns SYRINX_RECORDER, or the command of the first known recorder in PATH; nothing without a
/// recorder.
std::optional<std::string> find_recorder();

}  // namespace syrinx
