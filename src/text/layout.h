// The silence that the layout of a text asks for: behind headings, paragraphs, items of a list and
// paragraphs of speech. Pure functions.
#pragma once

#include <string_view>

namespace syrinx {

/// Seconds behind a sentence, written with its line ends, beyond what a voice leaves behind any; 0 to
/// 0.6. `ends_paragraph` as text/sentences.h says it.
float layout_pause_s(std::string_view sentence, bool ends_paragraph);

}  // namespace syrinx
