// A toy model of two AR nodes, a thinker that feeds a talker, for tests of edges between AR nodes.
// The thinker answers a text byte by byte (its code is the letter that it writes). It sends the
// talker its ids and, for each row of its prompt, the tapped row of its stage. These rows are the
// talker's prompt. Each step of the talker uses one id and the codes of the step before, and speaks
// two frames for each id. A request for text only does not use the talker.
// Also a toy recogniser, for tests of edges from chunk nodes to AR nodes: a chunk node makes two
// rows of each frame of the client's samples; a step of the AR node uses up three rows (at the end
// fewer) and writes a letter.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

std::shared_ptr<const Pipeline> make_duet_pipeline();

inline constexpr int kHearerFrame = 4, kHearerRows = 2, kHearerRowsAStep = 3;

/// Makes the toy recogniser. Each byte of a request's text stands for a frame of samples
/// (hearer_samples); with RequestText::open, more samples follow.
std::shared_ptr<const Pipeline> make_hearer_pipeline();
/// Returns the samples that a text stands for, kHearerFrame for each byte.
std::vector<float> hearer_samples(std::string_view text);

}  // namespace syrinx
