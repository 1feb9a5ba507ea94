/**
 * Running an op on handles: shapes are checked, outputs get virtual storages, the op is recorded
 * through dispatch.ts, and a node is put on the tape. Called by call.ts. If anything is wrong
 * it throws before anything was made. The handles it returns belong to the caller, unregistered.
 */
import type { Bytes } from "../base/bytes.ts";
import { type DType, dtypeBytes, isFloat } from "../base/dtype.ts";
import { GradError, ShapeError } from "../base/errors.ts";
import { type Layout, contiguousLayout, sameView } from "../base/layout.ts";
import { formatShape } from "../base/shape.ts";
import { cast, copy } from "../ops/casting.ts";
import type { AnyOp, Meta } from "../ops/op.ts";
import { TensorHandle } from "./body.ts";
import {
  type Operand,
  type Storage,
  allocate,
  allocateLike,
  beforeOp,
  labels,
  opRecorded,
  record,
  recordUpload,
  redirectReads,
} from "./dispatch.ts";
import { tensorState } from "./tensor-state.ts";
import { GradNode, Gradient, type Saved, tape } from "./tape.ts";

const noScalars: readonly number[] = [];
const noSaved: readonly Saved[] = [];

function coversStorage({ layout, dtype, storage }: Operand): boolean {
  return (
    layout.contiguous &&
    layout.offset === 0 &&
    Math.ceil((layout.size * dtypeBytes(dtype)) / 4) * 4 === storage.bytes
  );
}

/** Runs an op on live handles. One result per output. */
export function runOp(
  op: AnyOp,
  inputs: readonly TensorHandle[],
  attrs: unknown,
  scalars: readonly number[] = noScalars,
): TensorHandle[] {
  const { castMode, watcher } = tape();
  if (watcher !== null) for (const input of inputs) watcher.uses(input);
  const dtype = castMode.enabled ? castMode.precisionOf(op) : undefined;
  if (dtype === undefined) return runAs(op, inputs, attrs, scalars);
  const temporaries: TensorHandle[] = [];
  try {
    const converted = inputs.map((x) => {
      if (!isFloat(x.dtype) || x.dtype === dtype) return x;
      const [as] = runAs(cast, [x], { dtype }, noScalars);
      temporaries.push(as!);
      return as!;
    });
    return runAs(
      op,
      converted,
      attrs !== null &&
        typeof attrs === "object" &&
        "dtype" in attrs &&
        attrs.dtype !== dtype &&
        isFloat(attrs.dtype as DType)
        ? { ...attrs, dtype }
        : attrs,
      scalars,
    );
  } finally {
    for (const t of temporaries) t.discard();
  }
}

/** Runs an op on inputs of the dtypes they have. */
function runAs(
  op: AnyOp,
  inputs: readonly TensorHandle[],
  attrs: unknown,
  scalars: readonly number[],
): TensorHandle[] {
  for (let i = 0; i < inputs.length; i++) {
    inputs[i]!.assertLive(op.name);
    const trouble = inputs[i]!.storage.trouble();
    if (trouble === null) continue;
    if (i !== 0 || op.facts.overwrites !== true || !coversStorage(inputs[0]!)) throw trouble;
    inputs[0]!.storage.failure = null; // overwritten whole: what was lost does not matter any more
  }
  const metas = op.infer(inputs, attrs);
  const inplaceOf = op.facts.inplaceOf;
  if (inplaceOf !== undefined) checkInplace(op, inputs, inplaceOf);
  const wantsGrad =
    tape().gradMode.enabled && isFloat(metas[0]!.dtype) && wantsGradient(op, inputs);
  if (wantsGrad && op.vjp === undefined)
    throw new GradError(
      op.name,
      "expected inputs without gradients, got one with requiresGrad, " +
        `and ${op.name} has no gradient; detach() it, or use noGrad(() => …)`,
    );
  beforeOp(op.name, inputs);
  return op.view !== undefined
    ? [runView(op, inputs[0]!, metas[0]!, attrs, wantsGrad)]
    : runKernel(op, inputs, metas, attrs, scalars, wantsGrad);
}

function runKernel(
  op: AnyOp,
  inputs: readonly TensorHandle[],
  metas: readonly Meta[],
  attrs: unknown,
  scalars: readonly number[],
  wantsGrad: boolean,
): TensorHandle[] {
  const inplaceOf = op.facts.inplaceOf;
  const fresh: (Storage | null)[] = metas.map((meta, k) =>
    (inplaceOf?.[k] ?? -1) === -1 ? allocate(op.name, meta, "activation") : null,
  );
  if (inplaceOf !== undefined)
    for (const i of inplaceOf)
      if (i !== -1) redirectReads(inputs[i]!.storage, () => duplicate(inputs[i]!.storage));
  const operands = prepared(op, inputs);
  // before an in-place write moves the version on
  const saved = wantsGrad ? saveInputs(op, inputs) : null;
  const outputs = metas.map((meta, k): TensorHandle => {
    const storage = fresh[k] ?? null;
    if (storage !== null)
      return new TensorHandle(storage, contiguousLayout(meta.shape), meta.dtype, null);
    const target = inputs[inplaceOf![k]!]!;
    return new TensorHandle(target.storage, target.layout, target.dtype, target.gradient);
  });
  record(op, operands.list, outputs, attrs, scalars);
  for (const temporary of operands.temporaries) temporary.release();
  for (const out of outputs) out.version = out.storage.version;
  if (inplaceOf !== undefined)
    for (let k = 0; k < outputs.length; k++)
      if (inplaceOf[k] !== -1) inputs[inplaceOf[k]!]!.version = outputs[k]!.version;
  if (saved !== null) {
    const gradient = tapeNode(
      op,
      inputs,
      attrs,
      scalars,
      saved,
      op.saves?.output === true ? outputs.map(save) : noSaved,
    );
    outputs[0]!.setGradient(gradient);
    const target = inplaceOf?.[0] ?? -1;
    if (target !== -1) inputs[target]!.storage.tapedVersion = inputs[target]!.storage.version;
    // the tensor is now the op's result, under this handle too
    if (target !== -1) inputs[target]!.setGradient(gradient);
  }
  tensorState().observer?.(op, inputs, outputs);
  opRecorded();
  return outputs;
}

function runView(
  op: AnyOp,
  input: TensorHandle,
  meta: Meta,
  attrs: unknown,
  wantsGrad: boolean,
): TensorHandle {
  let layout: Layout | undefined = op.view!(input.layout, attrs),
    storage = input.storage;
  let temporary: Storage | null = null;
  if (layout === undefined) {
    const whole = contiguous(input);
    storage = temporary = whole.storage;
    layout = op.view!(whole.layout, attrs)!;
  }
  const output = new TensorHandle(storage, layout, meta.dtype, null);
  temporary?.release();
  if (wantsGrad) output.setGradient(tapeNode(op, [input], attrs, noScalars, [null], noSaved));
  return output;
}

/** A contiguous copy of a view, recorded but not taped. The caller releases the one reference. */
function contiguous(input: Operand): Operand {
  const layout = contiguousLayout(input.layout.shape);
  const storage = allocate(
    "copy",
    { shape: layout.shape, dtype: input.dtype },
    "activation",
  ).retain();
  const output = { storage, layout, dtype: input.dtype };
  record(copy, [input], [output], undefined, noScalars);
  return output;
}

/** A copy of all bytes of a storage, recorded but not taped. */
export function duplicate(storage: Storage): Storage {
  const layout = contiguousLayout([storage.bytes / 4]),
    copied = allocateLike(storage);
  record(
    copy,
    [{ storage, layout, dtype: "uint32" }],
    [{ storage: copied, layout, dtype: "uint32" }],
    undefined,
    noScalars,
  );
  return copied;
}

/** Operands of a kernel, and the copies among them. */
interface Prepared {
  readonly list: readonly Operand[];
  readonly temporaries: readonly Storage[];
}

const noTemporaries: readonly Storage[] = [];

/**
 * Operands as the kernel needs them: contiguous where it says so, and apart from a target they
 * overlap.
 */
function prepared(op: AnyOp, inputs: readonly TensorHandle[]): Prepared {
  let list: Operand[] | null = null;
  for (let i = 0; i < inputs.length; i++)
    if (needsCopy(op, inputs, i)) (list ??= [...inputs])[i] = contiguous(inputs[i]!);
  if (list === null) return { list: inputs, temporaries: noTemporaries };
  const copies = list.filter((operand, i) => operand !== inputs[i]);
  return { list, temporaries: copies.map(({ storage }) => storage) };
}

/** Whether a kernel cannot read an input where it lies. */
function needsCopy(
  { contiguousInputs, facts: { inplaceOf } }: AnyOp,
  inputs: readonly TensorHandle[],
  i: number,
): boolean {
  const { storage, layout } = inputs[i]!;
  if (!layout.contiguous && contiguousInputs?.includes(i) === true) return true;
  if (inplaceOf === undefined || inplaceOf.includes(i)) return false;
  // t.add_(t.transpose()): the other view would be overwritten while it is read.
  for (const k of inplaceOf) {
    const target = k === -1 ? undefined : inputs[k];
    if (target?.storage === storage && !sameView(layout, target.layout)) return true;
  }
  return false;
}

function wantsGradient(op: AnyOp, inputs: readonly TensorHandle[]): boolean {
  let wanted = false;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i]!;
    if (!isFloat(input.dtype)) continue;
    if (input.version < input.storage.tapedVersion) throw leftBehind(op, input);
    if (input.gradient === null) continue;
    // A leaf is what its storage holds; a result is what its op computed.
    if (input.gradient.node !== null && input.version !== input.storage.version)
      throw leftBehind(op, input);
    wanted = true;
  }
  return wanted;
}

function leftBehind(op: AnyOp, input: TensorHandle): GradError {
  return new GradError(
    op.name,
    `expected ${input.describe()} as it was recorded, got one whose storage another alias ` +
      "has changed in place; use the tensor the in-place op returned",
  );
}

function checkInplace(
  op: AnyOp,
  inputs: readonly TensorHandle[],
  inplaceOf: readonly number[],
): void {
  for (const i of inplaceOf) {
    if (i === -1) continue;
    const target = inputs[i]!;
    if (tape().gradMode.enabled && target.gradient !== null && target.gradient.node === null)
      throw new GradError(
        op.name,
        `expected a tensor that is not a leaf of the graph, got ${target.describe()} with ` +
          "requiresGrad; update it inside noGrad(() => …)",
      );
    if (tape().gradMode.enabled && target.storage.leaf && inputs.some((x) => x.gradient !== null))
      throw new GradError(
        op.name,
        `expected a tensor of its own, got ${target.describe()}, ` +
          "a view of a leaf with requiresGrad; update it inside noGrad(() => …), " +
          "or clone() it first",
      );
    if (
      tape().gradMode.enabled &&
      target.gradient === null &&
      op.vjp === undefined &&
      inputs.some((x) => x.gradient !== null)
    )
      throw new GradError(
        op.name,
        "expected inputs without gradients, got one with requiresGrad; use noGrad(() => …)",
      );
    if (
      target.layout.size > 1 &&
      target.layout.strides.some((s, k) => s === 0 && target.layout.shape[k]! > 1)
    )
      throw new ShapeError(
        op.name,
        "a target with a place for every element",
        `an expanded view ${formatShape(target.layout.shape)}`,
        "clone() it first",
      );
  }
}

function save(handle: Operand): Saved {
  return {
    storage: handle.storage.retain(),
    layout: handle.layout,
    dtype: handle.dtype,
    version: handle.storage.version,
  };
}

function saveInputs(op: AnyOp, inputs: readonly TensorHandle[]): (Saved | null)[] {
  return inputs.map((input, i) => (op.saves?.inputs?.includes(i) === true ? save(input) : null));
}

function tapeNode(
  op: AnyOp,
  inputs: readonly TensorHandle[],
  attrs: unknown,
  scalars: readonly number[],
  saved: (Saved | null)[],
  savedOutputs: readonly Saved[],
): Gradient {
  const edges = inputs.map((x) => (isFloat(x.dtype) ? x.gradient : null));
  const metas = inputs.map((x): Meta => ({
    shape: x.layout.shape,
    dtype: x.dtype,
    columns: !x.layout.contiguous && x.layout.strides.at(-2) === 1,
  }));
  const node = new GradNode(op, attrs, scalars, metas, edges, saved, savedOutputs, labels().layer);
  const gradient = new Gradient(node);
  node.output = gradient;
  return gradient;
}

/** A tensor with the bytes of `data`, which it takes over. */
export function uploadOp(op: string, meta: Meta, data: Bytes): TensorHandle {
  beforeOp(op, []);
  const handle = new TensorHandle(
    allocate(op, meta, "input"),
    contiguousLayout(meta.shape),
    meta.dtype,
    null,
  );
  recordUpload(handle.storage, data);
  return handle;
}

/**
 * A handle on what was saved, for gradient rules. @throws GradError when it was overwritten since.
 */
export function restored(saved: Saved, gradient: Gradient | null, op: AnyOp): TensorHandle {
  if (saved.version !== saved.storage.version)
    throw new GradError(
      "backward",
      `expected the ${saved.dtype} ${formatShape(saved.layout.shape)} tensor that ` +
        `${op.name} saved, got one that was changed in place since; ` +
        "use the op without underscore, or change it after backward()",
    );
  return new TensorHandle(saved.storage, saved.layout, saved.dtype, gradient);
}
