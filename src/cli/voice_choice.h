// What the command line's options say of the voice, made into a request: names of the model and of
// the store, mixes, recordings and embeddings in files. Main thread; throws LoadError.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "voices/voices.h"

namespace syrinx {

/// What a result holds; its error is thrown as a LoadError.
template <typename T>
T need(Result<T> result) {
  if (!result) throw LoadError(result.error().message);
  return result.take();
}

/// The store in `directory`, or where it lies by default; null when there is no such place.
std::unique_ptr<VoiceStore> open_store(const std::string& directory);

/// Puts what `choice` and request.voice ask for into the request, encoding a recording if need be,
/// and says on the standard error what people should know of it. Returns the voice's name for
/// people; empty: the model's default.
std::string choose_voice(Engine& engine, const VoiceChoice& choice, SpeechRequest& request);

/// Waits for a recording to be encoded; shows that on a terminal.
Voice encode_recording(Engine& engine, Recording recording);

/// A JSON list of numbers, or a safetensors file with one tensor of f32.
std::vector<float> read_embedding_file(const std::string& path);

}  // namespace syrinx
