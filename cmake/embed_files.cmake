# Writes a C++ file that contains other files, so that the program is one file:
#   cmake -DROOT=dir -DFILES=a;b -DOUTPUT=x.cc -P embed_files.cmake
# FILES are relative to ROOT; the program uses these names.
cmake_minimum_required(VERSION 3.22...3.25)
set(rows "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
  string(APPEND rows "    {\"${file}\", {\"${text}\", ${bytes}}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/embed_files.cmake.
#include \"server/http/playground.h\"

namespace syrinx {
namespace {

constexpr WebFile kFiles[] = {
${rows}};

}  // namespace

std::span<const WebFile> web_files() { return kFiles; }

}  // namespace syrinx
")
