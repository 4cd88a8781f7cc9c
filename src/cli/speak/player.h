// Audio to the loudspeaker, through a program that the system has for it. One thread.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace syrinx {

/// Runs a player as a child and feeds it WAV on its standard input. Every method throws LoadError
/// when the player cannot be run, has ended or fails; its own words are on the standard error. A write
/// to a player that has ended must not end the process: run_program() sees to that.
class Player {
 public:
  /// `command` is for the shell.
  Player(std::string command, int sample_rate_hz);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void write(std::span<const float> samples);
  /// Waits until the last sample was played.
  void finish();

 private:
  void put(const std::string& bytes);
  std::string command_;
  std::FILE* pipe_ = nullptr;
};

/// SYRINX_PLAYER, or the command of the first known player in PATH; nothing when there is none.
std::optional<std::string> find_player();

/// Whether a program of this name can be run.
bool in_path(const std::string& program);

}  // namespace syrinx
