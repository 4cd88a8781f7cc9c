// Plays audio through a player program of the system. One thread.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace syrinx {

/// Runs a player as a child and writes WAV to its standard input. Every method throws LoadError
/// when the player cannot be run, has ended or fails. The player writes messages to the standard
/// error. Needs run_program() (cli/line/program.h), so that SIGPIPE does not end this process.
class Player {
 public:
  /// `command` is a shell command.
  Player(std::string command, int sample_rate_hz);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void write(std::span<const float> samples);
  /// Waits until the last sample has been played.
  void finish();

 private:
  void put(const std::string& bytes);
  std::string command_;
  std::FILE* pipe_ = nullptr;
};

/// Returns SYRINX_PLAYER, or the command of the first known player in PATH; nothing without a
/// player.
std::optional<std::string> find_player();

/// Returns whether a program of this name is in PATH.
bool in_path(const std::string& program);

}  // namespace syrinx
