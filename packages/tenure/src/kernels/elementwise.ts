/**
 * One dispatch for any per-element computation: the caller gives WGSL statements from `a0, a1, …`
 * to `r0, r1, …`, this file finds the fastest legal way to visit the elements. Fused chains come
 * through here too. Generators only: bindings are filled by the executor, nothing is owned.
 *
 *   flat every view is contiguous or one repeated element → four elements per trip, one load when
 *   aligned, several trips when large
 *   strided anything else → one index decomposition per run of four along the innermost dimension,
 *   vec4 where the view allows it
 *   scattered innermost dimension no multiple of 4  →  the same, one element at a time
 */
import { at } from "../base/access.ts";
import { type DType, computeType } from "../base/dtype.ts";
import { type Layout, broadcastLayout, collapse, contiguousLayout } from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type Chain, type Operand, type Output, chainFunction, drawing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import {
  Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
  toStored,
  vec4Type,
} from "./wgsl.ts";

export type { Operand, Output } from "./fused.ts";

/** An elementwise computation: its views, and the text that makes an element. */
export interface ElementwiseSpec extends Chain {
  readonly shape: Shape;
  /** Broadcast to `shape` here. */
  readonly operands: readonly Operand[];
  readonly outputs: readonly Output[];
  readonly bindings: readonly ("read" | "read_write")[];
  /** Head of the kernel's key; for people. */
  readonly name: string;
  /** Declares `idx: u32`, the row-major element number within `shape`. */
  readonly needsIndex?: boolean;
}

/** Bindings: those of `spec`, which names them itself. */
export function elementwiseKernel(spec: ElementwiseSpec, caps: DeviceCaps): Kernel {
  const params = new Params();
  const { workgroups, ...section } = sectionOf(spec, caps, params, {
    name: "body",
    first: 0,
    fields: params,
    own: flatWorkgroup,
    all: () => "grid.x * grid.y",
  });
  const module = { name: spec.name, params, ...section, workgroupSize };
  return makeKernel({ ...module, workgroups: gridOf(workgroups, caps) }, caps);
}

/** Where a computation stands in its kernel. */
export interface Place {
  /** Of the function that makes an element. */
  readonly name: string;
  /** Its first binding. */
  readonly first: number;
  /** Where the fields for its views go. */
  readonly fields: Params;
  /** WGSL of the number of a workgroup among its own. */
  readonly own: string;
  /** WGSL of how many these are. */
  readonly all: (count: number) => string;
}

/** One computation of a kernel. */
export interface Section {
  readonly storages: readonly StorageDecl[];
  readonly helpers: readonly string[];
  readonly globals: string;
  readonly main: string;
  readonly workgroups: number;
}

/** One computation as a part of a kernel. */
export function sectionOf(
  spec: ElementwiseSpec,
  caps: DeviceCaps,
  params: Params,
  place: Place,
): Section {
  const { fields, first } = place;
  const size = sizeOf(spec.shape);
  const layouts = layoutsOf(spec);
  const { shape, strides } = collapse(layouts);
  const accesses = layouts.map((l, i): Access => {
    const operand = spec.operands[i];
    const { binding, view } = operand ?? at(spec.outputs, i - spec.operands.length);
    const { dtype } = operand?.view ?? at(spec.outputs, i - spec.operands.length);
    return {
      binding: first + binding,
      dtype,
      offset: l.offset,
      strides: at(strides, i),
      linear: view === undefined,
    };
  });
  const vector = at(shape, shape.length - 1) % 4 === 0 && size > 0;
  const walk = shape.length === 1 ? flatWalk : stridedWalk;
  const units = vector || shape.length === 1 ? Math.ceil(size / 4) : size;
  const run = unitsPerInvocation(units, caps);
  const block = caps.software ? fields.u32("block", workgroup * run) : "";
  const count = Math.ceil(units / (workgroup * run));
  const own = { block, number: place.own, all: () => place.all(count) };
  const { name } = place;
  const main = walk({ spec, name, params: fields, shape, accesses, vector, workgroups: own });
  const storages = storageDecls(spec.bindings, first, accesses, vector);
  return {
    storages,
    helpers: [...(spec.helpers ?? []), ...drawing(name, spec.draws).helpers],
    globals: bodyFunction(spec, name, params),
    main: main((a) => at(storages, a.binding - first)),
    workgroups: count,
  };
}

/** The views of a computation: its operands', then its outputs'. */
export function layoutsOf({ operands, outputs, shape }: ElementwiseSpec): Layout[] {
  return [
    ...operands.map((o) => broadcastLayout(o.view.layout, shape)),
    ...outputs.map((o) => o.view?.layout ?? contiguousLayout(shape)),
  ];
}

const workgroup = 64;

/** Of every elementwise kernel. */
export const workgroupSize: readonly [number, number, number] = [workgroup, 1, 1];

/** Loop trips per invocation: enough invocations to fill the device first, then longer runs. */
function unitsPerInvocation(units: number, caps: DeviceCaps): number {
  const enough = caps.software ? 4096 : 1 << 20;
  return Math.min(Math.max(Math.floor(units / enough), 1), caps.software ? 64 : 8);
}

// === How a view is visited ===

interface Access {
  readonly binding: number;
  readonly dtype: DType;
  readonly offset: number;
  readonly strides: readonly number[];
  /** A fresh output: its index is the element number itself. */
  readonly linear: boolean;
}

interface Walk {
  readonly spec: ElementwiseSpec;
  readonly params: Params;
  readonly shape: readonly number[];
  readonly accesses: readonly Access[];
  /** Four elements of the innermost dimension at a time. */
  readonly vector: boolean;
  /** Of the function that makes an element. */
  readonly name: string;
  readonly workgroups: Workgroups;
}

/** WGSL about the workgroups of a computation. */
interface Workgroups {
  /** The number of this one. */
  readonly number: string;
  /** How many there are. */
  readonly all: () => string;
  /** Units in a row that each takes; empty where all go in step. */
  readonly block: string;
}

/** Whether four neighbours of the innermost dimension are one aligned vec4. */
function aligned(a: Access): boolean {
  return (
    a.strides.at(-1) === 1 && a.offset % 4 === 0 && a.strides.slice(0, -1).every((s) => s % 4 === 0)
  );
}

/**
 * A binding is declared as vec4 when all its views allow it: the end of a storage need not be a
 * multiple of four elements.
 */
function storageDecls(
  bindings: readonly ("read" | "read_write")[],
  first: number,
  accesses: readonly Access[],
  vector: boolean,
): StorageDecl[] {
  return bindings.map((access, b) => {
    const here = accesses.filter((a) => a.binding === first + b);
    return {
      access,
      dtype: here[0]?.dtype ?? "float32",
      vec: vector && here.length > 0 && here.every(aligned),
    };
  });
}

/**
 * Rank 1: each view has stride 1, stride 0 (loaded once, before the loop) or a constant step.
 * Always four elements to a trip; what a multiple of four leaves over is done singly after the
 * loop.
 */
function flatWalk({
  spec,
  params,
  shape,
  accesses,
  vector,
  name,
  workgroups,
}: Walk): (declared: (access: Access) => StorageDecl) => string {
  const count = params.u32("count", Math.floor(at(shape, 0) / 4)),
    size = vector ? "" : params.u32("size", at(shape, 0));
  return (declared) => {
    const before: string[] = [];
    const places = accesses.map((a, i) => {
      const decl = declared(a),
        step = at(a.strides, 0);
      if (a.linear) return { decl, offset: "", stride: "", once: false };
      const offset = params.u32(`o${i}`, decl.vec ? a.offset / 4 : a.offset),
        once = step === 0 && i < spec.operands.length && decl.access === "read";
      if (once) before.push(`let x${i} = ${loadElement(decl, a.binding, offset)};`);
      return {
        decl,
        offset: `${offset} + `,
        stride: once || step === 1 ? "" : ` * ${params.u32(`t${i}`, step)}`,
        once,
      };
    });
    const visitAll = (wide: boolean): string[] => {
      const visit = visitor(spec, name, wide);
      accesses.forEach((a, i) => {
        const { decl, offset, stride, once } = at(places, i);
        if (once) visit.splat(i);
        else if (decl.vec) visit.vec4(i, decl, a, `${offset}i`);
        else visit.each(i, decl, a, (k) => `${offset}${wide ? `(i * 4u + ${k}u)` : "i"}${stride}`);
      });
      return visit.text();
    };
    const rest = vector
      ? []
      : [
          "{",
          indent(
            [
              `let i = ${count} * 4u + first;`,
              `if (i < ${size}) {`,
              indent(visitAll(false).join("\n")),
              "}",
            ].join("\n"),
          ),
          "}",
        ];
    return [...before, ...loop(count, workgroups, visitAll(true)), ...rest].join("\n");
  };
}

/** Rank 2 and more: decompose the unit number once, innermost first, and step every view along. */
function stridedWalk({
  spec,
  params,
  shape,
  accesses,
  vector,
  name,
  workgroups,
}: Walk): (declared: (access: Access) => StorageDecl) => string {
  const rank = shape.length,
    inner = vector ? at(shape, rank - 1) / 4 : at(shape, rank - 1);
  const outer = shape.slice(0, -1).reduce((n, d) => n * d, 1);
  const count = params.u32("count", inner * outer);
  const dims = shape.map((d, k) =>
    k === 0 ? "" : params.u32(`d${k}`, k === rank - 1 ? inner : d),
  );
  return (declared) => {
    const lines: string[] = [`var rest = i;`],
      visit = visitor(spec, name, vector);
    for (let k = rank - 1; k > 0; k--)
      lines.push(
        `let c${k} = rest % ${dims[k]};`,
        k > 1 ? `rest /= ${dims[k]};` : `let c0 = rest / ${dims[k]};`,
      );
    accesses.forEach((a, i) => {
      const decl = declared(a),
        wide = decl.vec;
      if (a.linear) {
        visit.linear(i, decl, a);
        return;
      }
      const terms = [params.u32(`o${i}`, wide ? a.offset / 4 : a.offset)];
      a.strides.forEach((s, k) => {
        if (s === 0) return;
        const c = k === rank - 1 && vector && !wide ? `c${k} * 4u` : `c${k}`;
        terms.push(
          k === rank - 1 && (wide || s === 1)
            ? c
            : `${c} * ${params.u32(`t${i}_${k}`, wide ? s / 4 : s)}`,
        );
      });
      const step = at(a.strides, rank - 1);
      if (wide) visit.vec4(i, decl, a, terms.join(" + "));
      else {
        lines.push(`let e${i} = ${terms.join(" + ")};`);
        if (step === 0 && vector && i < spec.operands.length) {
          lines.push(`let x${i} = ${loadElement(decl, a.binding, `e${i}`)};`);
          visit.splat(i);
        } else
          visit.each(i, decl, a, (k) =>
            k === 0 || step === 0
              ? `e${i}`
              : step === 1
                ? `e${i} + ${k}u`
                : `e${i} + ${k}u * p.t${i}_${rank - 1}`,
          );
      }
    });
    return loop(count, workgroups, [...lines, ...visit.text()]).join("\n");
  };
}

/**
 * A loop over `i < count`. All workgroups go through the units in step, which keeps a GPU's reads
 * together; on a CPU each goes through a block of its own, which keeps to few pages: half the time.
 */
function loop(
  count: string,
  { number, all, block }: Workgroups,
  body: readonly string[],
): string[] {
  const own = block !== "";
  const from = own ? `(${number}) * ${block}` : `(${number}) * ${workgroup}u`;
  return [
    ...(own ? [] : [`let step = ${all()} * ${workgroup}u;`]),
    `let first = ${from} + lane;`,
    ...(own ? [`let end = min(${count}, ${from} + ${block});`] : []),
    `for (var i = first; i < ${own ? "end" : count}; i += ${own ? `${workgroup}u` : "step"}) {`,
    indent(body.join("\n")),
    `}`,
  ];
}

// === The body, once per element ===

/** Collects loads, calls and stores of one unit (four elements, or one). */
function visitor(
  spec: ElementwiseSpec,
  name: string,
  vector: boolean,
): {
  splat(i: number): void;
  vec4(i: number, decl: StorageDecl, a: Access, index: string): void;
  each(i: number, decl: StorageDecl, a: Access, index: (k: number) => string): void;
  linear(i: number, decl: StorageDecl, a: Access): void;
  text(): string[];
} {
  const inputs = spec.operands.length,
    width = vector ? 4 : 1;
  const loads: string[] = [],
    stores: string[] = [];
  const argument: ((k: number) => string)[] = [];
  const result = (k: number, i: number): string =>
    spec.outputs.length === 1 ? `y${k}` : `y${k}.r${i - inputs}`;
  return {
    linear(i, decl, a) {
      if (decl.vec) this.vec4(i, decl, a, "i");
      else this.each(i, decl, a, (k) => (vector ? `i * 4u + ${k}u` : "i"));
    },
    splat: (i) => {
      argument[i] = () => `x${i}`;
    },
    vec4: (i, decl, a, index) => {
      if (i < inputs) {
        loads.push(`let x${i} = ${loadVec4(decl, a.binding, index)};`);
        argument[i] = (k) => `x${i}.${"xyzw".charAt(k)}`;
      } else {
        const parts = [0, 1, 2, 3].map((k) => toStored(decl.dtype, result(k, i)));
        stores.push(`b${a.binding}[${index}] = ${vec4Type(decl.dtype)}(${parts.join(", ")});`);
      }
    },
    each: (i, decl, a, index) => {
      if (i < inputs) {
        for (let k = 0; k < width; k++)
          loads.push(`let x${i}_${k} = ${loadElement(decl, a.binding, index(k))};`);
        argument[i] = (k) => `x${i}_${k}`;
      } else
        for (let k = 0; k < width; k++)
          stores.push(`b${a.binding}[${index(k)}] = ${toStored(decl.dtype, result(k, i))};`);
    },
    text: () => {
      const drawn = drawing(name, spec.draws).calls("i", vector);
      const draws = drawn.map((call, n) => `let drawn${n} = ${call};`);
      const calls = Array.from({ length: width }, (_, k) => {
        const args = argument.map((f) => f(k));
        if (spec.needsIndex === true) args.push(vector ? `i * 4u + ${k}u` : "i");
        args.push(...drawn.map((_call, n) => `drawn${n}${vector ? `.${"xyzw".charAt(k)}` : ""}`));
        return `let y${k} = ${name}(${args.join(", ")});`;
      });
      return [...loads, ...draws, ...calls, ...stores];
    },
  };
}

/** The caller's statements as a WGSL function from elements to one value or a struct `R`. */
function bodyFunction(spec: ElementwiseSpec, name: string, params: Params): string {
  const args = spec.operands.map((o, i) => `a${i}: ${computeType(o.view.dtype)}`);
  if (spec.needsIndex === true) args.push("idx: u32");
  return chainFunction({
    name,
    args,
    types: spec.outputs.map((o) => computeType(o.dtype)),
    chain: spec,
    params,
  });
}
