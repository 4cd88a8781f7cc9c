#!/usr/bin/env python3
"""Writes ct2/ and ct2_int8/ beside this file: small/ after CTranslate2's own converter, in f16 and in 8 bits.

ctranslate2 4.8, transformers 5.23, torch 2.15.
"""
import pathlib
import shutil
import tempfile

from ctranslate2.converters import TransformersConverter

HERE = pathlib.Path(__file__).parent
for name, numbers in {"ct2": "float16", "ct2_int8": "int8"}.items():
    with tempfile.TemporaryDirectory() as made:
        TransformersConverter(str(HERE / "small")).convert(made, quantization=numbers, force=True)
        (HERE / name).mkdir(exist_ok=True)
        for file in ("model.bin", "config.json"):
            shutil.copy(pathlib.Path(made) / file, HERE / name / file)
