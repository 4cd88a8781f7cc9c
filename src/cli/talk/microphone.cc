#include "cli/talk/microphone.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "cli/speak/player.h"
#include "ears/recogniser.h"

namespace syrinx {
namespace {

struct Recorder {
  const char* program;
  const char* command;
};

// Recorder programs. kHearingRate is 16,000 Hz.
constexpr Recorder kRecorders[] = {
    {"arecord", "arecord -q -t raw -f S16_LE -r 16000 -c 1"},
    {"parec", "parec --raw --format=s16le --rate=16000 --channels=1"},
    {"rec", "rec -q -t raw -e signed -b 16 -r 16000 -c 1 -"},
};
constexpr size_t kReadAtOnce = kHearingRate / 10;

}  // namespace

std::optional<std::string> find_recorder() {
  const char* chosen = std::getenv("SYRINX_RECORDER");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const Recorder& recorder : kRecorders) {
    if (in_path(recorder.program)) return recorder.command;
  }
  return std::nullopt;
}

Microphone::Microphone(const std::string& command) {
  pipe_ = popen(command.c_str(), "r");
  if (pipe_ == nullptr) throw LoadError("cannot run '" + command + "'");
}

Microphone::~Microphone() { pclose(pipe_); }

void Microphone::read(std::vector<float>& samples) {
  int16_t block[kReadAtOnce];
  const size_t got = std::fread(block, sizeof(int16_t), kReadAtOnce, pipe_);
  samples.clear();
  for (size_t i = 0; i < got; ++i) samples.push_back(static_cast<float>(block[i]) / 32768.f);
}

}  // namespace syrinx
