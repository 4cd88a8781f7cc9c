// `syrinx-say`: a program with only the built-in voice, quick to build.
#include "cli/line/program.h"
#include "cli/speak/say.h"

int main(int argc, char** argv) {
  constexpr syrinx::AddCommand kCommands[] = {syrinx::add_say};
  return syrinx::run_program({kCommands, "./run build makes the whole program."}, argc, argv);
}
