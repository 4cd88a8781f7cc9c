// Removes marks of HTML and Markdown from folded text; for text/english only.
#pragma once

#include <vector>

#include "text/english/fold.h"

namespace syrinx::english {

/// Removes tags, targets of links, back-ticks, marks of bold text and footnote numbers; turns bars
/// of tables into pauses.
std::vector<FoldedChar> strip_markup(const std::vector<FoldedChar>& text);

}  // namespace syrinx::english
