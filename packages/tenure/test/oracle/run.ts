/**
 * Runs one case of the oracle and says how far from PyTorch's answer it is. Each case has a scope
 * of its own, in which everything it makes ends.
 */
import * as tenure from "tenure";
import { Tensor, noGrad, scopedAsync, tensor } from "tenure";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import { type OracleCase, type Ref, argumentsOf, cotangent, numbersAt, tensorAt } from "./cases.ts";

type Callable = (...args: unknown[]) => unknown;
type Constructor<T> = new (...args: unknown[]) => T;

/** A tensor that was computed, beside what it should be. */
type Pair = readonly [what: string, got: Tensor | null, want: Ref];

/** The tensors of a result, in the order PyTorch returns them. */
function tensorsOf(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  if (Array.isArray(result)) return result.flatMap(tensorsOf);
  return Object.values(result as object).flatMap(tensorsOf);
}

/** How the `k`-th number differs, or null. */
function difference(got: number, want: number, [rel, abs]: readonly [number, number]): boolean {
  if (Number.isNaN(want)) return !Number.isNaN(got);
  if (!Number.isFinite(want)) return got !== want;
  return !(Math.abs(got - want) <= abs + rel * Math.abs(want));
}

async function compare([what, got, want]: Pair, tol: readonly [number, number]): Promise<string[]> {
  const [dtype, shape] = want;
  const numbers = numbersAt(want);
  if (got === null)
    return numbers.every((v) => v === 0) ? [] : [`${what}: no gradient, expected one`];
  if (got.dtype !== dtype) return [`${what}: ${got.dtype}, expected ${dtype}`];
  if (got.shape.join() !== shape.join())
    return [`${what}: shape [${got.shape.join()}], expected [${shape.join()}]`];
  const values = await got.data();
  const wrong = [...values].flatMap((v, k) =>
    difference(v, numbers[k] ?? NaN, tol) ? [`${v} for ${numbers[k]} at ${k}`] : [],
  );
  return wrong.length === 0
    ? []
    : [`${what}: ${wrong.slice(0, 3).join(", ")}${wrong.length > 3 ? ", …" : ""}`];
}

async function compareAll(pairs: readonly Pair[], c: OracleCase): Promise<string[]> {
  return (await Promise.all(pairs.map((pair) => compare(pair, c.tol)))).flat();
}

/** Differentiates the weighted sum of all outputs that can be. */
function backward(outs: readonly Tensor[]): void {
  const parts = outs.filter((t) => t.requiresGrad).map((t) => t.mul(cotangent(t.shape)).sum());
  if (parts.length > 0) parts.reduce((a, b) => a.add(b)).backward();
}

/** The gradients of inputs that PyTorch has. */
const inputGradients = (c: OracleCase, inputs: readonly Tensor[]): Pair[] =>
  c.grad.map(([k, want]) => [`gradient ${k}`, inputs[k]?.grad ?? null, want]);

const outputs = (c: OracleCase, outs: readonly Tensor[]): Pair[] =>
  c.out.map((want, k) => [`output ${k}`, outs[k] ?? null, want]);

function functionCase(c: OracleCase): Promise<string[]> {
  const inputs = c.tensors.map((ref, k) =>
    tensorAt(
      ref,
      c.grad.some(([g]) => g === k),
    ),
  );
  const args = argumentsOf(c.args, inputs) as unknown[];
  let result: unknown;
  if (c.kind === "method") {
    const [self, ...rest] = args as [Tensor, ...unknown[]];
    result = (Reflect.get(self, c.call) as Callable).apply(self, rest);
  } else {
    const home = c.kind === "F" ? nn.functional : tenure;
    result = (Reflect.get(home, c.call) as Callable)(...args);
  }
  const outs = tensorsOf(result);
  if (c.grad.length > 0) backward(outs);
  return compareAll([...outputs(c, outs), ...inputGradients(c, inputs)], c);
}

async function layerCase(c: OracleCase): Promise<string[]> {
  const inputs = c.tensors.map((ref, k) =>
    tensorAt(
      ref,
      c.grad.some(([g]) => g === k),
    ),
  );
  const Layer = Reflect.get(nn, c.call) as Constructor<nn.Module & { call: Callable }>;
  using module = new Layer(...(argumentsOf(c.args, inputs) as unknown[]));
  const state = module.stateDict();
  noGrad(() => {
    for (const [name, ref] of Object.entries(c.state ?? {})) state.get(name)?.copy_(tensorAt(ref));
  });
  if (c.training !== true) module.eval();
  const outs = tensorsOf(module.call(...(argumentsOf(c.given, inputs) as unknown[])));
  backward(outs);
  const parameters = new Map(module.namedParameters());
  const pairs: Pair[] = [...outputs(c, outs), ...inputGradients(c, inputs)];
  for (const [name, want] of Object.entries(c.gradients ?? {}))
    pairs.push([`gradient of ${name}`, parameters.get(name)?.grad ?? null, want]);
  const buffers = module.stateDict();
  for (const [name, want] of Object.entries(c.after ?? {}))
    pairs.push([name, buffers.get(name) ?? null, want]);
  return await compareAll(pairs, c);
}

async function optimizerCase(c: OracleCase): Promise<string[]> {
  const [start, gradients] = c.tensors.map((ref) => tensorAt(ref)) as [Tensor, Tensor];
  const p = tensor(await start.data(), { shape: [...start.shape], requiresGrad: true });
  const Optimizer = Reflect.get(optim, c.call) as Constructor<optim.Optimizer>;
  using optimizer = new Optimizer([p], ...c.args);
  const seen: Tensor[] = [];
  for (const gradient of gradients.unbind(0)) {
    p.grad = gradient.clone();
    optimizer.step();
    seen.push(p.detach().clone());
  }
  return await compareAll(outputs(c, [tenure.stack(seen)]), c);
}

function clipCase(c: OracleCase): Promise<string[]> {
  const half = c.tensors.length / 2;
  const parameters = c.tensors.slice(0, half).map((ref) => tensorAt(ref, true));
  parameters.forEach((p, k) => {
    p.grad = tensorAt(c.tensors[half + k] as Ref);
  });
  (Reflect.get(optim, c.call) as Callable)(parameters, ...c.args);
  return compareAll(
    c.out.map((want, k): Pair => [`gradient ${k}`, parameters[k]?.grad ?? null, want]),
    c,
  );
}

function scheduleCase(c: OracleCase): string[] {
  using p = tensor([0], { requiresGrad: true });
  using optimizer = new optim.SGD([p], { lr: c.lr ?? 0 });
  const Schedule = Reflect.get(optim, c.call) as Constructor<{ step: (metric?: number) => void }>;
  const schedule = new Schedule(optimizer, ...c.args);
  return (c.rates ?? []).flatMap((want, k) => {
    if (k > 0) schedule.step(c.metrics?.[k - 1]);
    const wrong = difference(optimizer.lr, want, c.tol);
    return wrong ? [`rate ${optimizer.lr} for ${want} after ${k} steps`] : [];
  });
}

/** How a case differs from PyTorch: nothing, or a line per tensor. */
export function runCase(c: OracleCase): Promise<string[]> {
  return scopedAsync(async () => {
    try {
      switch (c.kind) {
        case "layer":
          return await layerCase(c);
        case "optimizer":
          return await optimizerCase(c);
        case "schedule":
          return scheduleCase(c);
        case "clip":
          return await clipCase(c);
        default:
          return await functionCase(c);
      }
    } catch (error) {
      return [error instanceof Error ? error.message.split("\n", 1)[0]! : String(error)];
    }
  });
}
