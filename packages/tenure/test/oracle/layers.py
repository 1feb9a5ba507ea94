"""Cases of nn: functional losses, layers with their parameters' gradients, and attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from ops import draw
from writer import T, case, layer


def losses():
    for reduction in ["mean", "sum", "none"]:
        for name, fn in [("mseLoss", F.mse_loss), ("l1Loss", F.l1_loss)]:
            case("F", name, [T(0), T(1), reduction], [draw(3, 4), draw(3, 4)],
                 lambda x, y, f=fn: f(x, y, reduction=reduction), label=reduction)
        options = {"reduction": reduction}
        for delta in [1.0, 0.4]:
            case("F", "huberLoss", [T(0), T(1), {**options, "delta": delta}],
                 [draw(3, 4), draw(3, 4)],
                 lambda x, y, d=delta: F.huber_loss(x, y, reduction=reduction, delta=d),
                 label=f"{reduction} {delta}")
            case("F", "smoothL1Loss", [T(0), T(1), {**options, "beta": delta}],
                 [draw(3, 4), draw(3, 4)],
                 lambda x, y, d=delta: F.smooth_l1_loss(x, y, reduction=reduction, beta=d),
                 label=f"{reduction} {delta}")
        case("F", "smoothL1Loss", [T(0), T(1), {**options, "beta": 0.0}], [draw(3), draw(3)],
             lambda x, y: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.0),
             label=f"{reduction} 0")
        for weighted in [False, True]:
            weight = draw(4, low=0.5, high=2.0)
            extra = {"weight": T(2)} if weighted else {}
            given = [weight] if weighted else []
            label = f"{reduction}{' weighted' if weighted else ''}"
            case("F", "bce", [T(0), T(1), {**options, **extra}],
                 [draw(3, 4, low=0.05, high=0.95), (draw(3, 4) > 0).float()] + given,
                 lambda x, y, *w: F.binary_cross_entropy(
                     x, y.detach(), w[0].detach() if w else None, reduction=reduction),
                 label=label, grad=not weighted)
            pos = {"posWeight": T(2)} if weighted else {}
            case("F", "bceWithLogits", [T(0), T(1), {**options, **pos}],
                 [draw(3, 4, low=-5, high=5), (draw(3, 4) > 0).float()] + given,
                 lambda x, y, *w: F.binary_cross_entropy_with_logits(
                     x, y, reduction=reduction, pos_weight=w[0] if w else None),
                 label=label, grad=not weighted)
            for rows in [(5, 4), (2, 4, 3)]:
                n = (rows[0],) + rows[2:]
                for ignoring in [None, -100, 2]:
                    for smoothing in [0.0, 0.1]:
                        labels = torch.randint(0, 4, n).int()
                        if ignoring == -100 or ignoring is None:
                            labels.view(-1)[1] = -100
                        tensors = [draw(*rows), labels] + given
                        chosen = {} if ignoring is None else {"ignoreIndex": ignoring}
                        how = f"{label} {list(rows)} ignoring {ignoring}"
                        case("F", "crossEntropy",
                             [T(0), T(1), {**options, **extra, **chosen,
                                           "labelSmoothing": smoothing}], tensors,
                             lambda x, y, *w, g=ignoring, s=smoothing: F.cross_entropy(
                                 x, y.long(), w[0] if w else None, reduction=reduction,
                                 ignore_index=-100 if g is None else g, label_smoothing=s),
                             label=f"{how} smoothing {smoothing}", grad=not weighted)
                    tensors[0] = torch.log_softmax(tensors[0], 1)
                    case("F", "nllLoss", [T(0), T(1), {**options, **extra, **chosen}], tensors,
                         lambda x, y, *w, g=ignoring: F.nll_loss(
                             x, y.long(), w[0] if w else None, reduction=reduction,
                             ignore_index=-100 if g is None else g),
                         label=how, grad=not weighted)
        case("F", "crossEntropy", [T(0), T(1), options], [draw(3, 4), torch.softmax(draw(3, 4), 1)],
             lambda x, y: F.cross_entropy(x, y.detach(), reduction=reduction),
             label=f"{reduction} probabilities", grad=False)
        for log in [False, True]:
            q = torch.softmax(draw(3, 4), 1)
            case("F", "klDiv", [T(0), T(1), {**options, "logTarget": log}],
                 [torch.log_softmax(draw(3, 4), 1), q.log() if log else q],
                 lambda x, y, t=log: F.kl_div(x, y, reduction=reduction, log_target=t),
                 label=f"{reduction} {log}")
        for margin in [0.0, 0.3]:
            case("F", "cosineEmbedding", [T(0), T(1), T(2), {**options, "margin": margin}],
                 [draw(4, 5), draw(4, 5), torch.tensor([1, -1, 1, -1], dtype=torch.int32)],
                 lambda a, b, y, m=margin: F.cosine_embedding_loss(
                     a, b, y, margin=m, reduction=reduction),
                 label=f"{reduction} {margin}", tol=(1e-4, 1e-6))
    case("F", "crossEntropy", [T(0), T(1)], [draw(2, 3), torch.tensor([-100, -100]).int()],
         lambda x, y: F.cross_entropy(x, y.long()), label="everything ignored", grad=False)
    case("F", "klDiv", [T(0), T(1), {"reduction": "batchMean"}],
         [torch.log_softmax(draw(3, 4), 1), torch.softmax(draw(3, 4), 1)],
         lambda x, y: F.kl_div(x, y, reduction="batchmean"), label="batchMean")
    case("F", "klDiv", [T(0), T(1)], [torch.tensor([-1.0, -2.0]), torch.tensor([0.0, 1.0])],
         F.kl_div, label="of probability 0", grad=False)
    hard = torch.tensor([[1000.0, 0.0], [-1000.0, 1000.0]])
    case("F", "crossEntropy", [T(0), T(1)], [hard, torch.tensor([1, 1]).int()],
         lambda x, y: F.cross_entropy(x, y.long()), label="large")
    case("F", "bceWithLogits", [T(0), T(1)], [torch.tensor([1000.0, -1000.0, 0.0]),
                                              torch.tensor([0.0, 1.0, 1.0])],
         F.binary_cross_entropy_with_logits, label="large", tol=(1e-5, 1e-5))
    case("F", "bce", [T(0), T(1)], [torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 0.0, 1.0])],
         lambda x, y: F.binary_cross_entropy(x, y.detach()), label="certain", grad=False)


def convolutions():
    conv = [dict(), dict(stride=2), dict(padding=1), dict(stride=2, padding=1),
            dict(dilation=2, padding=2), dict(groups=2), dict(bias=False)]
    for o in conv:
        label = " ".join(f"{k} {v}" for k, v in o.items())
        layer("Conv2d", [4, 6, 3, o], nn.Conv2d(4, 6, 3, **o), [draw(2, 4, 7, 6)], label=label,
              tol=(1e-4, 1e-5))
        layer("Conv1d", [4, 6, 3, o], nn.Conv1d(4, 6, 3, **o), [draw(2, 4, 9)], label=label,
              tol=(1e-4, 1e-5))
        if "bias" not in o:
            for extra in [0, 1]:
                if extra and o.get("stride", 1) == 1 and o.get("dilation", 1) == 1:
                    continue
                p = {**o, **({"outputPadding": 1} if extra else {})}
                q = {**o, **({"output_padding": 1} if extra else {})}
                layer("ConvTranspose2d", [4, 6, 3, p], nn.ConvTranspose2d(4, 6, 3, **q),
                      [draw(2, 4, 4, 5)], label=f"{label} {extra}", tol=(1e-4, 1e-5))
                layer("ConvTranspose1d", [4, 6, 3, p], nn.ConvTranspose1d(4, 6, 3, **q),
                      [draw(2, 4, 5)], label=f"{label} {extra}", tol=(1e-4, 1e-5))
    layer("Conv2d", [3, 2, [1, 3], {"padding": [0, 1]}], nn.Conv2d(3, 2, (1, 3), padding=(0, 1)),
          [draw(1, 3, 4, 5)], label="of one row", tol=(1e-4, 1e-5))
    for features, bias in [((5, 3), True), ((5, 3), False), ((1, 1), True)]:
        for shape in [(4, features[0]), (features[0],), (2, 3, features[0])]:
            layer("Linear", [*features, {"bias": bias}], nn.Linear(*features, bias=bias),
                  [draw(*shape)], label=f"{features} {bias} {list(shape)}", tol=(1e-4, 1e-5))


def pooling():
    for o in [dict(), dict(stride=1), dict(padding=1), dict(stride=2, padding=1),
              dict(ceilMode=True), dict(stride=2, padding=1, ceilMode=True)]:
        q = {("ceil_mode" if k == "ceilMode" else k): v for k, v in o.items()}
        label = " ".join(f"{k} {v}" for k, v in o.items())
        layer("MaxPool2d", [3, o], nn.MaxPool2d(3, **q), [draw(2, 2, 8, 7)], label=label)
        layer("MaxPool1d", [3, o], nn.MaxPool1d(3, **q), [draw(2, 2, 8)], label=label)
        for pad in [True, False]:
            p = {**o, "countIncludePad": pad}
            layer("AvgPool2d", [3, p], nn.AvgPool2d(3, **q, count_include_pad=pad),
                  [draw(2, 2, 8, 7)], label=f"{label} {pad}")
            layer("AvgPool1d", [3, p], nn.AvgPool1d(3, **q, count_include_pad=pad),
                  [draw(2, 2, 8)], label=f"{label} {pad}")
    layer("MaxPool2d", [2], nn.MaxPool2d(2), [torch.ones(1, 1, 4, 4)], label="ties")
    for size in [(3, 2), (1, 1), (4, 6), (5, 7)]:
        layer("AdaptiveAvgPool2d", [list(size)], nn.AdaptiveAvgPool2d(size), [draw(2, 2, 5, 7)],
              label=f"{size}")
        layer("AdaptiveMaxPool2d", [list(size)], nn.AdaptiveMaxPool2d(size), [draw(2, 2, 5, 7)],
              label=f"{size}")
        layer("AdaptiveAvgPool1d", [size[0]], nn.AdaptiveAvgPool1d(size[0]), [draw(2, 2, 7)],
              label=f"{size[0]}")
        layer("AdaptiveMaxPool1d", [size[0]], nn.AdaptiveMaxPool1d(size[0]), [draw(2, 2, 7)],
              label=f"{size[0]}")
    for ours, theirs in [({"scaleFactor": 2}, dict(scale_factor=2.0)), ({"size": [5, 3]}, dict(size=(5, 3))),
                         ({"scaleFactor": 1.5}, dict(scale_factor=1.5))]:
        for mode, align in [("nearest", None), ("bilinear", False), ("bilinear", True)]:
            if align and "scale_factor" in theirs and theirs["scale_factor"] == 1.5:
                continue
            o = {**ours, "mode": mode, **({} if align is None else {"alignCorners": align})}
            layer("Upsample", [o], nn.Upsample(**theirs, mode=mode, align_corners=align),
                  [draw(1, 2, 4, 6)], label=str(o), tol=(1e-4, 1e-5))
    for border in [[1, 2], [2, 0]]:
        for name, ctor in [("ReflectionPad1d", nn.ReflectionPad1d), ("ReplicationPad1d", nn.ReplicationPad1d)]:
            layer(name, [border], ctor(tuple(border)), [draw(2, 3, 5)], label=f"{border}")
        layer("ConstantPad1d", [border, 1.5], nn.ConstantPad1d(tuple(border), 1.5), [draw(2, 3, 5)], label=f"{border}")
    for border in [[1, 2, 1, 0], [0, 1, 2, 2]]:
        for name, ctor in [("ReflectionPad2d", nn.ReflectionPad2d), ("ReplicationPad2d", nn.ReplicationPad2d),
                           ("ZeroPad2d", nn.ZeroPad2d)]:
            layer(name, [border], ctor(tuple(border)), [draw(2, 3, 5, 4)], label=f"{border}")


class Rms(nn.Module):
    """RMSNorm, which came to PyTorch with 2.4, by its definition."""

    def __init__(self, n, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(n) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


def norms():
    def filled(module):
        for p in module.parameters():
            nn.init.uniform_(p, 0.5, 1.5)
        return module

    for training in [True, False]:
        for o in [{}, {"momentum": 0.3}, {"affine": False}, {"eps": 0.01}]:
            how = f"{o} {'training' if training else 'evaluation'}"
            layer("BatchNorm2d", [3, o], filled(nn.BatchNorm2d(3, **o)), [draw(4, 3, 2, 5)], label=how,
                  training=training, tol=(1e-4, 1e-5))
            layer("BatchNorm1d", [3, o], filled(nn.BatchNorm1d(3, **o)), [draw(6, 3)], label=how,
                  training=training, tol=(1e-4, 1e-5))
        for o, q in [({}, {}), ({"affine": True}, {"affine": True}),
                     ({"affine": True, "trackRunningStats": True}, {"affine": True, "track_running_stats": True})]:
            how = f"{o} {'training' if training else 'evaluation'}"
            layer("InstanceNorm2d", [3, o], filled(nn.InstanceNorm2d(3, **q)), [draw(2, 3, 4, 5)],
                  label=how, training=training, tol=(1e-4, 1e-5))
            layer("InstanceNorm1d", [3, o], filled(nn.InstanceNorm1d(3, **q)), [draw(2, 3, 7)],
                  label=how, training=training, tol=(1e-4, 1e-5))
    layer("BatchNorm1d", [3], filled(nn.BatchNorm1d(3)), [draw(4, 3, 5)], label="of rows", tol=(1e-4, 1e-5))
    for shape in [[6], [4, 6]]:
        for o, q in [({}, {}), ({"elementwiseAffine": False}, {"elementwise_affine": False}), ({"eps": 0.1}, {"eps": 0.1})]:
            layer("LayerNorm", [shape, o], filled(nn.LayerNorm(shape, **q)), [draw(3, 4, 6)], label=f"{shape} {o}",
                  tol=(1e-4, 1e-5))
    for groups in [1, 2, 6]:
        layer("GroupNorm", [groups, 6], filled(nn.GroupNorm(groups, 6)), [draw(2, 6, 3, 4)], label=f"{groups}",
              tol=(1e-4, 1e-5))
    for eps in [1e-6, 0.1]:
        layer("RMSNorm", [6, {"eps": eps}], Rms(6, eps), [draw(3, 6)], label=f"{eps}", tol=(1e-4, 1e-5))


def activations():
    corners = torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0, 6.0, 7.0, 0.5])
    for name in ["ReLU", "ReLU6", "Sigmoid", "Tanh", "Softplus", "Softsign", "LogSigmoid", "SiLU", "Mish", "SELU",
                 "Hardswish", "Hardsigmoid", "GELU", "ELU", "LeakyReLU", "Hardtanh", "Identity"]:
        layer(name, [], getattr(nn, name)(), [draw(3, 5, low=-4, high=8)])
        if name not in ("Hardswish", "Hardsigmoid"):
            layer(name, [], getattr(nn, name)(), [corners], label="corners")
    layer("Hardtanh", [-0.5, 2.0], nn.Hardtanh(-0.5, 2.0), [draw(9)], label="-0.5 2")
    for axis in [0, 1, -1]:
        layer("Softmax", [axis], nn.Softmax(axis), [draw(3, 4)], label=f"{axis}")
        layer("LogSoftmax", [axis], nn.LogSoftmax(axis), [draw(3, 4)], label=f"{axis}")
        layer("GLU", [axis], nn.GLU(axis), [draw(4, 6)], label=f"{axis}")
    for count in [1, 3]:
        layer("PReLU", [count], nn.PReLU(count), [draw(2, 3, 4)], label=f"{count}")
    layer("Flatten", [], nn.Flatten(), [draw(2, 3, 4)])
    layer("Embedding", [5, 3], nn.Embedding(5, 3), [torch.tensor([[0, 4], [2, 0]], dtype=torch.int32)])
    layer("Embedding", [5, 3, {"paddingIdx": 2}], nn.Embedding(5, 3, padding_idx=2),
          [torch.tensor([[0, 4], [2, 0]], dtype=torch.int32)], label="padded")


def sequences():
    for o, q in [({}, {}), ({"numLayers": 2}, {"num_layers": 2}), ({"bidirectional": True}, {"bidirectional": True}),
                 ({"batchFirst": True}, {"batch_first": True}), ({"bias": False}, {"bias": False})]:
        for name in ["RNN", "LSTM", "GRU"]:
            layer(name, [3, 4, o], getattr(nn, name)(3, 4, **q), [draw(5, 2, 3)], label=str(o), tol=(1e-4, 1e-5))
    layer("RNN", [3, 4, {"nonlinearity": "relu"}], nn.RNN(3, 4, nonlinearity="relu"), [draw(5, 2, 3)], label="relu",
          tol=(1e-4, 1e-5))
    layer("LSTM", [3, 4, {"projSize": 2}], nn.LSTM(3, 4, proj_size=2), [draw(5, 2, 3)], label="projected",
          tol=(1e-4, 1e-5))
    for o, q in [({}, {}), ({"batchFirst": True}, {"batch_first": True}), ({"bias": False}, {"bias": False}),
                 ({"kdim": 3, "vdim": 5}, {"kdim": 3, "vdim": 5})]:
        inputs = [draw(3, 2, 4), draw(5, 2, q.get("kdim", 4)), draw(5, 2, q.get("vdim", 4))]
        if "batchFirst" in o:
            inputs = [t.transpose(0, 1).contiguous() for t in inputs]
        layer("MultiheadAttention", [4, 2, o], nn.MultiheadAttention(4, 2, **q), inputs, label=str(o),
              extra={"need_weights": False}, pick=lambda r: r[0], tol=(1e-4, 1e-5))
        layer("MultiheadAttention", [4, 2, o], nn.MultiheadAttention(4, 2, **q), inputs, label=f"{o} weights",
              method_args=[T(0), T(1), T(2), {"needWeights": True}], tol=(1e-4, 1e-5))
    for first in [False, True]:
        for activation in ["relu", "gelu"]:
            o = {"dimFeedforward": 6, "dropout": 0, "normFirst": first, "activation": activation}
            q = dict(dim_feedforward=6, dropout=0.0, norm_first=first, activation=activation)
            layer("TransformerEncoderLayer", [4, 2, o], nn.TransformerEncoderLayer(4, 2, **q), [draw(3, 2, 4)],
                  label=f"{first} {activation}", tol=(1e-4, 2e-5))
            layer("TransformerDecoderLayer", [4, 2, o], nn.TransformerDecoderLayer(4, 2, **q),
                  [draw(3, 2, 4), draw(5, 2, 4)], label=f"{first} {activation}", tol=(1e-4, 2e-5))
    for causal in [False, True]:
        def attend(q, k, v, mask=None):
            s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if causal:
                s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
            if mask is not None:
                s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask
            return torch.softmax(s, -1) @ v
        for shape in [(2, 5, 4), (2, 2, 5, 4)]:
            case("F", "scaledDotProductAttention", [T(0), T(1), T(2), {"causal": causal}],
                 [draw(*shape) for _ in range(3)], attend, label=f"{causal} {list(shape)}", tol=(1e-4, 1e-5))
        if not causal:
            for mask in [torch.rand(5, 5) > 0.3, draw(5, 5)]:
                if mask.dtype == torch.bool:
                    mask[:, 0] = True
                case("F", "scaledDotProductAttention", [T(0), T(1), T(2), {"mask": T(3)}],
                     [draw(2, 5, 4) for _ in range(3)] + [mask], attend,
                     label=f"{mask.dtype} mask", grad=False, tol=(1e-4, 1e-5))


def generate():
    losses()
    convolutions()
    pooling()
    norms()
    activations()
    sequences()
