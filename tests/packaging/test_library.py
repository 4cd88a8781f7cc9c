"""Tests libsyrinx for C programs: the header's example is built against the installed library, with pkg-config and with
CMake, and runs. The library exports no other symbols. Skipped (77) if tools are missing. Standard library only.
"""
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from installed_library import ROOT, install, run  # noqa: E402

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(hello LANGUAGES C)
find_package(syrinx 0.1 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello syrinx::syrinx)
"""


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.dir = place.name
        cls.prefix = os.path.join(cls.dir, "prefix")
        install(cls.prefix)
        with open(os.path.join(cls.prefix, "include", "syrinx.h"), encoding="utf-8") as file:
            cls.header = file.read()
        lines = [line[7:] for line in cls.header.splitlines()
                 if line.startswith("//     ") or line == "//"]
        lines = lines[lines.index("#include <stdio.h>"):]
        end = next(i for i, line in enumerate(lines) if line.startswith("cc hello.c"))
        cls.source = os.path.join(cls.dir, "hello.c")
        with open(cls.source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines[:end]) + "\n")

    def environment(self):
        library = os.path.join(self.prefix, "lib")
        return dict(os.environ, LD_LIBRARY_PATH=library,
                    PKG_CONFIG_PATH=os.path.join(library, "pkgconfig"))

    def check_program(self, program):
        """The program speaks two texts of some seconds into hello.f32, and prints the words of both."""
        out = run(program, cwd=self.dir, env=self.environment())
        self.assertRegex(out, r"word of bytes 0 to 5 at 0\.\d\d s")
        self.assertRegex(out, r"word of bytes 5 to 9 at ")
        self.assertIn("24000 samples a second", out)
        size = os.path.getsize(os.path.join(self.dir, "hello.f32"))
        self.assertGreater(size, 4 * 2 * 8000)
        return size

    def test_the_headers_example(self):
        flags = run("pkg-config", "--cflags", "--libs", "syrinx", env=self.environment()).split()
        program = os.path.join(self.dir, "hello")
        run("cc", "-std=c99", *STRICT, self.source, "-o", program, *flags)
        size = self.check_program(program)
        self.assertEqual(self.check_program(program), size)  # the same, because the seed is the same

    def test_from_cmake(self):
        with open(os.path.join(self.dir, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT)
        build = os.path.join(self.dir, "build")
        run("cmake", "-S", self.dir, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.check_program(os.path.join(build, "hello"))

    def test_the_header_is_cpp_too(self):
        source = os.path.join(self.dir, "header.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <syrinx.h>\n")
        run("c++", "-std=c++11", *STRICT, "-fsyntax-only", f"-I{self.prefix}/include", source)

    def test_only_the_headers_functions_are_seen(self):
        names = run("nm", "-D", "--defined-only", os.path.join(self.prefix, "lib/libsyrinx.so.0"))
        seen = {line.split()[-1] for line in names.splitlines() if " A " not in line}
        declared = set(re.findall(r"^SYRINX_API [^(]*?(\w+)\(", self.header, re.MULTILINE))
        self.assertGreater(len(declared), 20)
        self.assertEqual(seen, {name + "@@SYRINX_0.1" for name in declared})
        with open(os.path.join(ROOT, "docs/guide/c.md"), encoding="utf-8") as file:
            page = file.read()
        for name in declared:
            self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    for tool in ["cmake", "cc", "c++", "pkg-config", "nm"]:
        if not shutil.which(tool):
            print("skipped: there is no " + tool)
            sys.exit(77)
    unittest.main()
