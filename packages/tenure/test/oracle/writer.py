"""Collects the cases of the numeric oracle and writes them to one file: a line of JSON, then the
numbers. Used by the generators beside it; nothing of it runs in tests."""

import gzip
import json
import math

import numpy as np
import torch

KINDS = {
    torch.float32: ("float32", "<f4"),
    torch.float64: ("float32", "<f4"),
    torch.int32: ("int32", "<i4"),
    torch.int64: ("int32", "<i4"),
    torch.bool: ("bool", "u1"),
}

cases = []
blob = bytearray()
known = {}


def ref(t):
    """Where a tensor's numbers lie: dtype, shape, offset. Equal numbers are stored once."""
    t = t.detach()
    dtype, code = KINDS[t.dtype]
    with np.errstate(over="ignore"):
        raw = t.contiguous().numpy().astype(code).tobytes()
    if (dtype, raw) not in known:
        while len(blob) % 4:
            blob.append(0)
        known[dtype, raw] = len(blob)
        blob.extend(raw)
    return [dtype, list(t.shape), known[dtype, raw]]


def plain(value):
    """Arguments as JSON: tensors are numbered by `T`, and numbers that JSON has not are named."""
    if isinstance(value, T):
        return {"$": value.k}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


class T:
    """The k-th tensor of a case, where it stands among the arguments."""

    def __init__(self, k):
        self.k = k


def cotangent(t):
    """What the gradient of an output starts from; the test has the same formula."""
    n = t.numel()
    k = torch.arange(n, dtype=torch.float64)
    return (((7 * k) % 5 - 2) / 2 + 0.25).reshape(t.shape).to(t.dtype)


def wide(t, as_is):
    return t.to(torch.float64) if t.dtype == torch.float32 and not as_is else t


def outputs(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in outputs(part)]


def backward(outs, leaves):
    """The gradients of the outputs' weighted sum, or None where nothing is differentiable."""
    total = sum((o * cotangent(o)).sum() for o in outs if o.requires_grad)
    if not isinstance(total, torch.Tensor):
        return [None] * len(leaves)
    return torch.autograd.grad(total, leaves, allow_unused=True)


def case(kind, call, args, tensors, fn, *, label="", grad=True, tol=(1e-5, 1e-6), as_is=False):
    """One case of a method or function: `fn` is PyTorch's, on the tensors in float64."""
    leaves = [wide(t, as_is) for t in tensors]
    leaves = [
        t.clone().requires_grad_() if grad and t.dtype.is_floating_point else t for t in leaves
    ]
    outs = outputs(fn(*leaves))
    wanted = [k for k, t in enumerate(leaves) if t.requires_grad]
    got = backward(outs, [leaves[k] for k in wanted])
    cases.append(
        {
            "name": f"{call} {label}".strip(),
            "kind": kind,
            "call": call,
            "args": plain(list(args)),
            "tensors": [ref(t) for t in tensors],
            "out": [ref(o) for o in outs],
            "grad": [[k, ref(g)] for k, g in zip(wanted, got) if g is not None],
            "tol": list(tol),
        }
    )


def layer(call, ctor, module, inputs, *, label="", training=True, tol=(1e-5, 1e-6), extra=None,
          pick=None, method_args=None):
    """One case of a layer: parameters as PyTorch made them, gradients, and buffers afterwards."""
    module.train(training)
    before = {k: ref(v) for k, v in module.state_dict().items() if v.dtype.is_floating_point}
    module = module.double()
    leaves = [
        t.double().requires_grad_() if t.dtype == torch.float32 else t for t in inputs
    ]
    result = module(*leaves, **(extra or {}))
    outs = outputs(result if pick is None else pick(result))
    params = dict(module.named_parameters())
    names = list(params)
    wanted = [k for k, t in enumerate(leaves) if t.requires_grad]
    got = backward(outs, [leaves[k] for k in wanted] + [params[n] for n in names])
    cases.append(
        {
            "name": f"{call} {label}".strip(),
            "kind": "layer",
            "call": call,
            "args": plain(ctor),
            "tensors": [ref(t) for t in inputs],
            "given": plain(method_args if method_args is not None else [T(k) for k in range(len(inputs))]),
            "training": training,
            "state": before,
            "after": {
                k: ref(v) for k, v in module.state_dict().items()
                if k not in params and v.dtype.is_floating_point
            },
            "out": [ref(o) for o in outs],
            "grad": [[k, ref(g)] for k, g in zip(wanted, got) if g is not None],
            "gradients": {
                n: ref(g) for n, g in zip(names, got[len(wanted):]) if g is not None
            },
            "tol": list(tol),
        }
    )


def write(path):
    head = json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":"))
    data = head.encode() + b"\n" + bytes(blob)
    with open(path, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as out:
            out.write(data)
    return len(cases)
