// Converts a template's text to tokens, by Jinja's rules for white space with the settings of
// transformers. trim_blocks removes the line feed after a block. lstrip_blocks removes the blanks
// before a block at the beginning of a line. The line feed at the end of the template is removed.
// Thread-safe free function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrinx::jinja {

/// A token of the template language, or the plain text between two tags.
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
  std::string text = {};  ///< value of a literal, or plain text
  int line = 1;
};

/// A syntax error of a template, with its line.
struct SyntaxFault {
  int line;
  std::string what;
};

/// Returns the tokens. Throws SyntaxFault.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace syrinx::jinja
