// Piper's voices. A voice is an .onnx file with its .onnx.json in the same directory. espeak-ng
// turns each sentence into phonemes. VITS' encoder and durations turn phonemes into frames, whose
// samples are streamed. Authors: github.com/rhasspy/piper, github.com/OHF-Voice/piper1-gpl.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/piper/phonemes.h"

namespace syrinx::piper {

constexpr const char* kFileEnding = ".onnx";

/// Loads a voice; spec.dir is the path of the .onnx file. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);
/// Reads only speakers, languages and options of a voice, from its .onnx.json. Throws LoadError.
std::shared_ptr<const PipelineInfo> facts(const LoadSpec& spec);
/// For tests: loads a voice whose phonemes come from `say` instead of espeak-ng.
std::shared_ptr<const Pipeline> load_with(const LoadSpec& spec, const SayClauses& say);

}  // namespace syrinx::piper
