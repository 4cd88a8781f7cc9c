#include "cli/speak/player.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {
namespace {

struct Known {
  const char* program;
  const char* command;
};

/// All these players read WAV of unknown length from the standard input. pw-play is omitted because
/// older versions need a seekable file. aplay and ffplay also work with PipeWire.
constexpr Known kPlayers[] = {
    {"aplay", "aplay -q -"},
    {"ffplay", "ffplay -nodisp -autoexit -loglevel error -i -"},
    {"mpv", "mpv --no-video --really-quiet -"},
    {"play", "play -q -t wav -"},
};

}  // namespace

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (access((std::string(rest.substr(0, end)) + "/" + program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::optional<std::string> find_player() {
  const char* chosen = std::getenv("SYRINX_PLAYER");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const Known& player : kPlayers) {
    if (in_path(player.program)) return player.command;
  }
  return std::nullopt;
}

Player::Player(std::string command, int sample_rate_hz) : command_(std::move(command)) {
  pipe_ = popen(command_.c_str(), "w");
  if (pipe_ == nullptr) throw LoadError("cannot run '" + command_ + "'");
  put(wav_header(sample_rate_hz));
}

Player::~Player() {
  if (pipe_ != nullptr) pclose(pipe_);
}

void Player::put(const std::string& bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), pipe_) == bytes.size() && std::fflush(pipe_) == 0)
    return;
  pclose(std::exchange(pipe_, nullptr));
  throw LoadError("'" + command_ +
                  "' ended before the audio did; use -o FILE to write the audio to a file");
}

void Player::write(std::span<const float> samples) {
  std::string bytes;
  append_s16(samples, bytes);
  put(bytes);
}

void Player::finish() {
  const int status = pclose(std::exchange(pipe_, nullptr));
  if (status == 0) return;
  throw LoadError("'" + command_ + "' failed" +
                  (WIFEXITED(status) ? " with code " + std::to_string(WEXITSTATUS(status)) : "") +
                  "; use -o FILE to write the audio to a file");
}

}  // namespace syrinx
