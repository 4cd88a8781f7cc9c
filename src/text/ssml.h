// SSML 1.1, the half of it that changes what is heard: documents as a plain text and how parts of
// it are to be said. Pure functions; any bytes are safe: no document types and so no entities of
// one's own, and bounds on depth, elements and what a value may hold.
//
// speak, p, s, break, say-as, sub, phoneme, prosody (rate, pitch), emphasis, mark. What is inside
// of other elements is spoken, and `ignored` names them, as it names attributes and values that are
// not heeded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/saying.h"

namespace syrinx {

struct Ssml {
  std::string text;  ///< pauses are in it as tags: <break time="500ms"/> (model/pauses.h)
  std::vector<Saying> sayings;       ///< in order, apart
  std::vector<Delivery> deliveries;  ///< in order
  std::vector<TextMark> marks;       ///< in order
  std::vector<std::string> ignored;  ///< for people, each once
};

/// Whether a text that may not be complete is an SSML document.
enum class SsmlStart {
  kNo,
  kYes,
  kUnfinished,  ///< the text may become either
};

/// Whether a text begins with <speak, perhaps behind white space, an XML declaration, comments and
/// a document type. A document type "speak" is enough; read_ssml() refuses it.
SsmlStart ssml_start(std::string_view text);
/// Whether a text is meant as SSML.
bool is_ssml(std::string_view text);

/// `english`: the text is, so numbers can be said as words. An Error names the line.
Result<Ssml> read_ssml(std::string_view document, bool english);

}  // namespace syrinx
