// Audio from the microphone, through a program that the system has for it. One thread.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace syrinx {

/// Runs a recorder as a child, which writes mono samples of 16 bits at kHearingRate to its standard
/// output. Throws LoadError when it cannot be run. What was not read when this ends is dropped.
class Microphone {
 public:
  /// `command` is for the shell.
  explicit Microphone(const std::string& command);
  ~Microphone();
  Microphone(const Microphone&) = delete;
  Microphone& operator=(const Microphone&) = delete;

  /// Waits for the next 100 ms and puts them in `samples`, in [-1, 1]; fewer, or none, when the
  /// recorder has ended.
  void read(std::vector<float>& samples);

 private:
  std::FILE* pipe_ = nullptr;
};

/// SYRINX_RECORDER, or the command of the first known recorder in PATH; nothing when there is none.
std::optional<std::string> find_recorder();

}  // namespace syrinx
