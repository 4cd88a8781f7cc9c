# Writes a C++ file with a function that returns the bytes of a file, so that the program is one file:
#   cmake -DFILE=data.gz -DOUTPUT=x.cc -DHEADER=a/b.h -DNAMESPACE=a::b -DFUNCTION=name -P embed_bytes.cmake
# HEADER declares std::string_view FUNCTION().
cmake_minimum_required(VERSION 3.22...3.25)
file(READ ${FILE} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
file(WRITE ${OUTPUT} "// Made by cmake/embed_bytes.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

std::string_view ${FUNCTION}() { return {\"${text}\", ${bytes}}; }

}  // namespace ${NAMESPACE}
")
