/**
 * Checkpointing: keep a function's inputs instead of its intermediates, and run it again in the
 * backward pass (Griewank & Walther 2000; Chen et al. 2016, arXiv 1604.06174). The tape of the
 * first run is looked at and dropped before anything has run, so it never costs memory. Called by
 * users and by nn.
 */
import "../compose.ts";
import { GradError } from "../base/errors.ts";
import { checkFunction, describeValue } from "../base/options.ts";
import { HANDLE } from "../ownership/handle.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { ignoreRejection } from "../ownership/owned.ts";
import { scoped } from "../ownership/scoped.ts";
import type { Meta, OpDef, Value, VjpContext } from "../ops/op.ts";
import { TensorHandle } from "../tensor/body.ts";
import { generatorState, withGenerator } from "../tensor/generator.ts";
import { restored } from "../tensor/run.ts";
import { GradNode, Gradient, type Saved, tape } from "../tensor/tape.ts";
import { Tensor, live, wrap } from "../tensor/tensor.ts";
import { currentLayer } from "../tensor/step.ts";
import { asTensor, propagate } from "./backward.ts";
import { autocast, enableGrad } from "./mode.ts";

/** What a checkpoint's node remembers besides its inputs, which it saves like any op. */
interface CheckpointAttrs {
  readonly fn: (...inputs: Tensor[]) => Tensor;
  /**
   * The inputs' records, kept by the node's edges. Its further edges are what `fn` reached by
   * itself, parameters for example.
   */
  readonly inputs: readonly (Gradient | null)[];
  readonly random: ReturnType<typeof generatorState>;
  /** Whether autocast was on. */
  readonly casts: boolean;
  readonly node: { current: GradNode | null };
}

/**
 * True while a checkpointed function runs for the second time: running statistics must not be
 * updated again.
 */
export function isRecomputing(): boolean {
  return tape().recomputing;
}

/**
 * A function whose intermediates are recomputed in the backward pass. Never recorded: it only
 * carries the gradient rule.
 */
const checkpointOp: OpDef<CheckpointAttrs> = {
  name: "checkpoint",
  facts: { recomputable: false },
  infer: () => [],
  vjp: ({ grad, attrs }: VjpContext<CheckpointAttrs>): (Value | null)[] => {
    const node = attrs.node.current!;
    if (tape().gradMode.enabled)
      throw new GradError(
        "checkpoint",
        "expected a backward pass that is not recorded itself, got createGraph: true; " +
          "leave the checkpoint out for second derivatives",
      );
    using scope = newDisposeScope("checkpoint, second run");
    tape().recomputing = true;
    let again: Tensor;
    try {
      const inputs = attrs.inputs.map((record, i) =>
        wrap(restored(node.savedInputs[i]!, record, checkpointOp)),
      );
      const run = (): Tensor => autocast(() => attrs.fn(...inputs), { enabled: attrs.casts });
      again = withGenerator(attrs.random, () => enableGrad(run));
    } finally {
      tape().recomputing = false;
    }
    const records = new Set(node.edges.filter((e) => e !== null));
    const found = propagate([again[HANDLE]], [asTensor(grad)[HANDLE]], {}, scope, {
      records,
      boundary: true,
    });
    return node.edges.map((edge) => {
      const g = edge === null ? undefined : found.get(edge);
      return g === undefined ? null : scope.moveToOuter(g.alias());
    });
  },
};

/**
 * `fn(...inputs)`, without keeping what `fn` computes on the way for the backward pass: it runs
 * again there, with the same random numbers. Tensors of any shapes.
 * @param fn synchronous, returns one tensor; it must compute the same when called again
 * @throws GradError when `fn` returns anything but one tensor, ArgumentError for what is no
 *   function
 * @example
 * ```ts
 * using layer = new Linear(4, 4);
 * using out = checkpoint((h) => layer.call(h).relu(), x);
 * console.log(out.shape.join()); // → 8,4
 * ```
 */
export function checkpoint<A extends readonly Tensor[]>(
  fn: (...inputs: A) => Tensor,
  ...inputs: A
): Tensor {
  checkFunction("checkpoint", fn, "pass checkpoint((x) => …, x)");
  return scoped((scope) => {
    const random = generatorState(),
      handles = inputs.map((t) => live(t, "checkpoint"));
    const saved = handles.map((h): Saved => ({
      storage: h.storage,
      layout: h.layout,
      dtype: h.dtype,
      version: h.storage.version,
    }));
    // nodes of fn come after it
    const before = new GradNode(checkpointOp, null, [], [], [], [], [], "").id;
    const result: unknown = fn(...inputs);
    if (!(result instanceof Tensor)) {
      ignoreRejection(result);
      throw new GradError(
        "checkpoint",
        `expected a function that returns one tensor, got ${describeValue(result)}; ` +
          "return the result, and read others from it",
      );
    }
    const record = result[HANDLE].gradient;
    if (record?.node == null || record.node.id <= before)
      return scope.contains(result) ? result : result.alias();

    // What the tape of fn rests on: its inputs and whatever else wants a gradient.
    const known = new Map<Gradient, Meta>(),
      seen = new Set<GradNode>(),
      stack = [record.node];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      node.edges.forEach((edge, i) => {
        if (edge === null) return;
        if (edge.node !== null && edge.node.id > before) stack.push(edge.node);
        else known.set(edge, node.metas[i]!);
      });
    }
    const own = handles.map((h) =>
      h.gradient !== null && known.has(h.gradient) ? h.gradient : null,
    );
    const others = [...known].filter(([edge]) => !own.includes(edge));
    const metas = [
      ...handles.map((h): Meta => ({ shape: h.layout.shape, dtype: h.dtype })),
      ...others.map(([, meta]) => meta),
    ];
    // An input given twice shares one record: only its first edge carries the gradient.
    const edges = [
      ...own.map((edge, i) => (own.indexOf(edge) === i ? edge : null)),
      ...others.map(([edge]) => edge),
    ];
    for (const s of saved) s.storage.retain();
    const attrs: CheckpointAttrs = {
      fn: fn as unknown as CheckpointAttrs["fn"],
      inputs: own,
      random,
      casts: tape().castMode.enabled,
      node: { current: null },
    };
    const node = new GradNode(checkpointOp, attrs, [], metas, edges, saved, [], currentLayer());
    attrs.node.current = node;
    const gradient = new Gradient(node);
    node.output = gradient;
    const { storage, layout, dtype } = result[HANDLE];
    return wrap(new TensorHandle(storage, layout, dtype, gradient));
  }, "checkpoint");
}
