// The silence that the layout of a text requires: after headings, paragraphs, list items and
// paragraphs of direct speech. Pure functions.
#pragma once

#include <string_view>

namespace syrinx {

/// Returns the seconds of silence to add after a sentence, from 0 to 0.6. The sentence includes its
/// line ends. `ends_paragraph` is Sentence::ends_paragraph.
float layout_pause_s(std::string_view sentence, bool ends_paragraph);

}  // namespace syrinx
