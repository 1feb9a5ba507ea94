/**
 * The backward pass: nodes reachable from the root, newest first, each handing gradients to the
 * records of its inputs. What a node saved is freed as soon as it was used. All temporaries live in
 * scopes of their own: whatever throws, nothing leaks and no leaf is half updated. Called by
 * `Tensor.backward` and `grad`.
 */
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, GradError, ShapeError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { formatShape, sameShape, sizeOf } from "../base/shape.ts";
import { HANDLE } from "../ownership/handle.ts";
import { phase } from "../ownership/log.ts";
import type { DisposeScope } from "../ownership/scope.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { cast, copy } from "../ops/casting.ts";
import { fill } from "../ops/creation.ts";
import type { AnyOp, Meta, Run, RunAll, Value, VjpContext } from "../ops/op.ts";
import { sum } from "../ops/reduce.ts";
import { reshape } from "../ops/views.ts";
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import { labels as currentLabels } from "../tensor/dispatch.ts";
import { TensorHandle } from "../tensor/body.ts";
import { only } from "../tensor/call.ts";
import { restored, runOp } from "../tensor/run.ts";
import { labelled } from "../tensor/step.ts";
import { type GradNode, type Gradient, tape } from "../tensor/tape.ts";
import { type BackwardOptions, Tensor, call, live, wrap } from "../tensor/tensor.ts";

const handlesOf = (op: AnyOp, inputs: readonly Value[]): TensorHandle[] =>
  inputs.map((value) => live(asTensor(value), op.name));

const runAll: RunAll = (op, inputs, attrs, scalars) =>
  runOp(op, handlesOf(op, inputs), attrs, scalars).map(wrap);

const run: Run = (op, inputs, attrs, scalars) =>
  wrap(only(runOp(op, handlesOf(op, inputs), attrs, scalars)));

/**
 * Gradient rules see tensors as opaque values, hooks are the user's; here they are tensors again.
 */
export function asTensor(value: unknown): Tensor {
  if (!(value instanceof Tensor))
    throw new ArgumentError(
      "backward",
      "tensors from gradient rules and hooks",
      describeValue(value),
      "return a tensor",
    );
  return value;
}

/**
 * Runs ops of a recorded pass. One without a gradient would end the graph there, so the op whose
 * gradient needs it says so.
 */
function recordedRun({ op: { name } }: GradNode): Run {
  return (op, inputs, attrs, scalars) => {
    try {
      return run(op, inputs, attrs, scalars);
    } catch (error) {
      if (!(error instanceof GradError) || op.vjp !== undefined || error.op !== op.name)
        throw error;
      throw new GradError(
        name,
        "expected to be differentiated no further, got createGraph: true, " +
          `and its gradient (${op.name}) has none of its own; ` +
          `leave ${name} out of what is differentiated again`,
        { cause: error },
      );
    }
  };
}

/** Gradients under way, by the record they belong to. */
type Pending = Map<Gradient, Tensor>;

/**
 * @throws GradError when the root has no graph, the graph was freed, or a saved value was
 *   overwritten
 */
export function backward(
  root: TensorHandle,
  gradient: TensorHandle | null,
  options: BackwardOptions,
): void {
  phase("backward", () => {
    using scope = newDisposeScope("backward");
    const leaves = propagate([root], gradient === null ? undefined : [gradient], options, scope);
    labelled("calcGradient", null, () => {
      for (const [leaf, g] of leaves) accumulate(leaf, g);
    });
  });
}

interface PropagateOptions extends BackwardOptions {
  /** Record the pass itself, for second derivatives. */
  readonly createGraph?: boolean;
}

/** Records a pass should deliver besides leaves. */
export interface Wanted {
  readonly records: ReadonlySet<Gradient>;
  /** The pass ends at these records: what made them is left alone. */
  readonly boundary: boolean;
}

/**
 * Gradients of `roots` with respect to every leaf and to the records in `wanted`. Tensors in the
 * result belong to `scope`. Without `seeds` each root must have one element.
 */
export function propagate(
  roots: readonly TensorHandle[],
  seeds: readonly TensorHandle[] | undefined,
  options: PropagateOptions,
  scope: DisposeScope,
  wanted?: Wanted,
): Pending {
  const { retainGraph = options.createGraph === true, createGraph = false } = options;
  const pending: Pending = new Map(),
    results: Pending = new Map();
  const labels = currentLabels();
  const phase = labels.phase,
    layer = labels.layer,
    { gradMode, castMode, watcher } = tape(),
    mode = gradMode.enabled,
    casts = castMode.enabled;
  gradMode.enabled = createGraph;
  castMode.enabled = false; // gradients have the dtypes of what was recorded
  try {
    labels.phase = "calcDerivative";
    roots.forEach((root, i) => {
      addTo(pending, rootRecord(root), seed(root, seeds?.[i]), scope);
    });
    const nodes = reachable(
      [...pending.keys()],
      wanted?.boundary === true ? wanted.records : undefined,
    );
    for (const node of nodes) {
      watcher?.visits(node);
      if (node.consumed)
        throw new GradError(
          "backward",
          `expected a graph that was not used yet, got one whose ${node.op.name} was freed ` +
            "by an earlier backward; pass { retainGraph: true } to the first one",
        );
    }
    for (const [record, g] of pending)
      if (record.node === null || wanted?.records.has(record) === true) results.set(record, g);
    for (const node of nodes) {
      const record = node.output!;
      if (record.hooks !== null) applyHooks(record, pending, results, scope);
      const g = pending.get(record);
      if (g === undefined) continue;
      labels.layer = node.layer;
      labels.phase = node.edges.some((e) => e?.node != null) ? "calcDerivative" : "calcGradient";
      visit(node, g, pending, results, wanted, createGraph, scope);
      pending.delete(record);
      if (!results.has(record)) g.dispose();
      if (!retainGraph) {
        node.releaseSaved();
        node.consumed = true;
      }
    }
    for (const record of results.keys())
      if (record.node === null && record.hooks !== null)
        applyHooks(record, results, pending, scope);
    return results;
  } finally {
    labels.phase = phase;
    labels.layer = layer;
    gradMode.enabled = mode;
    castMode.enabled = casts;
  }
}

function rootRecord(root: TensorHandle): Gradient {
  const record = root.gradient;
  if (record === null)
    throw new GradError(
      "backward",
      "expected a tensor computed from one with requiresGrad, " +
        `got ${root.describe()}${root.isLive ? "" : " (disposed)"}; ` +
        "set requiresGrad on your parameters, and don't compute the loss inside noGrad",
    );
  return record;
}

function seed(root: TensorHandle, given: TensorHandle | undefined): Tensor {
  if (given === undefined) {
    if (root.layout.size !== 1)
      throw new GradError(
        "backward",
        `expected a loss with one element, got ${formatShape(root.layout.shape)}; ` +
          "reduce it with sum() or mean(), or pass a gradient of that shape",
      );
    return asTensor(run(fill, [], { shape: root.layout.shape, dtype: root.dtype }, [f32Bits(1)]));
  }
  if (given.dtype !== root.dtype)
    throw new DTypeError(
      "backward",
      `a ${root.dtype} gradient`,
      given.dtype,
      "convert it with to()",
    );
  if (!sameShape(given.layout.shape, root.layout.shape))
    throw new ShapeError(
      "backward",
      `a gradient of shape ${formatShape(root.layout.shape)}`,
      formatShape(given.layout.shape),
      "reshape it",
    );
  given.assertLive("backward");
  return wrap(given.alias());
}

/** Lets hooks see, and replace, a gradient that is complete. */
function applyHooks(record: Gradient, from: Pending, also: Pending, scope: DisposeScope): void {
  for (const hook of record.hooks ?? []) {
    const before = from.get(record);
    if (before === undefined) return;
    using temporaries = newDisposeScope("gradient hook");
    const answer: unknown = hook(before.alias());
    if (answer === undefined) continue;
    const replaced = asTensor(answer);
    if (!sameShape(replaced.shape, before.shape))
      throw new ShapeError(
        "registerHook",
        `a gradient of shape ${formatShape(before.shape)}`,
        formatShape(replaced.shape),
        "return the same shape, or nothing",
      );
    const owned = temporaries.moveTo(
      scope,
      temporaries.contains(replaced) ? replaced : replaced.alias(),
    );
    from.set(record, owned);
    if (also.get(record) === before) also.set(record, owned);
    before.dispose();
  }
}

/** Nodes reachable from the records, newest first: every node comes before those it depends on. */
function reachable(records: readonly Gradient[], boundary?: ReadonlySet<Gradient>): GradNode[] {
  const seen = new Set<GradNode>(),
    stack: GradNode[] = [];
  const push = (record: Gradient | null): void => {
    if (record?.node != null && !seen.has(record.node) && boundary?.has(record) !== true) {
      seen.add(record.node);
      stack.push(record.node);
    }
  };
  records.forEach(push);
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) node.edges.forEach(push);
  return [...seen].sort((a, b) => b.id - a.id);
}

/** Runs one gradient rule and distributes its results. */
function visit(
  node: GradNode,
  g: Tensor,
  pending: Pending,
  results: Pending,
  wanted: Wanted | undefined,
  createGraph: boolean,
  scope: DisposeScope,
): void {
  using temporaries = newDisposeScope(`backward of ${node.op.name}`);
  const context: VjpContext<unknown> = {
    grad: g,
    metas: node.metas,
    attrs: node.attrs,
    scalars: node.scalars,
    recorded: createGraph,
    run: createGraph ? recordedRun(node) : run,
    runAll,
    input: (i) =>
      wrap(restored(node.savedInputs[i]!, createGraph ? (node.edges[i] ?? null) : null, node.op)),
    output: (k = 0) =>
      wrap(
        restored(at(node.savedOutputs, k), createGraph && k === 0 ? node.output : null, node.op),
      ),
    needs: (i) => node.edges[i] != null,
  };
  const gradients = node.op.vjp!(context);
  node.edges.forEach((record, i) => {
    const value = gradients[i] ?? null;
    if (record === null || value === null) return;
    const fitted = fit(asTensor(value), node.metas[i]!, node.op.name, i);
    const asked = wanted?.records.has(record) === true;
    const take = (t: Tensor): Tensor =>
      temporaries.moveTo(scope, temporaries.contains(t) ? t : t.alias());
    if (record.node !== null && !(asked && wanted.boundary))
      addTo(pending, record, take(asked ? fitted.alias() : fitted), scope);
    if (record.node === null || asked) addTo(results, record, take(fitted), scope);
  });
}

/**
 * The gradient of input `i` with exactly its shape and dtype: broadcast dimensions are summed.
 * @throws GradError when its rule made one of another size
 */
function fit(value: Value, meta: Meta, op: string, i: number): Tensor {
  let g = value;
  if (!sameShape(g.shape, meta.shape)) {
    const pad = g.shape.length - meta.shape.length;
    const axes = g.shape
      .map((_, i) => i)
      .filter((i) => i < pad || (meta.shape[i - pad] === 1 && g.shape[i] !== 1));
    g = run(sum, [g], { axes, keepDims: true });
    if (sizeOf(g.shape) !== sizeOf(meta.shape))
      throw new GradError(
        op,
        `expected a gradient of shape ${formatShape(meta.shape)} for input ${i}, ` +
          `got one of ${formatShape(value.shape)}; let vjp return it in the input's shape`,
      );
    if (!sameShape(g.shape, meta.shape)) g = run(reshape, [g], { shape: meta.shape });
  }
  if (g.dtype !== meta.dtype && isFloat(meta.dtype)) g = run(cast, [g], { dtype: meta.dtype });
  return asTensor(g);
}

/** Adds to what a record has got so far. Takes over `g`, which belongs to `scope`. */
function addTo(map: Pending, record: Gradient, g: Tensor, scope: DisposeScope): void {
  const before = map.get(record);
  if (before === undefined) {
    map.set(record, g);
    return;
  }
  const total = scope.enter(() => before.add(g));
  before.dispose();
  g.dispose();
  map.set(record, total);
}

/**
 * Adds `g` to a leaf's gradient. The leaf keeps its own reference; a gradient that shares bytes
 * with anything else is copied first.
 */
function accumulate(leaf: Gradient, g: Tensor): void {
  const before = leaf.grad;
  let result = g;
  if (before !== null) {
    // whatever the user did to it
    const old = wrap(new TensorHandle(before.storage, before.layout, before.dtype, null));
    result = old.add(g);
  } else if (
    g[HANDLE].storage.refs > 1 ||
    !g[HANDLE].layout.contiguous ||
    g[HANDLE].storage.role !== "activation"
  ) {
    result = call(copy, [g], undefined);
  }
  const { storage, layout, dtype } = result[HANDLE];
  storage.role = "grad";
  leaf.setGrad({ storage: storage.retain(), layout, dtype, version: storage.version });
}
