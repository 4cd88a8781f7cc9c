// Puts the voice that the options name into a request: a name of the model or the store, a mix, a
// recording or an embedding in a file. Main thread; throws LoadError.
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
  std::string store;  ///< directory of kept voices; empty: the default
  std::string ref_audio = {}, ref_text = {}, ref_mode = {};  ///< a recording to clone
  bool ref_trim = false;                                     ///< remove silence at both ends
  std::string embedding_file = {};                           ///< a speaker's embedding
  /// Earlier turns, oldest first: speaker, file of its audio ("-": none), words.
  std::vector<std::tuple<int, std::string, std::string>> turns = {};
};

/// Returns the value of a result; throws its error as a LoadError.
template <typename T>
T need(Result<T> result) {
  if (!result) throw LoadError(result.error().message);
  return result.take();
}

/// Opens the store in `directory` or the default directory; null if there is no default.
std::unique_ptr<VoiceStore> open_store(const std::string& directory);

/// Puts the voice of `choice` and request.voice.name into the request, encoding a recording if
/// necessary. Prints notes about it to the standard error. Returns the voice's name for people;
/// empty: the model's default.
std::string choose_voice(Engine& engine, const VoiceChoice& choice, SpeechRequest& request);

/// Waits until a recording is encoded; shows progress on a terminal.
Voice encode_recording(Engine& engine, Recording recording);

/// Adds the option for the directory of kept voices.
void add_store(CLI::App& app, std::string& directory);
/// Adds the options of a voice: a recording, an embedding or earlier turns, and the directory.
void add_voice_choice(CLI::App& app, VoiceChoice& voice);

/// Reads an embedding: a JSON list of numbers, or a safetensors file with one tensor of f32.
std::vector<float> read_embedding_file(const std::string& path);

}  // namespace syrinx
