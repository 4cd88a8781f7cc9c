#!/usr/bin/env python3
"""Tests tools/cuda_table without nvcc: names, loops and waits of a listing, and the definition of worse."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("cuda_table", str(ROOT / "tools/cuda_table"))
table = importlib.util.module_from_spec(importlib.util.spec_from_loader("cuda_table", loader))
loader.exec_module(table)


def line(text, stall=1, sets=7, waits=0):
    """Returns an instruction as nvdisasm prints it, with these control bits."""
    bits = (stall | sets << 5 | waits << 11) << 41
    return f"        /*0000*/  {text} ;  /* 0x0000000000000000 */\n                  /* 0x{bits:016x} */\n"


def kernel(*lines):
    return ".text.k:\n" + "".join(lines)


LOADS_APART = kernel(".L_x_1:\n", line("LDG.E.128 R4, [R2]", sets=0), line("HMMA.16816.F32 R8, R4, R6, R8", waits=1),
                     line("LDG.E.128 R4, [R2+0x10]", sets=0), line("HMMA.16816.F32 R8, R4, R6, R8", waits=1),
                     line("@P0 BRA `(.L_x_1)"))
LOADS_TOGETHER = kernel(".L_x_1:\n", line("LDG.E.128 R4, [R2]", sets=0), line("LDG.E.128 R12, [R2+0x10]", sets=0),
                        line("HMMA.16816.F32 R8, R4, R6, R8", waits=1), line("HMMA.16816.F32 R8, R12, R6, R8"),
                        line("@P0 BRA `(.L_x_1)"))


class CudaTable(unittest.TestCase):
    def loop(self, listing):
        (_, code), = table.instructions(listing)
        return table.hot_loop(code)

    def test_counts_waits_for_loads(self):
        self.assertEqual(self.loop(LOADS_APART), [2, 2, 2, 0])
        self.assertEqual(self.loop(LOADS_TOGETHER), [2, 1, 2, 0])

    def test_prefers_the_loop_of_products(self):
        tail = "".join([".L_x_2:\n"] + [line("LDG.E R4, [R2]")] * 5 + [line("BRA `(.L_x_2)")])
        self.assertEqual(self.loop(LOADS_TOGETHER + tail), [2, 1, 2, 0])
        self.assertEqual(self.loop(kernel(tail))[0], 5)

    def test_names_kernels(self):
        self.assertEqual(table.kernel_name("_ZN6syrinx4cuda6skinnyILi1ELi2ELb0ELb1EEEvNS0_10SkinnyCallE"),
                         "skinny<1, 2, false, true>")
        unnamed = "_ZN6syrinx4cuda41_GLOBAL__N__5cbb8d92_9_sample_cu_e953bb2311sample_rowsENS0_10SampleCallE"
        self.assertEqual(table.kernel_name(unnamed), "sample_rows")

    def test_worse(self):
        golden = {"k": [64, 0, 0, 100, 8, 1, 4, 0]}
        self.assertEqual(list(table.worse(golden, {"k": [60, 0, 0, 100, 8, 1, 4, 0]}, True)), [])
        for at, value in [(0, 65), (1, 8), (2, 4), (3, 101), (4, 7), (5, 2), (6, 3), (7, 1)]:
            now = list(golden["k"])
            now[at] = value
            self.assertEqual(len(list(table.worse(golden, {"k": now}, True))), 1, table.COLUMNS[at])
            self.assertEqual(len(list(table.worse(golden, {"k": now}, False))), at in (1, 2), table.COLUMNS[at])
        no_loops = golden["k"][:4] + [None] * 4
        self.assertEqual(list(table.worse(golden, {"k": no_loops}, True)), [])
        self.assertEqual(len(list(table.worse(golden, {"other": no_loops}, True))), 2)

    def test_reads_what_it_writes(self):
        rows = {"k<1, 2>": [64, 0, 0, 100, None, None, None, None], "l": [1, 2, 3, 4, 5, 6, 7, 8]}
        text = "# nvcc 13.0, sm_90a\n" + "".join(
            f"{name}: " + " ".join("-" if n is None else str(n) for n in numbers) + "\n" for name, numbers in rows.items())
        self.assertEqual(table.read(text), rows)


if __name__ == "__main__":
    unittest.main()
