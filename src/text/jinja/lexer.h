// From a template's text to tokens, with Jinja's rules for white space as transformers sets them:
// trim_blocks (the line feed after a block goes), lstrip_blocks (so do the blanks before one at the
// beginning of a line), no line feed at the end of the whole. Free function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrinx::jinja {

/// A word of the language, or text between its tags.
struct Token {
  enum Kind {
    kData,
    kPrint,
    kPrintEnd,
    kBlock,
    kBlockEnd,
    kName,
    kText,
    kInt,
    kFloat,
    kSign,
    kEnd
  };
  Kind kind = kEnd;
  std::string text = {};  ///< of a kText its value
  int line = 1;
};

/// A fault of a template's text, thrown while it is read.
struct SyntaxFault {
  int line;
  std::string what;
};

/// Throws SyntaxFault.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace syrinx::jinja
