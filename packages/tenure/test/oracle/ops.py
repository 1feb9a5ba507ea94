"""Cases of tensor methods and functions: elementwise ops, reductions, shapes, products, indexing,
special values and promotion."""

import math

import torch
import torch.nn.functional as F

from writer import T, case

INF, NAN = math.inf, math.nan
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-20, -1e-20, 88.0, -88.0,
           100.0, -100.0, 1e4, -1e4, 3e38, -3e38]


def draw(*shape, low=-2.0, high=2.0):
    return (torch.rand(shape) * (high - low) + low).float()


def unary():
    any_, pos, unit = (-3, 3), (0.05, 5), (-0.95, 0.95)
    table = [
        ("neg", torch.neg, any_), ("abs", torch.abs, any_), ("sign", torch.sign, any_),
        ("exp", torch.exp, any_), ("expm1", torch.expm1, any_), ("log", torch.log, pos),
        ("log1p", torch.log1p, (-0.9, 4)), ("sqrt", torch.sqrt, pos), ("rsqrt", torch.rsqrt, pos),
        ("square", torch.square, any_), ("reciprocal", torch.reciprocal, pos),
        ("sin", torch.sin, any_), ("cos", torch.cos, any_), ("tan", torch.tan, (-1.2, 1.2)),
        ("asin", torch.asin, unit), ("acos", torch.acos, unit), ("atan", torch.atan, any_),
        ("sinh", torch.sinh, any_), ("cosh", torch.cosh, any_), ("tanh", torch.tanh, any_),
        ("sigmoid", torch.sigmoid, any_), ("softplus", F.softplus, any_), ("relu", F.relu, any_),
        ("floor", torch.floor, any_), ("ceil", torch.ceil, any_), ("round", torch.round, any_),
        ("trunc", torch.trunc, any_), ("erf", torch.erf, any_), ("exp2", torch.exp2, any_),
        ("log2", torch.log2, pos), ("log10", torch.log10, pos),
        ("logSigmoid", F.logsigmoid, any_), ("silu", F.silu, any_), ("mish", F.mish, any_),
        ("selu", F.selu, any_), ("hardSwish", F.hardswish, any_),
        ("hardSigmoid", F.hardsigmoid, any_), ("gelu", F.gelu, any_), ("elu", F.elu, any_),
        ("leakyRelu", F.leaky_relu, any_),
    ]
    for name, fn, (low, high) in table:
        case("method", name, [T(0)], [draw(3, 7, low=low, high=high)], fn)
        case("method", name, [T(0)], [draw(3, 7, low=low, high=high).t()], fn, label="transposed")
        case("method", name, [T(0)], [draw(1, low=low, high=high)[0]], fn, label="0-d")
        case("method", name, [T(0)], [torch.zeros(0, 3)], fn, label="empty")
        case("method", name, [T(0)], [torch.tensor(SPECIAL)], fn, label="special", tol=(2e-5, 1e-6),
             grad=False, as_is=name == "hardSwish")  # x·6 overflows there and here
        case("method", name, [T(0)], [torch.tensor([0.5, -0.5, 0.9, 1e-20, 0.001, 0.25])], fn,
             label="gradient at special", tol=(2e-5, 1e-6))
    far = torch.tensor([10.0, -31.4, 100.0, 355.0, 1234.5, -98765.4, 1e6, 1.5707964, 3.1415927,
                        6.2831855, 52.0, 1e7, -3e7, 1e10, 3e15])
    for name, fn in [("sin", torch.sin), ("cos", torch.cos)]:
        case("method", name, [T(0)], [far], fn, label="far from 0", tol=(1e-4, 2e-6))
    case("method", "tan", [T(0)], [far[far != 1.5707964]], torch.tan, label="far from 0",
         tol=(2e-4, 1e-5))
    near = torch.tensor([1e-6, -1e-5, 3e-4, 0.002, -0.01, 0.04, 1e-10])
    for name in ["sin", "tan", "sinh", "tanh", "expm1", "log1p", "asin", "atan", "erf"]:
        case("method", name, [T(0)], [near], getattr(torch, name), label="near 0", tol=(1e-5, 0))
    big = torch.tensor([88.5, -88.5, 89.0, -89.0, 89.4, -89.4, 100.0, 80.0])
    for name in ["sinh", "cosh", "exp", "expm1", "tanh", "sigmoid", "exp2"]:
        case("method", name, [T(0)], [big], getattr(torch, name), label="large", tol=(5e-5, 1e-37), as_is=True)
    for name, fn in [("isNaN", torch.isnan), ("isFinite", torch.isfinite), ("isInf", torch.isinf),
                     ("logicalNot", torch.logical_not)]:
        case("method", name, [T(0)], [torch.tensor(SPECIAL)], fn)
    ints = torch.tensor([-7, -1, 0, 1, 5, 2147483647], dtype=torch.int32)
    for name, fn in [("neg", torch.neg), ("abs", torch.abs), ("sign", torch.sign),
                     ("square", torch.square), ("logicalNot", torch.logical_not)]:
        case("method", name, [T(0)], [ints], fn, label="int32", as_is=True)
    for approximate in ["none", "tanh"]:
        case("method", "gelu", [T(0), approximate], [draw(9, low=-5, high=5)],
             lambda x, a=approximate: F.gelu(x, approximate=a), label=approximate)
    for alpha in [0.5, 1.5]:
        case("method", "elu", [T(0), alpha], [draw(9)], lambda x, a=alpha: F.elu(x, a),
             label=f"alpha {alpha}")
        case("method", "leakyRelu", [T(0), alpha], [draw(9)],
             lambda x, a=alpha: F.leaky_relu(x, a), label=f"slope {alpha}")
    for low, high in [(-1, 1), (None, 0.5), (0, None), (1.0, -1.0)]:
        x = torch.tensor([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 0.25, INF, -INF])
        case("method", "clamp", [T(0), low, high], [x],
             lambda x, a=low, b=high: torch.clamp(x, a, b), label=f"{low} {high}")
        case("method", "clamp", [T(0), low, high], [torch.tensor([NAN, 1.0])],
             lambda x, a=low, b=high: torch.clamp(x, a, b), label=f"NaN {low} {high}", grad=False)


def binary():
    table = [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
             ("maximum", torch.maximum), ("minimum", torch.minimum), ("pow", torch.pow),
             ("atan2", torch.atan2)]
    whole = [("mod", torch.remainder), ("floorDiv", torch.floor_divide)]
    compare = [("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt), ("le", torch.le),
               ("gt", torch.gt), ("ge", torch.ge)]
    logic = [("logicalAnd", torch.logical_and), ("logicalOr", torch.logical_or),
             ("logicalXor", torch.logical_xor)]
    shapes = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), ()),
              ((0, 3), (1, 3)), ((2, 1, 3), (4, 1)), ((), ())]
    for a, b in shapes:
        for name, fn in table:
            low = 0.2 if name == "pow" else -2.0
            case("method", name, [T(0), T(1)], [draw(*a, low=low), draw(*b, low=0.3)], fn,
                 label=f"{list(a)} {list(b)}", tol=(2e-5, 1e-6))
        for name, fn in whole:
            case("method", name, [T(0), T(1)], [draw(*a) * 3, draw(*b, low=0.3)], fn,
                 label=f"{list(a)} {list(b)}", grad=name == "mod", as_is=name == "mod")
    values = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5])
    a, b = [t.reshape(-1) for t in torch.meshgrid(values, values, indexing="ij")]
    for name, fn in table + compare + logic:
        case("method", name, [T(0), T(1)], [a, b], fn, label="special pairs", grad=False)
    finite = torch.isfinite(a) & torch.isfinite(b) & (b != 0)
    for name, fn in whole:
        case("method", name, [T(0), T(1)], [a[finite], b[finite]], fn, label="signs", grad=False)
        ints = torch.tensor([-7, -6, -1, 0, 1, 6, 7], dtype=torch.int32)
        p, q = [t.reshape(-1) for t in torch.meshgrid(ints, ints[ints != 0], indexing="ij")]
        case("method", name, [T(0), T(1)], [p, q], fn, label="int32")
    tie = torch.tensor([1.0, 2.0, 3.0, -1.0]), torch.tensor([1.0, 1.0, 3.0, 5.0])
    for name, fn in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
        case("method", name, [T(0), T(1)], list(tie), fn, label="ties")
    base = torch.tensor([2.0, 0.5, 3.0, 1.0, 4.0])
    for exponent in [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, 2.5]:
        case("method", "pow", [T(0), exponent], [base],
             lambda x, e=exponent: torch.pow(x, e), label=f"{exponent}")
    for exponent in [0.0, 2.0, 3.0, -1.0, -2.0]:
        case("method", "pow", [T(0), exponent], [torch.tensor([-2.0, -0.5, 3.0])],
             lambda x, e=exponent: torch.pow(x, e), label=f"negative to the {exponent}")
    for number in [2, -1.5, 0]:
        for name, fn in table[:4] + compare:
            if name == "div" and number == 0:
                continue
            case("method", name, [T(0), number], [draw(5)], lambda x, f=fn, v=number: f(x, torch.tensor(v, dtype=x.dtype)),
                 label=f"by {number}")
    promote()
    for weight in [0.3, 1.0, 0.0]:
        case("method", "lerp", [T(0), T(1), weight], [draw(4), draw(4)],
             lambda x, y, w=weight: torch.lerp(x, y, w), label=f"{weight}")
    case("method", "lerp", [T(0), T(1), T(2)], [draw(4), draw(4), draw(4)], torch.lerp,
         label="tensor")
    for value in [1, -0.5]:
        for name in ["addcmul", "addcdiv"]:
            case("method", name, [T(0), T(1), T(2), value],
                 [draw(2, 3), draw(3), draw(2, 1, low=0.5)],
                 lambda x, a, b, n=name, v=value: getattr(torch, n)(x, a, b, value=v),
                 label=f"{value}")
    where = torch.tensor([[True, False, True], [False, False, True]])
    case("function", "where", [T(0), T(1), T(2)], [where, draw(2, 3), draw(3)], torch.where)
    case("method", "maskedFill", [T(0), T(1), -1.5], [draw(2, 3), where],
         lambda x, m: x.masked_fill(m, -1.5))


def promote():
    values = {"float32": torch.tensor([1.5, -2.0, 3.0]),
              "int32": torch.tensor([2, -3, 1], dtype=torch.int32),
              "bool": torch.tensor([True, False, True])}
    table = [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
             ("maximum", torch.maximum), ("minimum", torch.minimum), ("eq", torch.eq),
             ("lt", torch.lt), ("ge", torch.ge), ("logicalAnd", torch.logical_and),
             ("logicalXor", torch.logical_xor)]
    for name, fn in table:
        for p in values:
            for q in values:
                if name == "sub" and "bool" in (p, q):
                    continue  # refused by PyTorch
                divisor = values[q]
                if name == "div" and q == "bool":
                    divisor = torch.tensor([True, True, True])
                case("method", name, [T(0), T(1)], [values[p], divisor], fn,
                     label=f"{p} with {q}", grad=False, as_is=True)
    for name, fn in table[:4]:
        for number in [2, 1.5]:
            case("method", name, [T(0), number], [values["int32"]],
                 lambda x, f=fn, v=number: f(x, v), label=f"int32 with {number}", as_is=True)
    special = torch.tensor([NAN, 0.0, -0.0, 1e-20, INF, -3.7, 2.9])
    case("method", "to", [T(0), "bool"], [special], lambda x: x.bool(), label="float32 to bool",
         grad=False)
    case("method", "to", [T(0), "int32"], [torch.tensor([0.0, -0.9, 2.9, -3.7, 1e9])],
         lambda x: x.int(), label="float32 to int32", grad=False)
    for p in ["int32", "bool"]:
        case("method", "to", [T(0), "float32"], [values[p]], lambda x: x.float(),
             label=f"{p} to float32", as_is=True)
        case("method", "sum", [T(0)], [values[p]], torch.sum, label=p, as_is=True)
    for name, fn in [("mean", torch.mean), ("exp", torch.exp), ("sqrt", torch.sqrt),
                     ("sin", torch.sin), ("sigmoid", torch.sigmoid)]:
        case("method", name, [T(0)], [torch.tensor([1, 2, 3], dtype=torch.int32)],
             lambda x, f=fn: f(x.float()), label="int32", as_is=True)


def reductions():
    def over(fn, everything):
        return lambda x, axes, keep: fn(x, axes, keep) if axes is not None else everything(x)

    amax = over(lambda x, a, k: torch.amax(x, a, k), torch.amax)
    amin = over(lambda x, a, k: torch.amin(x, a, k), torch.amin)
    total = over(lambda x, a, k: torch.sum(x, a, k), torch.sum)
    mean = over(lambda x, a, k: torch.mean(x, a, k), torch.mean)
    lse = over(lambda x, a, k: torch.logsumexp(x, a, k),
               lambda x: torch.logsumexp(x, tuple(range(x.dim()))))
    ways = [((3, 4), None, False), ((3, 4), 0, False), ((3, 4), 1, False), ((3, 4), -1, True),
            ((2, 3, 4), (0, 2), False), ((2, 3, 4), (0, 2), True), ((2, 3, 4), 1, True),
            ((), None, False), ((5,), None, False), ((2, 33), 1, False), ((300,), None, False),
            ((70, 3), 0, False)]
    for shape, axes, keep in ways:
        label = f"{list(shape)} over {axes}{' kept' if keep else ''}"
        args = [T(0)] + ([axes, keep] if axes is not None else [])
        for name, fn in [("sum", total), ("mean", mean), ("max", amax), ("min", amin),
                         ("logSumExp", lse)]:
            case("method", name, args, [draw(*shape)], lambda x, f=fn: f(x, axes, keep),
                 label=label, tol=(2e-5, 2e-6))
        if len(shape) > 0:
            for correction in [1, 0]:
                dims = axes if axes is not None else tuple(range(len(shape)))
                for name in ["var", "std"]:
                    case("method", name,
                         [T(0), list(dims) if isinstance(dims, tuple) else dims, correction, keep],
                         [draw(*shape)],
                         lambda x, n=name, d=dims, c=correction: getattr(torch, n)(
                             x, d, unbiased=c == 1, keepdim=keep),
                         label=f"{label} correction {correction}", tol=(2e-5, 2e-6))
        dims = axes if axes is not None else (tuple(range(len(shape))) or None)
        for p in [2, 1, 3, INF]:
            case("method", "norm", [T(0), p] + ([axes, keep] if axes is not None else []),
                 [draw(*shape)],
                 lambda x, q=p, d=dims: torch.linalg.vector_norm(x, q, d, keep),
                 label=f"{label} p {p}", tol=(2e-5, 2e-6))
        if axes is None or isinstance(axes, int):
            small = draw(*shape, low=0.7, high=1.4)
            case("method", "prod", args, [small],
                 lambda x: torch.prod(x) if axes is None else torch.prod(x, axes, keep),
                 label=label, tol=(1e-4, 1e-6))
            if axes is not None:
                for name, fn in [("argMax", torch.argmax), ("argMin", torch.argmin)]:
                    case("method", name, args, [draw(*shape)],
                         lambda x, f=fn: f(x, axes, keep), label=label)
        for name, fn in [("any", torch.any), ("all", torch.all)]:
            if axes is None or isinstance(axes, int):
                flags = draw(*shape) > 0
                case("method", name, args, [flags],
                     lambda x, f=fn: f(x) if axes is None else f(x, axes, keep), label=label)
    tie = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    for name in ["max", "min"]:
        fn = getattr(torch, "a" + name)
        case("method", name, [T(0)], [tie], fn, label="ties over everything")
        case("method", name, [T(0), 1], [tie], lambda x, f=fn: f(x, 1), label="ties over an axis")
        case("method", name, [T(0)], [torch.tensor([1.0, NAN, 2.0])], fn, label="NaN", grad=False)
        case("method", name, [T(0)], [torch.tensor([-INF, INF, 2.0])], fn, label="infinite")
    case("method", "prod", [T(0)], [torch.tensor([2.0, 0.0, 3.0])], torch.prod, label="one zero")
    case("method", "prod", [T(0)], [torch.tensor([0.0, 0.0, 3.0])], torch.prod, label="two zeros")
    case("method", "norm", [T(0)], [torch.zeros(3)], lambda x: torch.linalg.vector_norm(x),
         label="of zeros")
    for name, fn in [("sum", torch.sum), ("prod", torch.prod), ("mean", torch.mean)]:
        case("method", name, [T(0)], [torch.zeros(0, 3)], fn, label="of nothing", grad=False)
        case("method", name, [T(0), 0], [torch.zeros(0, 3)], lambda x, f=fn: f(x, 0),
             label="of empty columns", grad=False)
    case("method", "any", [T(0)], [torch.zeros(0, dtype=torch.bool)], torch.any, label="of nothing")
    case("method", "all", [T(0)], [torch.zeros(0, dtype=torch.bool)], torch.all, label="of nothing")
    case("method", "logSumExp", [T(0), 1],
         [torch.tensor([[1000.0, 1000.0], [-1000.0, -1001.0], [-INF, 0.0]])],
         lambda x: torch.logsumexp(x, 1), label="large", tol=(1e-4, 1e-6))
    case("method", "logSumExp", [T(0)], [torch.tensor([-INF, -INF])],
         lambda x: torch.logsumexp(x, 0), label="of -infinity", grad=False)
    for shape, axis in [((3, 4), 1), ((3, 4), 0), ((2, 3, 4), 1), ((5,), -1), ((), -1),
                        ((2, 70), 1), ((3, 1), 1)]:
        label = f"{list(shape)} along {axis}"
        for name, fn in [("softmax", torch.softmax), ("logSoftmax", torch.log_softmax),
                         ("cumSum", torch.cumsum), ("cumProd", torch.cumprod)]:
            case("method", name, [T(0), axis], [draw(*shape)], lambda x, f=fn: f(x, axis),
                 label=label, tol=(2e-5, 2e-6))
    for name, fn in [("softmax", torch.softmax), ("logSoftmax", torch.log_softmax)]:
        hard = torch.tensor([[1000.0, 0.0, -1000.0], [-INF, 0.0, 1.0], [3e38, 3e38, 0.0]])
        case("method", name, [T(0), 1], [hard], lambda x, f=fn: f(x, 1), label="large", grad=False)
        lost = torch.tensor([[NAN, 0.0], [-INF, -INF], [INF, 0.0]])
        case("method", name, [T(0), 1], [lost], lambda x, f=fn: f(x, 1), label="lost", grad=False)
    case("method", "cumSum", [T(0), 0], [torch.tensor([1, 2, 3], dtype=torch.int32)],
         lambda x: torch.cumsum(x, 0), label="int32", as_is=True)
    case("method", "cumProd", [T(0), 0], [torch.tensor([2.0, 0.0, 3.0, 4.0])],
         lambda x: torch.cumprod(x, 0), label="zero")


def shapes():
    x = (2, 3, 4)
    plain = [
        ("reshape", [[4, 6]], lambda x: x.reshape(4, 6)),
        ("reshape", [[-1, 2]], lambda x: x.reshape(-1, 2)),
        ("flatten", [], lambda x: x.flatten()), ("flatten", [1], lambda x: x.flatten(1)),
        ("flatten", [0, 1], lambda x: x.flatten(0, 1)),
        ("transpose", [], lambda x: x.transpose(-2, -1)),
        ("transpose", [0, 2], lambda x: x.transpose(0, 2)),
        ("permute", [[2, 0, 1]], lambda x: x.permute(2, 0, 1)),
        ("expand", [[5, 2, 3, 4]], lambda x: x.expand(5, 2, 3, 4)),
        ("unsqueeze", [1], lambda x: x.unsqueeze(1)), ("unsqueeze", [-1], lambda x: x.unsqueeze(-1)),
        ("squeeze", [], lambda x: x.squeeze()),
        ("slice", [1, 1, 3], lambda x: x[:, 1:3]), ("slice", [2, 0, 4, 2], lambda x: x[:, :, ::2]),
        ("slice", [2, -3, -1], lambda x: x[:, :, -3:-1]),
        ("select", [1, 2], lambda x: x.select(1, 2)), ("select", [0, -1], lambda x: x.select(0, -1)),
        ("split", [[1, 3], 2], lambda x: x.split([1, 3], 2)), ("split", [2, 1], lambda x: x.split(2, 1)),
        ("chunk", [3, 2], lambda x: x.chunk(3, 2)), ("unbind", [1], lambda x: x.unbind(1)),
        ("flip", [[0, 2]], lambda x: x.flip(0, 2)), ("flip", [1], lambda x: x.flip(1)),
        ("roll", [1, 2], lambda x: x.roll(1, 2)), ("roll", [5], lambda x: x.roll(5)),
        ("roll", [[1, -2], [0, 1]], lambda x: x.roll((1, -2), (0, 1))),
        ("repeat", [[2, 1, 1, 3]], lambda x: x.repeat(2, 1, 1, 3)),
        ("tile", [[2, 1]], lambda x: x.tile(2, 1)),
        ("repeatInterleave", [2, 1], lambda x: x.repeat_interleave(2, 1)),
        ("repeatInterleave", [3], lambda x: x.repeat_interleave(3)),
        ("tril", [], torch.tril), ("tril", [-1], lambda x: torch.tril(x, -1)),
        ("triu", [1], lambda x: torch.triu(x, 1)), ("triu", [], torch.triu),
    ]
    for name, args, fn in plain:
        case("method", name, [T(0)] + args, [draw(*x)], fn, label=str(args))
    for axis in [0, 1, -1]:
        case("function", "concat", [[T(0), T(1)], axis], [draw(2, 3, 4), draw(2, 3, 4)],
             lambda a, b, d=axis: torch.cat([a, b], d), label=f"{axis}")
        case("function", "stack", [[T(0), T(1)], axis], [draw(2, 3), draw(2, 3)],
             lambda a, b, d=axis: torch.stack([a, b], d), label=f"{axis}")
    case("function", "concat", [[T(0), T(1)], 0], [draw(0, 3), draw(2, 3)],
         lambda a, b: torch.cat([a, b], 0), label="with an empty one")
    for axis in [0, 1, -1]:
        values = torch.randperm(12).reshape(3, 4).float()
        for name, fn in [("sort", torch.sort), ]:
            for down in [False, True]:
                case("method", name, [T(0), axis, down], [values],
                     lambda x, d=axis, r=down: tuple(torch.sort(x, d, r)), label=f"{axis} {down}")
                case("method", "argSort", [T(0), axis, down], [values],
                     lambda x, d=axis, r=down: torch.argsort(x, d, r), label=f"{axis} {down}")
        for largest in [True, False]:
            case("method", "topK", [T(0), 2, axis, largest], [values],
                 lambda x, d=axis, w=largest: tuple(torch.topk(x, 2, d, w)),
                 label=f"{axis} {largest}")
    special = torch.tensor([3.0, NAN, -INF, 1.0, INF, -2.0])
    for down in [False, True]:
        case("method", "sort", [T(0), 0, down], [special],
             lambda x, r=down: tuple(torch.sort(x, dim=0, descending=r, stable=True)), label=f"special {down}", grad=False)
    rows = torch.tensor([2, 0, 0, 1], dtype=torch.int32)
    case("function", "indexSelect", [T(0), 0, T(1)], [draw(3, 4), rows],
         lambda x, i: x.index_select(0, i.long()), label="0")
    case("function", "indexSelect", [T(0), 1, T(1)], [draw(2, 3), rows],
         lambda x, i: x.index_select(1, i.long()), label="1")
    case("function", "embedding", [T(0), T(1)], [rows.reshape(2, 2), draw(3, 5)],
         lambda i, w: F.embedding(i.long(), w))
    grid = torch.tensor([[0, 2, 1], [1, 1, 0]], dtype=torch.int32)
    for axis in [0, 1]:
        at = grid % 2 if axis == 0 else grid
        case("function", "gather", [T(0), axis, T(1)], [draw(2, 3), at],
             lambda x, i, d=axis: x.gather(d, i.long()), label=f"{axis}")
        case("function", "scatterAdd", [T(0), axis, T(1), T(2)], [draw(2, 3), at, draw(2, 3)],
             lambda x, i, s, d=axis: x.scatter_add(d, i.long(), s), label=f"{axis}")
    for border, mode in [((1, 2), "constant"), ((1, 1, 2, 0), "constant"), ((1, 2, 1, 1), "reflect"),
                         ((2, 1, 0, 3), "replicate"), ((-1, 1), "constant")]:
        case("F", "pad", [T(0), list(border), mode, 0.5 if mode == "constant" else 0], [draw(1, 2, 4, 5)],
             lambda x, b=border, m=mode: F.pad(x, b, m, 0.5 if m == "constant" else 0), label=f"{border} {mode}")


def products():
    for a, b in [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)),
                 ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (3, 4, 2)),
                 ((1, 1), (1, 1)), ((3, 0), (0, 2)), ((17, 33), (33, 9)), ((2, 70), (70, 3))]:
        case("method", "matmul", [T(0), T(1)], [draw(*a), draw(*b)], torch.matmul,
             label=f"{list(a)} {list(b)}", tol=(1e-4, 1e-5))
    case("method", "matmul", [T(0), T(1)], [draw(4, 3).t(), draw(5, 4).t()], torch.matmul,
         label="transposed", tol=(1e-4, 1e-5))
    case("method", "bmm", [T(0), T(1)], [draw(2, 3, 4), draw(2, 4, 5)], torch.bmm, tol=(1e-4, 1e-5))
    case("method", "dot", [T(0), T(1)], [draw(6), draw(6)], torch.dot)
    case("method", "outer", [T(0), T(1)], [draw(3), draw(4)], torch.outer)
    for eq, *given in [
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)),
        ("ij->", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
        ("i,j->ij", (2,), (3,)), ("i,i->", (4,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
        ("bij,jk->bik", (2, 3, 4), (4, 2)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ij->", (2, 3), (2, 3)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 2)), ("...i->...", (2, 3)), ("ijk->kji", (2, 3, 4)),
        ("bi,bj->bij", (2, 3), (2, 4)), ("abc,cd->abd", (2, 2, 3), (3, 2)), ("ij,kj->ik", (2, 3), (4, 3)),
        ("i,ij,j->", (2,), (2, 3), (3,)), ("...,i->...i", (2, 3), (4,)), ("ij,jk->ki", (2, 3), (3, 4)),
        ("aij,ajk->ik", (2, 3, 4), (2, 4, 3)),
    ]:
        case("function", "einsum", [eq] + [T(k) for k in range(len(given))],
             [draw(*s) for s in given], lambda *t, e=eq: torch.einsum(e, *t), label=eq,
             tol=(1e-4, 1e-5))


def generate():
    unary()
    binary()
    reductions()
    shapes()
    products()
