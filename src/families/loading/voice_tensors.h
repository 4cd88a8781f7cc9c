// The tensors of voices: how they are stored, and checks of untrusted ones. Free functions; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/voice.h"

namespace syrinx {

/// Makes tensors of a voice from values.
Tensor tensor_of(std::span<const int32_t> values);
Tensor tensor_of(std::span<const float> values);

/// Reads a tensor of at most `most` ids below `bound`. Returns an Error for other tensors.
Result<std::vector<int32_t>> voice_ids(const Voice& voice, const std::string& name, int64_t most,
                                       int64_t bound);
/// Reads a tensor of `count` finite floats. Returns an Error for other tensors.
Result<std::vector<float>> voice_floats(const Voice& voice, const std::string& name, int64_t count);

/// Returns whether all numbers are finite.
bool all_finite(std::span<const float> numbers);
/// Returns a tensor of a voice's file as f32. Throws LoadError for tensor `name` of the file `path`
/// unless it has floats, all of them finite.
Tensor stored_floats(const View& stored, const std::string& path, const std::string& name = "");

/// Makes a voice of a client's speaker embedding, stored as f32 [width] with this name. Returns an
/// Error for another size, or for numbers that are not finite.
Result<Voice> embedding_voice(const std::string& family, const std::string& mode,
                              const std::string& name, std::span<const float> embedding,
                              int64_t width);

}  // namespace syrinx
