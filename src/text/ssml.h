// Reads SSML 1.1: converts a document to plain text, and to the pronunciation and delivery of its
// parts. Pure functions, safe for any bytes: document types and thus entity definitions are
// refused, and depth, elements and values are limited.
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
  std::string text;             ///< contains pauses as tags: <break time="500ms"/> (model/pauses.h)
  std::vector<Saying> sayings;  ///< in the order of their positions, without overlap
  std::vector<Delivery> deliveries;  ///< in the order of their positions
  std::vector<TextMark> marks;       ///< in the order of their positions
  std::vector<std::string> ignored;  ///< messages for users, each only once
};

/// Whether a text, which may be incomplete, is an SSML document.
enum class SsmlStart {
  kNo,
  kYes,
  kUnfinished,  ///< the text is too short to decide
};

/// Returns whether a text begins with <speak, possibly after white space, an XML declaration,
/// comments and a document type. A document type "speak" is enough; read_ssml() refuses it.
SsmlStart ssml_start(std::string_view text);
/// Returns whether a text begins as an SSML document: ssml_start() returns kYes.
bool is_ssml(std::string_view text);

/// Reads a document. `english`: whether its language is English, so that numbers become words. An
/// Error names the line.
Result<Ssml> read_ssml(std::string_view document, bool english);

}  // namespace syrinx
