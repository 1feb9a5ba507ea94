/**
 * Chains of elementwise computations as text: the body of an elementwise kernel, and what other
 * kernels put before their loads and behind their results. Called by the generators in this folder
 * and, to put chains together, by the runtime's lowering. Owns nothing.
 */
import { at, defined } from "../base/access.ts";
import { type DType, computeType, type ComputeType } from "../base/dtype.ts";
import { broadcastLayout, collapse, contiguousLayout } from "../base/layout.ts";
import type { Shape } from "../base/shape.ts";
import type { View } from "./kernel.ts";
import { split, terms } from "./indices.ts";
import { type Params, type StorageDecl, indent, loadElement, toStored } from "./wgsl.ts";

/** A view read through one of the kernel's bindings. Several operands may share a binding. */
export interface Operand {
  readonly view: View;
  readonly binding: number;
}

/**
 * Where a result goes: all of a fresh contiguous storage, or into `view` (whose shape is the
 * kernel's).
 */
export interface Output {
  readonly dtype: DType;
  readonly binding: number;
  readonly view?: View;
}

/**
 * A per-call uniform. `index`: which of the call's scalars it is; its place in the list unless
 * given.
 */
export interface Scalar {
  readonly type: "f32" | "u32" | "i32";
  readonly index?: number;
}

/** Numbers drawn for each element. */
export interface Draw {
  readonly distribution: "uniform" | "normal";
  /** The first of the three scalars of the chain that name the stream. */
  readonly scalar: number;
}

/** What is done to one element. */
export interface Chain {
  /**
   * WGSL statements. In scope: `a0, a1, …` (f32, i32, u32 or bool; float16 arrives as f32), scalars
   * `s0, s1, …`, `idx` where the number of the element is asked for, `drawn0, …`, `zero` where it
   * is. They assign every `r0, r1, …`, declared as vars of the outputs' compute types.
   */
  readonly body: string;
  /** Module-scope functions that the body calls. */
  readonly functions?: string;
  /** Names from helpers.ts that the body or its functions call. */
  readonly helpers?: readonly string[];
  /** Per-call uniforms, in order. */
  readonly scalars?: readonly Scalar[];
  /** Declares `drawn0, drawn1, …`, f32. Not of a prologue. */
  readonly draws?: readonly Draw[];
  /** Declares `zero`, which the compiler does not know to be 0. */
  readonly needsZero?: boolean;
}

/** Computes the elements of a kernel's input from others, while it reads them. */
export interface Prologue extends Chain {
  /**
   * Broadcast to the input's shape. Bindings count from 0; the kernel's further bindings come after
   * the highest.
   */
  readonly operands: readonly Operand[];
  /** Dtype of `r0`, as if it had been stored. */
  readonly dtype: DType;
}

/**
 * Takes each element of a kernel's result, `a0`, further before anything is stored; `a1, a2, …` are
 * its operands.
 */
export interface Epilogue extends Chain {
  /** Shape of the result. Every operand is broadcast to it. */
  readonly shape: Shape;
  /** Bindings count from 0 here too: they come after the kernel's inputs. */
  readonly operands: readonly Operand[];
  readonly outputs: readonly Output[];
  readonly bindings: readonly ("read" | "read_write")[];
  /** Declares `idx: u32`, the row-major number of the element. */
  readonly needsIndex?: boolean;
}

/** What a kernel is asked to do besides its own work. */
export interface Around {
  readonly before?: Prologue;
  readonly after?: Epilogue;
}

/** What a chain draws: helpers and calls for the element `at`, or for all of the quad `at`. */
export interface Drawing {
  readonly helpers: readonly string[];
  readonly calls: (at: string, wide: boolean) => string[];
}

/** How to make the draws of the chain that is the WGSL function `name`. */
export function drawing(name: string, draws: readonly Draw[] = []): Drawing {
  return {
    helpers: draws.flatMap((d) => [`${d.distribution}One`, `${d.distribution}Quad`]),
    calls: (at, wide) =>
      draws.map(({ distribution, scalar }) => {
        const stream = [0, 1, 2].map((k) => `p.${headOf(name)}s${scalar + k}`).join(", ");
        return `${distribution}${wide ? "Quad" : "One"}(${stream}, ${at})`;
      }),
  };
}

/** Before the names of the fields of the chain that is the WGSL function `name`. */
const headOf = (name: string): string => (name === "body" ? "" : name);

/** A chain as the WGSL function `name` from elements to one value or a struct. */
export function chainFunction(f: {
  name: string;
  args: readonly string[];
  types: readonly ComputeType[];
  chain: Chain;
  params: Params;
}): string {
  const { name, args, types, chain, params } = f,
    one = types.length === 1,
    head = headOf(name),
    struct = name === "body" ? "R" : `R_${name}`;
  const drawn = (chain.draws ?? []).map((_, k) => `drawn${k}: f32`);
  const lines = [
    ...(chain.scalars ?? []).map(
      (s, k) => `let s${k} = ${params.scalar(`${head}s${k}`, s.type, s.index ?? k)};`,
    ),
    ...(chain.needsZero === true ? [`let zero = ${params.u32(`${head}zero`, 0)};`] : []),
    ...types.map((t, k) => `var r${k}: ${t};`),
    chain.body.trim(),
    one ? "return r0;" : `return ${struct}(${types.map((_, k) => `r${k}`).join(", ")});`,
  ];
  const declared = one
    ? ""
    : `struct ${struct} { ${types.map((t, k) => `r${k}: ${t}`).join(", ")} }\n`;
  return (
    `${chain.functions ?? ""}${declared}fn ${name}(${[...args, ...drawn].join(", ")}) -> ` +
    `${one ? at(types, 0) : struct} {\n${indent(lines.join("\n"))}}\n`
  );
}

/** How a kernel stores its result. */
export interface Finish {
  /** Declarations of the bindings behind the kernel's inputs. */
  readonly storages: readonly StorageDecl[];
  readonly helpers: readonly string[];
  readonly globals: string;
  /**
   * A statement that stores `value`, of the result's compute type, as element number `at` of the
   * row-major result.
   */
  readonly store: (value: string, at: string) => string;
}

/** Bindings of a chain behind a kernel: its operands' and its outputs'. */
function chainStorages({ operands, outputs, bindings }: Epilogue): StorageDecl[] {
  return bindings.map((access, b): StorageDecl => {
    const operand = operands.find((o) => o.binding === b)?.view;
    const { dtype } = operand ?? defined(outputs.find((o) => o.binding === b));
    return { access, vec: false, dtype };
  });
}

/**
 * Where each operand and then each output has the element number `at`, and the lines that split the
 * number into coordinates. Only views that are not simply in order need coordinates, so only they
 * decide how the dimensions are merged.
 */
function chainIndices(after: Epilogue, params: Params): { index: string[]; lines: string[] } {
  const { operands, outputs, shape } = after;
  const layouts = [
    ...operands.map((o) => broadcastLayout(o.view.layout, shape)),
    ...outputs.map((o) => o.view?.layout ?? contiguousLayout(shape)),
  ];
  const uneven = layouts.filter((l) => !l.contiguous);
  const merged = uneven.length === 0 ? null : collapse([...uneven, contiguousLayout(shape)]);
  const index = layouts.map((l, i) => {
    const parts = l.offset === 0 ? [] : [params.u32(`eo${i}`, l.offset)];
    if (merged === null || l.contiguous) parts.push("at");
    else parts.push(...terms("e", at(merged.strides, uneven.indexOf(l)), `et${i}_`, 1, params));
    return parts.length === 0 ? "0u" : parts.join(" + ");
  });
  if (merged === null || merged.shape.length === 0) return { index, lines: [] };
  const wanted = index.join(" ");
  const lines = split("at", merged.shape, "e", params).filter((line) => {
    const made = /^let (e\d+) /.exec(line)?.[1];
    return made === undefined || new RegExp(`\\b${made}\\b`).test(wanted);
  });
  return { index, lines };
}

/**
 * The function `finish(a0, at)`: puts an element through a chain and stores what comes out. It is
 * mostly called for neighbours in turn: what is drawn is kept for the other three of a quad.
 */
function finishFunction(
  after: Epilogue,
  dtype: DType,
  first: number,
  storages: readonly StorageDecl[],
  params: Params,
): string {
  const { operands, outputs, needsIndex = false } = after;
  const { index, lines } = chainIndices(after, params);
  const args = operands.map((o, i) =>
    loadElement(at(storages, o.binding), first + o.binding, at(index, i)),
  );
  const draws = drawing("chain", after.draws).calls("quad", true);
  const drawn = draws.map((_, k) => `drawn_${k}[at & 3u]`);
  const call = ["a0", ...args, ...(needsIndex ? ["at"] : []), ...drawn].join(", ");
  const stores = outputs.map((o, k) => {
    const value = toStored(o.dtype, outputs.length === 1 ? "y" : `y.r${k}`);
    return `b${first + o.binding}[${at(index, operands.length + k)}] = ${value};`;
  });
  if (draws.length > 0) {
    const all = draws.map((each, k) => `drawn_${k} = ${each};`).join(" ");
    lines.unshift("let quad = at >> 2u;", `if (quad != drawnFor) { drawnFor = quad; ${all} }`);
  }
  return (
    draws.map((_, k) => `var<private> drawn_${k}: vec4<f32>;\n`).join("") +
    (draws.length > 0 ? "var<private> drawnFor = 0xffffffffu;\n" : "") +
    `fn finish(a0: ${computeType(dtype)}, at: u32) {\n` +
    `${indent([...lines, `let y = chain(${call});`, ...stores].join("\n"))}}\n`
  );
}

/**
 * `first`: the kernel's first free binding. Without a chain that is the result itself, contiguous.
 */
export function finishing(
  after: Epilogue | undefined,
  dtype: DType,
  first: number,
  params: Params,
): Finish {
  if (after === undefined)
    return {
      storages: [{ dtype, vec: false, access: "read_write" }],
      helpers: [],
      globals: "",
      store: (value, at) => `b${first}[${at}] = ${toStored(dtype, value)};`,
    };
  const { operands, outputs } = after;
  const storages = chainStorages(after);
  const finish = finishFunction(after, dtype, first, storages, params);
  const chain = chainFunction({
    name: "chain",
    types: outputs.map((o) => computeType(o.dtype)),
    chain: after,
    params,
    args: [
      `a0: ${computeType(dtype)}`,
      ...operands.map((o, i) => `a${i + 1}: ${computeType(o.view.dtype)}`),
      ...(after.needsIndex === true ? ["idx: u32"] : []),
    ],
  });
  return {
    storages,
    helpers: [...(after.helpers ?? []), ...drawing("chain", after.draws).helpers],
    globals: chain + finish,
    store: (value, at) => `finish(${value}, ${at});`,
  };
}

/**
 * A loop over the rows of a tile of results, `values` row by row; `body` is given those of row `i`.
 * Compilers put a chain in place wherever it is called, and take long where that is often. The
 * number of rows is a field, so that none writes the loop out again.
 */
export function eachRow(
  values: readonly string[],
  columns: number,
  params: Params,
  body: (row: readonly string[]) => readonly string[],
): string[] {
  const count = values.length / columns;
  const row = Array.from({ length: columns }, (_, j) => `row_${j}`);
  const results = row.map((name, j) => {
    const column = Array.from({ length: count }, (_, i) => at(values, i * columns + j));
    return `let ${name} = ${picked("i", column)};`;
  });
  return [
    `for (var i = 0u; i < ${params.u32("resultRows", count)}; i += 1u) {`,
    indent([...results, ...body(row)].join("\n")),
    "}",
  ];
}

/** A loop over the results of a row: `store` finds `result`, in column `j`. */
export function eachColumn(row: readonly string[], params: Params, store: string): string[] {
  return [
    `for (var j = 0u; j < ${params.u32("resultColumns", row.length)}; j += 1u) {`,
    indent(`let result = ${picked("j", row)};\n${store}`),
    "}",
  ];
}

/** One of the values. Not an element of an array: the sums would move out of registers. */
function picked(number: string, values: readonly string[]): string {
  return values.reduce((all, v, k) => `select(${all}, ${v}, ${number} == ${k}u)`);
}
