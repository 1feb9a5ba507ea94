/**
 * From a recorded op to its kernel: what the op's own generator makes, the elementwise kernel of
 * its expression with every storage bound once, or one kernel for a group of ops. Called by
 * compile.ts on a plan-cache miss. Owns nothing.
 */
import { type DType, computeType } from "../base/dtype.ts";
import { DeviceError, TenureError, internal } from "../base/errors.ts";
import type { Layout } from "../base/layout.ts";
import type { Kernels } from "../kernels/families.ts";
import type { Around, Chain, Draw, Operand, Output, Scalar } from "../kernels/fused.ts";
import { type ElementwiseSpec, elementwiseKernel } from "../kernels/elementwise.ts";
import type { DeviceCaps, Kernel } from "../kernels/kernel.ts";
import { indent } from "../kernels/wgsl.ts";
import type { AnyOp, Expression } from "../ops/op.ts";
import type { Group, Member } from "../planner/fuse/group.ts";
import { type FusedOp, isFused } from "./fusion.ts";
import type { RecordedOp } from "./recorded-op.ts";

/** A kernel and, per storage binding, the local index of the storage. */
export interface Lowered {
  readonly kernel: Kernel;
  readonly operands: readonly number[];
  /** What an elementwise kernel was made of. */
  readonly elementwise?: ElementwiseSpec;
}

/** The kernel of a recorded op, or of a group of them. */
export function lower(recorded: RecordedOp, caps: DeviceCaps, kernels: Kernels): Lowered {
  if (isFused(recorded)) return lowerGroup(recorded, caps, kernels);
  const { op, inputs, outputs, attrs } = recorded;
  if (op.kernel !== undefined) {
    const operands = [...inputs, ...outputs].map((o) => o.storage.programIndex);
    const kernel = op.kernel(inputs, outputs, attrs, caps, kernels);
    if (kernel.bindings.length !== operands.length)
      throw internal(
        `${op.name} has ${operands.length} operands ` +
          `but its kernel ${kernel.bindings.length} bindings`,
      );
    return { kernel, operands };
  }
  if (op.expression === undefined) throw internal(`${op.name} has no kernel`);
  const bound = new Bindings();
  const ins = inputs.map((view) => ({
    view,
    binding: bound.at(view.storage.programIndex, "read"),
  }));
  const inplace = op.facts.inplaceOf ?? [];
  const outs = outputs.map((view, k) => ({
    dtype: view.dtype,
    binding: bound.at(view.storage.programIndex, "read_write"),
    ...((inplace[k] ?? -1) === -1 ? {} : { view }),
  }));
  if (bound.storages.length > caps.maxStorageBuffers)
    throw new DeviceError(
      op.name,
      `expected at most ${caps.maxStorageBuffers} different tensors in one op on this device, ` +
        `got ${bound.storages.length}; split the op`,
    );
  const e = op.expression(inputs, attrs);
  const functions = new Functions();
  const helpers = functions.take(op, e, kernels);
  const elementwise: ElementwiseSpec = {
    shape: outputs[0]!.layout.shape,
    operands: ins,
    outputs: outs,
    bindings: bound.access,
    name: op.name,
    body: e.body,
    helpers: [...helpers],
    functions: functions.text,
    ...(e.scalars === undefined ? {} : { scalars: e.scalars }),
    ...(e.needsIndex === undefined ? {} : { needsIndex: e.needsIndex }),
    ...(e.draws === undefined ? {} : { draws: [{ distribution: e.draws, scalar: 0 }] }),
  };
  const kernel = elementwiseKernel(elementwise, caps);
  return { kernel, operands: bound.storages, elementwise };
}

/**
 * One binding per storage: WebGPU refuses a buffer that is bound twice in a dispatch that writes
 * it.
 */
class Bindings {
  readonly storages: number[] = [];
  readonly access: ("read" | "read_write")[] = [];

  at(storage: number, how: "read" | "read_write"): number {
    let at = this.storages.indexOf(storage);
    if (at === -1) {
      at = this.storages.push(storage) - 1;
      this.access.push(how);
    } else if (how === "read_write") this.access[at] = how;
    return at;
  }
}

// === Groups ===

/**
 * A group as one kernel: its elementwise ops become WGSL functions, called in the prologue or
 * epilogue of the main op's kernel or, without a main op, in an elementwise kernel.
 */
function lowerGroup(
  { op: { name }, group, members, scalarStart }: FusedOp,
  caps: DeviceCaps,
  kernels: Kernels,
): Lowered {
  const main = group.members.findIndex((m) => m.section === "main");
  const functions = new Functions();
  const shared = { functions, caps, kernels };
  const before = new ChainBuilder(shared, scalarStart, 0);
  const after = new ChainBuilder(shared, scalarStart, main === -1 ? 0 : 1);
  group.members.forEach((member, k) => {
    if (k === main)
      after.know(members[k]!.outputs[0]!.storage.programIndex, {
        text: "a0",
        dtype: members[k]!.outputs[0]!.dtype,
        layout: member.results[0]!,
      });
    else (member.section === "prologue" ? before : after).take(member, members[k]!);
  });
  if (main === -1) {
    const elementwise = { name, ...after.finish(group, group.stored) };
    const kernel = elementwiseKernel(elementwise, caps);
    return checked(name, { kernel, operands: after.bound.storages, elementwise }, caps);
  }
  const { op, inputs, outputs, attrs } = members[main]!;
  const computed = group.members.some((m) => m.section === "prologue");
  const result = outputs[0]!.storage.programIndex;
  const around: { -readonly [K in keyof Around]: Around[K] } = {};
  if (computed) around.before = before.prologue(inputs[op.facts.prologue!]!.storage.programIndex);
  // Prologue and epilogue share their functions, which the kernel's text must declare only once.
  const alone = !group.members.some((m) => m.section === "epilogue");
  if (!alone)
    around.after = { ...after.finish(group, group.stored), ...(computed ? { functions: "" } : {}) };
  const own = computed
    ? [
        ...before.bound.storages,
        ...inputs.filter((_, i) => i !== op.facts.prologue).map((o) => o.storage.programIndex),
      ]
    : inputs.map((o) => o.storage.programIndex);
  const kernel = op.kernel!(inputs, outputs, attrs, caps, kernels, around);
  const operands = [...own, ...(alone ? [result] : after.bound.storages)];
  return checked(name, { kernel, operands }, caps);
}

/** Checks what the fuse pass promised of a group: a kernel within the device's limits. */
function checked(name: string, lowered: Lowered, { maxStorageBuffers }: DeviceCaps): Lowered {
  const { kernel, operands } = lowered;
  if (kernel.bindings.length !== operands.length)
    throw internal(
      `${name} has ${operands.length} operands but its kernel ${kernel.bindings.length} bindings`,
    );
  if (operands.length > maxStorageBuffers)
    throw internal(`${name} binds ${operands.length} buffers of ${maxStorageBuffers}`);
  return lowered;
}

/** A value in a register: the WGSL that reads it. */
interface Value {
  readonly text: string;
  readonly dtype: DType;
  readonly layout: Layout;
  /** See {@link Expression.rounding}. */
  readonly rounding?: Expression["rounding"];
}

/**
 * One WGSL function for each different computation of a kernel. It is named after its op, so that
 * the driver's error messages name the op too.
 */
class Functions {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #rare = new Set<string>();
  text = "";

  /** Takes the helpers of an op that come with its family. @returns the others' names */
  take({ family }: AnyOp, { helpers = [] }: Expression, kernels: Kernels): Iterable<string> {
    if (family !== "functions") return helpers;
    const { common, rare } = kernels.rareHelpers(helpers);
    for (const [name, text] of rare) {
      if (!this.#rare.has(name)) this.text += text;
      this.#rare.add(name);
    }
    return common;
  }

  add(name: string, args: readonly string[], types: readonly string[], body: string): string {
    const declared = types.map((t, k) => `var r${k}: ${t};`);
    const inside = indent([...declared, body.trim(), "return "].join("\n")).trimEnd();
    const signature = `${name}(${args.join(", ")}) -> ${types.join(", ")} ${inside}`;
    const known = this.#names.get(signature);
    if (known !== undefined) return known;
    const stem = `op_${name.replace(/\W+/g, "_")}`;
    let made = stem;
    for (let n = 2; this.#taken.has(made); n++) made = `${stem}${n}`;
    this.#taken.add(made);
    this.#names.set(signature, made);
    const one = types.length === 1;
    const struct = one
      ? ""
      : `struct R_${made} { ${types.map((t, k) => `r${k}: ${t}`).join(", ")} }\n`;
    const type = one ? types[0]! : `R_${made}`;
    const result = one ? "r0" : `R_${made}(${types.map((_, k) => `r${k}`).join(", ")})`;
    this.text += `${struct}fn ${made}(${args.join(", ")}) -> ${type} {\n${inside} ${result};\n}\n`;
    return made;
  }
}

/** What the sections of a kernel have in common. */
interface Shared {
  readonly functions: Functions;
  readonly caps: DeviceCaps;
  readonly kernels: Kernels;
}

/** Collects what the ops of one section read, compute and store. */
class ChainBuilder {
  readonly bound = new Bindings();
  readonly #shared: Shared;
  readonly #scalarStart: number;
  readonly #firstArgument: number;
  readonly #values = new Map<number, Value>();
  readonly #loads: { storage: number; dtype: DType; layout: Layout }[] = [];
  readonly #lines: string[] = [];
  readonly #scalars: Scalar[] = [];
  readonly #helpers = new Set<string>();
  readonly #draws: Draw[] = [];
  #indexed = false;
  #holds = false;

  /**
   * `scalarStart`: index of the kernel's first scalar among the program's. `firstArgument`: how
   * many arguments come before the operands.
   */
  constructor(shared: Shared, scalarStart: number, firstArgument: number) {
    this.#shared = shared;
    this.#scalarStart = scalarStart;
    this.#firstArgument = firstArgument;
  }

  know(storage: number, value: Value): void {
    this.#values.set(storage, value);
  }

  take(member: Member, { op, inputs, outputs, attrs, scalarStart }: RecordedOp): void {
    let e: Expression;
    try {
      e = op.expression!(inputs, attrs);
    } catch (cause) {
      throw cause instanceof TenureError
        ? cause
        : new TenureError(op.name, `expected an expression, got ${String(cause)}`, { cause });
    }
    if ((e.needsIndex === true || e.draws !== undefined) && op.facts.indexed !== true)
      throw internal(`${op.name} uses the number of the element, but does not declare it`);
    const products = inputs.filter(
      (o) => this.#values.get(o.storage.programIndex)?.rounding === "product",
    ).length;
    const next = e.rounding === "sum" && products > 1 ? undefined : e.rounding;
    const args: string[] = [];
    inputs.forEach((o, i) => {
      const arg = this.#argument(o.storage.programIndex, o.dtype, member.operands[i]!, next);
      // or the compiler makes 0 of x - x, which is NaN where x is infinite
      const twin = computeType(o.dtype) === "f32" && args.includes(arg);
      this.#holds ||= twin;
      args.push(twin ? `hold(${arg}, zero)` : arg);
    });
    const scalars = e.scalars ?? [];
    const params = [
      ...inputs.map((o, i) => `a${i}: ${computeType(o.dtype)}`),
      ...scalars.map((s, k) => `s${k}: ${s.type}`),
    ];
    const firstScalar = this.#scalars.length;
    scalars.forEach((s, k) => {
      args.push(
        `s${this.#scalars.push({ type: s.type, index: scalarStart + k - this.#scalarStart }) - 1}`,
      );
    });
    if (e.needsIndex === true) {
      params.push("idx: u32");
      args.push("idx");
      this.#indexed = true;
    }
    if (e.draws !== undefined) {
      params.push("drawn0: f32");
      args.push(`drawn${this.#draws.push({ distribution: e.draws, scalar: firstScalar }) - 1}`);
    }
    const { functions, kernels } = this.#shared;
    for (const helper of functions.take(op, e, kernels)) this.#helpers.add(helper);
    const types = outputs.map((o) => computeType(o.dtype));
    const made = functions.add(op.name, params, types, e.body);
    const name = `v${this.#lines.length}`;
    this.#lines.push(`let ${name} = ${made}(${args.join(", ")});`);
    outputs.forEach((o, k) =>
      this.#values.set(o.storage.programIndex, {
        text: outputs.length === 1 ? name : `${name}.r${k}`,
        dtype: o.dtype,
        layout: member.results[k]!,
        ...(e.rounding === undefined ? {} : { rounding: e.rounding }),
      }),
    );
  }

  /** `rounding`: that of the op that reads it. */
  #argument(
    storage: number,
    dtype: DType,
    layout: Layout,
    rounding: Expression["rounding"],
  ): string {
    const value = this.#values.get(storage);
    if (value !== undefined) return this.#held(value, rounding);
    let at = this.#loads.findIndex(
      (l) =>
        l.storage === storage &&
        l.layout.offset === layout.offset &&
        l.layout.strides.every((s, k) => s === layout.strides[k]!),
    );
    if (at === -1) {
      at = this.#loads.push({ storage, dtype, layout }) - 1;
      this.bound.at(storage, "read");
    }
    return `a${at + this.#firstArgument}`;
  }

  /**
   * A value as the next op would load it: with the bits it would have after a store. Without `hold`
   * the compiler might contract both ops, which rounds differently. The compilers of software
   * adapters may contract a product and the sum it goes into, and drop what cancels, but leave a
   * sum of a sum and what goes into a product as they are; those of GPUs may reorder them, and
   * `hold` is free there.
   * SwiftShader contracts nothing, but takes out what two products of a sum have in common.
   */
  #held({ text, dtype, rounding }: Value, next?: Expression["rounding"]): string {
    const { software, contracts } = this.#shared.caps;
    const rounded = rounding !== undefined && next !== undefined;
    const kept = !contracts || rounding === next || next === "product";
    const passes = rounded && software && kept;
    if (computeType(dtype) !== "f32" || passes) return text;
    this.#holds = true;
    return `hold(${text}, zero)`;
  }

  #operands(): Operand[] {
    return this.#loads.map(({ storage, dtype, layout }) => ({
      view: { layout, dtype },
      binding: this.bound.at(storage, "read"),
    }));
  }

  #chain(results: readonly string[]): Chain {
    const body = [...this.#lines, ...results.map((text, k) => `r${k} = ${text};`)].join("\n");
    return {
      body,
      functions: this.#shared.functions.text,
      helpers: this.#holds ? ["hold", ...this.#helpers] : [...this.#helpers],
      scalars: this.#scalars,
      ...(this.#draws.length === 0 ? {} : { draws: this.#draws }),
      ...(this.#holds ? { needsZero: true } : {}),
    };
  }

  /** As a prologue that computes the value of `storage`. */
  prologue(storage: number): NonNullable<Around["before"]> {
    const value = this.#values.get(storage)!;
    return { ...this.#chain([this.#held(value)]), operands: this.#operands(), dtype: value.dtype };
  }

  /** As an elementwise kernel or an epilogue that stores the values of `stored`. */
  finish(
    { shape }: Group,
    stored: readonly number[],
  ): Chain & {
    shape: readonly number[];
    operands: Operand[];
    outputs: Output[];
    bindings: readonly ("read" | "read_write")[];
    needsIndex?: boolean;
  } {
    const values = stored.map((storage) => ({ storage, ...this.#values.get(storage)! }));
    const outputs = values.map(({ storage, dtype, layout }): Output => ({
      dtype,
      binding: this.bound.at(storage, "read_write"),
      ...(layout.contiguous && layout.offset === 0 ? {} : { view: { layout, dtype } }),
    }));
    return {
      ...this.#chain(values.map((v) => v.text)),
      shape,
      operands: this.#operands(),
      outputs,
      bindings: this.bound.access,
      ...(this.#indexed ? { needsIndex: true } : {}),
    };
  }
}
