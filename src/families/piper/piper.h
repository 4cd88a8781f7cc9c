// Piper's voices: one of Piper's published files each, an .onnx with its .onnx.json beside it. Text
// to phonemes by espeak-ng, sentence by sentence; frames by VITS' encoder and durations; samples as
// a stream. Authors: github.com/rhasspy/piper, github.com/OHF-Voice/piper1-gpl.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/piper/phonemes.h"

namespace syrinx::piper {

constexpr const char* kFileEnding = ".onnx";

/// spec.dir is the .onnx. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);
/// Speakers, languages and options of a voice, from its .onnx.json alone. Throws LoadError.
std::shared_ptr<const PipelineInfo> facts(const LoadSpec& spec);
/// The same with phonemes of another source, for tests.
std::shared_ptr<const Pipeline> load_with(const LoadSpec& spec, const SayClauses& say);

}  // namespace syrinx::piper
