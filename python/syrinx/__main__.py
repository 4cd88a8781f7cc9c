"""`python -m syrinx ...`: runs the program of the wheel."""
import os
import sys

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "syrinx")

if __name__ == "__main__":
    if not os.path.exists(_PROGRAM):
        sys.exit("this wheel was built without the program: install syrinx by another way")
    os.execv(_PROGRAM, ["syrinx", *sys.argv[1:]])
