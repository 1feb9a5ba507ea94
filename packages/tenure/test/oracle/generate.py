"""Writes cases.bin.gz: what PyTorch answers to some 1,500 calls, for oracle.test.ts to compare.

    python3 packages/tenure/test/oracle/generate.py     (Debian: apt install python3-torch)

References are computed in float64 from float32 inputs and rounded, except where the arithmetic of
a dtype is what is asked."""

import os
import sys

import numpy as np
import torch

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import layers  # noqa: E402
import ops  # noqa: E402
import training  # noqa: E402
import writer  # noqa: E402

torch.manual_seed(1)
torch.set_num_threads(1)
np.seterr(all="ignore")
ops.generate()
layers.generate()
training.generate()
here = os.path.dirname(os.path.abspath(__file__))
print(writer.write(os.path.join(here, "cases.bin.gz")), "cases")
