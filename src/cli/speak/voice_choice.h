// Puts the voice that the options name into a request: a name of the model or the store, a mix, a
// recording, or a file with an embedding. Main thread; throws LoadError.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/runtime.h"
#include "voices/voices.h"

namespace CLI {
class App;
}

namespace syrinx {

/// A voice of the user, instead of a voice of the model.
struct VoiceChoice {
  std::string store;  ///< directory of stored voices; empty means the default
  std::string ref_audio = {}, ref_text = {}, ref_mode = {};  ///< recording, its words, clone mode
  bool ref_trim = false;                                     ///< remove silence at both ends
  std::string embedding_file = {};                           ///< a speaker's embedding
  /// Earlier turns, oldest first: speaker, file of its audio ("-" without audio), words.
  std::vector<std::tuple<int, std::string, std::string>> turns = {};
};

/// Returns the value of a result; throws its error as a LoadError.
template <typename T>
T need(Result<T> result) {
  if (!result) throw LoadError(result.error().message);
  return result.take();
}

/// Opens the store in `directory` or the default directory; null without a default directory.
std::unique_ptr<VoiceStore> open_store(const std::string& directory);

/// Puts the voice of `choice` and request.voice.name into the request. Encodes a recording if
/// necessary. Prints notes to the standard error. Returns the voice's name for messages; an empty
/// string means the model's default.
std::string choose_voice(Engine& engine, const VoiceChoice& choice, SpeechRequest& request);

/// Sets the speed to the nearest that the model supports. Returns the factor for TimeStretch that
/// remains; 1 without libsonic: the engine then refuses the speed.
double share_speed(const PipelineInfo& info, SpeechRequest& request);

/// Waits until a recording is encoded; shows progress on a terminal.
Voice encode_recording(const Engine& engine, Recording recording);

/// Adds the option for the directory of stored voices.
void add_store(CLI::App& app, std::string& directory);
/// Adds the options of a voice: a recording, an embedding or earlier turns, and the store.
void add_voice_choice(CLI::App& app, VoiceChoice& voice);

/// Reads an embedding: a JSON list of numbers, or a safetensors file with one tensor of f32.
std::vector<float> read_embedding_file(const std::string& path);

}  // namespace syrinx
