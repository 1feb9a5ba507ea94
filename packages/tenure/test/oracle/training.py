"""Cases of optim: twenty steps of every optimizer, clipping, and learning rate schedules."""

import math

import torch
from torch import optim
from torch.optim import lr_scheduler as S

from ops import draw
from writer import T, cases, plain, ref


class Lion(optim.Optimizer):
    """Lion, which PyTorch has not, by its paper (Chen et al. 2023)."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


SNAKE = {"weightDecay": "weight_decay", "lrDecay": "lr_decay",
         "initialAccumulator": "initial_accumulator_value"}


def optimizers():
    table = [
        ("SGD", optim.SGD, [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1, "weightDecay": 0.1},
                            {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
                            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
                            {"lr": 0.1, "maximize": True}]),
        ("Adam", optim.Adam, [{}, {"lr": 0.05}, {"lr": 0.05, "betas": [0.8, 0.9]}, {"lr": 0.05, "eps": 0.01},
                              {"lr": 0.05, "weightDecay": 0.1}, {"lr": 0.05, "amsgrad": True},
                              {"lr": 0.05, "maximize": True}]),
        ("AdamW", optim.AdamW, [{}, {"lr": 0.05}, {"lr": 0.05, "weightDecay": 0.2}, {"lr": 0.05, "amsgrad": True}]),
        ("RMSprop", optim.RMSprop, [{}, {"lr": 0.02, "alpha": 0.9}, {"lr": 0.02, "momentum": 0.9},
                                    {"lr": 0.02, "centered": True}, {"lr": 0.02, "weightDecay": 0.1},
                                    {"lr": 0.02, "centered": True, "momentum": 0.5}]),
        ("Adagrad", optim.Adagrad, [{}, {"lr": 0.1, "lrDecay": 0.1}, {"lr": 0.1, "weightDecay": 0.1},
                                    {"lr": 0.1, "initialAccumulator": 0.5}, {"lr": 0.1, "eps": 0.1}]),
        ("Lion", Lion, [{}, {"lr": 0.01}, {"lr": 0.01, "weightDecay": 0.1}, {"lr": 0.01, "betas": [0.5, 0.8]}]),
    ]
    for name, ctor, ways in table:
        for o in ways:
            for shape in [(5,), (2, 3)]:
                start, grads = draw(*shape), draw(20, *shape)
                p = start.double().requires_grad_()
                q = {SNAKE.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in o.items()}
                optimizer = ctor([p], **q)
                seen = []
                for g in grads:
                    p.grad = g.double()
                    optimizer.step()
                    seen.append(p.detach().clone())
                cases.append({"name": f"{name} {o} {list(shape)}", "kind": "optimizer", "call": name,
                              "args": [plain(o)], "tensors": [ref(start), ref(grads)],
                              "out": [ref(torch.stack(seen))], "grad": [], "tol": [1e-4, 1e-5]})


def schedule(name, options, make, steps=20, metrics=None, lr=0.1):
    optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    s = make(optimizer)
    rates = [optimizer.param_groups[0]["lr"]]
    for k in range(steps):
        optimizer.step()
        s.step(metrics[k]) if metrics is not None else s.step()
        rates.append(optimizer.param_groups[0]["lr"])
    cases.append({"name": f"{name} {options}", "kind": "schedule", "call": name, "args": [plain(options)],
                  "tensors": [], "lr": lr, "metrics": metrics, "rates": rates, "out": [], "grad": [],
                  "tol": [1e-6, 1e-9]})


def schedules():
    for size in [1, 3, 7]:
        for gamma in [0.1, 0.5]:
            schedule("StepLR", {"stepSize": size, "gamma": gamma}, lambda o: S.StepLR(o, size, gamma))
    for marks in [[2, 5], [0, 3], [4, 4, 9]]:
        schedule("MultiStepLR", {"milestones": marks, "gamma": 0.3}, lambda o: S.MultiStepLR(o, marks, 0.3))
    for gamma in [0.9, 0.5, 1.1]:
        schedule("ExponentialLR", {"gamma": gamma}, lambda o: S.ExponentialLR(o, gamma))
    for t_max, low in [(10, 0), (7, 0.01), (25, 0)]:
        schedule("CosineAnnealingLR", {"tMax": t_max, "etaMin": low},
                 lambda o: S.CosineAnnealingLR(o, t_max, low))
    for start, end, total in [(1 / 3, 1.0, 5), (0.5, 0.8, 10), (1.0, 0.1, 30)]:
        schedule("LinearLR", {"startFactor": start, "endFactor": end, "totalIters": total},
                 lambda o: S.LinearLR(o, start, end, total))
    for o in [{"maxLr": 1.0, "totalSteps": 21}, {"maxLr": 1.0, "totalSteps": 30, "pctStart": 0.5},
              {"maxLr": 1.0, "totalSteps": 21, "annealStrategy": "linear"},
              {"maxLr": 1.0, "totalSteps": 24, "threePhase": True},
              {"maxLr": 0.5, "totalSteps": 25, "divFactor": 10, "finalDivFactor": 100}]:
        names = {"maxLr": "max_lr", "totalSteps": "total_steps", "pctStart": "pct_start",
                 "annealStrategy": "anneal_strategy", "threePhase": "three_phase", "divFactor": "div_factor",
                 "finalDivFactor": "final_div_factor"}
        schedule("OneCycleLR", {**o, "cycleMomentum": False},
                 lambda p: S.OneCycleLR(p, cycle_momentum=False, **{names[k]: v for k, v in o.items()}))
    metrics = [1.0, 0.9, 0.95, 0.93, 0.92, 0.91, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
    for o in [{}, {"patience": 2}, {"patience": 1, "factor": 0.5, "cooldown": 2}, {"mode": "max", "patience": 2},
              {"patience": 1, "minLr": 0.02, "factor": 0.5}, {"patience": 0, "threshold": 0.2}]:
        schedule("ReduceLROnPlateau", o, lambda p: S.ReduceLROnPlateau(
            p, **{("min_lr" if k == "minLr" else k): v for k, v in o.items()}), metrics=metrics)


def clipping():
    for name, value in [("clipGradNorm", 1.0), ("clipGradNorm", 100.0), ("clipGradNorm", 0.1),
                        ("clipGradValue", 0.5), ("clipGradValue", 10.0)]:
        starts, grads = [draw(3), draw(2, 2)], [draw(3), draw(2, 2)]
        ps = [t.double().requires_grad_() for t in starts]
        for p, g in zip(ps, grads):
            p.grad = g.double()
        clip = torch.nn.utils.clip_grad_norm_ if name == "clipGradNorm" else torch.nn.utils.clip_grad_value_
        clip(ps, value)
        cases.append({"name": f"{name} {value}", "kind": "clip", "call": name, "args": [value],
                      "tensors": [ref(t) for t in starts + grads], "out": [ref(p.grad) for p in ps], "grad": [],
                      "tol": [1e-5, 1e-6]})


def generate():
    optimizers()
    schedules()
    clipping()
