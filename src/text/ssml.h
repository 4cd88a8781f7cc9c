// Reads SSML 1.1: converts a document to plain text, and to the pronunciation and delivery of its
// parts. Pure functions, safe for any bytes: no document types and so no entity definitions, and
// bounds on depth, elements and values.
//
// Supported: speak, p, s, break, say-as, sub, phoneme, prosody (rate, pitch), emphasis, mark. Text
// inside other elements is spoken. `ignored` names these elements, and attributes and values that
// have no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/saying.h"

namespace syrinx {

struct Ssml {
  std::string text;             ///< pauses are tags in it: <break time="500ms"/> (model/pauses.h)
  std::vector<Saying> sayings;  ///< in order, without overlap
  std::vector<Delivery> deliveries;  ///< in order
  std::vector<TextMark> marks;       ///< in order
  std::vector<std::string> ignored;  ///< messages for people, each once
};

/// Whether a text, which may be incomplete, is an SSML document.
enum class SsmlStart {
  kNo,
  kYes,
  kUnfinished,  ///< more text decides
};

/// Returns whether a text begins with <speak, possibly after white space, an XML declaration,
/// comments and a document type. A document type "speak" is enough; read_ssml() refuses it.
SsmlStart ssml_start(std::string_view text);
/// Returns whether a text is meant to be SSML.
bool is_ssml(std::string_view text);

/// Reads a document. `english`: its language, so that numbers become words. An Error names the
/// line.
Result<Ssml> read_ssml(std::string_view document, bool english);

}  // namespace syrinx
