// What the command line's options say of the voice, made into a request: names of the model and of
// the store, mixes, recordings and embeddings in files. Main thread; throws LoadError.
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

/// A voice of one's own, instead of one of the model's.
struct VoiceChoice {
  std::string store;  ///< directory of kept voices; empty: where they lie by default
  std::string ref_audio = {}, ref_text = {}, ref_mode = {};  ///< a recording to clone
  bool ref_trim = false;                                     ///< of its silence at both ends
  std::string embedding_file = {};                           ///< of a speaker
  /// What was said before, oldest first: speaker, file with its sound ("-": none), words.
  std::vector<std::tuple<int, std::string, std::string>> turns = {};
};

/// What a result holds; its error is thrown as a LoadError.
template <typename T>
T need(Result<T> result) {
  if (!result) throw LoadError(result.error().message);
  return result.take();
}

/// The store in `directory`, or where it lies by default; null when there is no such place.
std::unique_ptr<VoiceStore> open_store(const std::string& directory);

/// Puts what `choice` and request.voice.name ask for into the request, encoding a recording if need
/// be, and says on the standard error what people should know of it. Returns the voice's name for
/// people; empty: the model's default.
std::string choose_voice(Engine& engine, const VoiceChoice& choice, SpeechRequest& request);

/// Waits for a recording to be encoded; shows that on a terminal.
Voice encode_recording(Engine& engine, Recording recording);

/// Arguments: the directory of kept voices; and it with a recording, a vector or earlier turns.
void add_store(CLI::App& app, std::string& directory);
/// Adds the options of a voice: a recording, a vector or earlier turns, and the directory.
void add_voice_choice(CLI::App& app, VoiceChoice& voice);

/// A JSON list of numbers, or a safetensors file with one tensor of f32.
std::vector<float> read_embedding_file(const std::string& path);

}  // namespace syrinx
