/**
 * The text of a row kernel: where a row begins, the loops over its elements, the tree in which the
 * lanes of a row meet, and the stores. Called by rows.ts. Text only; owns nothing.
 */
import { at } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import type { Layout } from "../base/layout.ts";
import type { Shape } from "../base/shape.ts";
import type { Epilogue, Finish, Operand } from "./fused.ts";
import { terms } from "./indices.ts";
import type { Tile } from "./tile.ts";
import {
  type Params,
  type StorageDecl,
  indent,
  loadElement,
  loadVec4,
  toStored,
  vec4Type,
} from "./wgsl.ts";

/** One sweep over a row: what its elements add up to. */
export interface RowPass {
  /** Name of the result, an f32 (or a pair of them) in scope of everything after it. */
  readonly name: string;
  /** The result is a `vec2<f32>`: two sums in one sweep. */
  readonly pair?: boolean;
  /** WGSL of the start value and of joining two partial results `a` and `b`. */
  readonly identity: string;
  readonly join: (a: string, b: string) => string;
  /**
   * WGSL expression of one element's contribution, from `a0, a1, …` (elements), `q0, …` (row
   * values) and earlier results.
   */
  readonly element: string;
  /** Statements once per row after the result is known. */
  readonly after?: string;
  /**
   * The contribution is also stored as the output element; later passes read it back as `y`. For
   * element outputs of float32.
   */
  readonly keep?: boolean;
}

/**
 * The sweep of a softmax: the maximum `m` of operand 0 and `z`, the sum of exp(a0 − m), at once.
 * Both are NaN where the row holds NaN or +infinity, or nothing but −infinity.
 */
export interface SoftmaxPass {
  readonly softmax: true;
  /** Statements once per row after both are known. */
  readonly after?: string;
}

/** A kernel over rows: its operands, its sweeps and what it writes. */
export interface RowSpec {
  readonly name: string;
  readonly shape: Shape;
  readonly axis: number;
  /** Broadcast to `shape`; `a0, a1, …`. */
  readonly operands: readonly Operand[];
  /** One value per row, broadcast to `shape` without `axis`; `q0, q1, …`. */
  readonly rowOperands?: readonly Operand[];
  /** Access of the inputs' bindings. The output comes last. */
  readonly inputs: number;
  readonly passes: readonly (RowPass | SoftmaxPass)[];
  /**
   * So many lanes of a subgroup share a row and meet without workgroup memory: a power of two, and
   * no subgroup has fewer. The kernel chooses when 1 or absent.
   */
  readonly lanes?: number;
  /**
   * Element: a contiguous output of `shape`. Row: one value per row. `value` is an f32 expression;
   * `at: u32` is the position along the axis.
   */
  readonly output: {
    readonly dtype: DType;
    readonly per: "element" | "row";
    readonly value: string;
  };
  /**
   * How many elements the passes look at from the row's beginning, an u32 expression; the ones
   * behind them must contribute nothing. All when absent.
   */
  readonly reach?: string;
  /**
   * Statements once per row before the first pass. `at0(i)`-style reads are `element0(i)` of
   * operand 0 at position `i`.
   */
  readonly before?: string;
  readonly helpers?: readonly string[];
  readonly params: Params;
  /**
   * Takes each output further; its bindings come in place of the output's. No pass may `keep` then.
   */
  readonly after?: Epilogue;
}

/** A row kernel once its geometry is known. */
export interface Sweep {
  readonly spec: RowSpec;
  readonly params: Params;
  /** Elements of a row, and number of rows. */
  readonly length: number;
  readonly rows: number;
  /** Every element is written, rather than one value per row. */
  readonly perElement: boolean;
  /** Of the operands and, where every element is written, of the output behind them. */
  readonly layouts: readonly Layout[];
  /** Strides along the row. */
  readonly along: readonly number[];
  /** What is left of the shape without the row, and strides over it: layouts, then row operands. */
  readonly outerShape: readonly number[];
  readonly outerStrides: readonly (readonly number[])[];
  /** Inputs, then the output. */
  readonly decls: readonly StorageDecl[];
  /** The fused chain that takes the output further; null without one. */
  readonly finish: Finish | null;
  /** Rows are visited in steps of four elements. */
  readonly vector: boolean;
  readonly tile: Tile;
  readonly names: { readonly rows: string; readonly units: string };
}

/** Where the elements of a row are. */
export interface Places {
  /** Statements that set `base0, base1, …` and `q0, q1, …`. */
  readonly lines: readonly string[];
  /** WGSL factor per layout from positions along the row to elements. */
  readonly steps: readonly string[];
  /** Index of the element of layout `i` at a position, an expression. */
  indexAt(i: number, position: string): string;
}

/** Which row of its workgroup an invocation works on. */
export function rowInGroup(tile: Tile): string {
  if (tile.outputs === 1) return "0u";
  if (tile.lanes === 1) return "lane";
  return tile.outputsFast ? `lane % ${tile.outputs}u` : `lane / ${tile.lanes}u`;
}

/** Number of the output among the layouts; the operands come before it. */
function outputIndex(sweep: Sweep): number {
  return sweep.spec.operands.length;
}

/** The binding of layout `i`. */
function bindingOf({ spec }: Sweep, i: number): number {
  return i < spec.operands.length ? at(spec.operands, i).binding : spec.inputs;
}

/** The declaration of layout `i`. */
function declOf(sweep: Sweep, i: number): StorageDecl {
  return at(sweep.decls, bindingOf(sweep, i));
}

/** Statements that run only in invocations that have a row. */
export function guarded({ names }: Sweep, lines: readonly string[]): string[] {
  return [`if (row < ${names.rows}) {`, indent(lines.join("\n")), "}"];
}

/** Where the elements of an invocation's row begin, and how they follow. */
export function placesOf(sweep: Sweep): Places {
  const { spec, params, layouts, outerStrides, along, decls } = sweep;
  const base = layouts.map((l, i) => {
    const unit = declOf(sweep, i).vec ? 4 : 1;
    const parts = [
      params.u32(`o${i}`, l.offset / unit),
      ...terms("k", at(outerStrides, i), `t${i}k`, unit, params),
    ];
    return `let base${i} = ${parts.join(" + ")};`;
  });
  const rowOperands = spec.rowOperands ?? [];
  const rowValues = rowOperands.map((o, i) => {
    const index = [
      params.u32(`q${i}o`, o.view.layout.offset),
      ...terms("k", at(outerStrides, layouts.length + i), `q${i}k`, 1, params),
    ].join(" + ");
    return `q${i} = ${loadElement(at(decls, o.binding), o.binding, index)};`;
  });
  const integers = { int32: "i32", uint32: "u32" } as Record<string, string | undefined>;
  const declarations = rowOperands.map((o, i) => `var q${i}: ${integers[o.view.dtype] ?? "f32"};`);
  const steps = along.map((s, i) => (s === 0 || s === 1 ? "" : ` * ${params.u32(`s${i}`, s)}`));
  return {
    lines: [...base, ...declarations, ...(rowValues.length > 0 ? guarded(sweep, rowValues) : [])],
    steps,
    indexAt: (i, position) =>
      along[i] === 0 ? `base${i}` : `base${i} + ${position}${at(steps, i)}`,
  };
}

/** Joins what the lanes of a row have. All get the same bits, as either order adds equally. */
export function shuffled(
  name: string,
  join: (a: string, b: string) => string,
  tile: Tile,
): string[] {
  const lines: string[] = [];
  for (let reach = tile.lanes / 2; reach >= 1; reach /= 2)
    lines.push(`${name} = ${join(name, `subgroupShuffleXor(${name}, ${reach}u)`)};`);
  return lines;
}

/** One row pass: every lane's part, the tree over the lanes, and what follows once per row. */
export function passLines(pass: RowPass, sweep: Sweep, places: Places): string[] {
  const { spec, tile, names, perElement } = sweep;
  const kept =
    pass.keep === true && perElement ? elementStore((k) => `v${k}`, sweep, places) : undefined;
  const add = (k: number): string =>
    kept === undefined
      ? `part = ${pass.join("part", pass.element)};`
      : `let v${k} = ${pass.element}; part = ${pass.join("part", `v${k}`)}; ${kept.each(k)}`;
  const reach = spec.reach === undefined ? names.units : "bound";
  const block = 64 * tile.lanes;
  const elements = [
    ...(kept === undefined ? [] : storedVector(sweep)),
    ...unitLoop(add, kept?.after ?? [], mentioned(pass.element, sweep), sweep, places),
  ];
  const blockLines = [
    `var part = ${pass.identity};`,
    `let end = min(c + ${block}u, ${reach});`,
    `for (var j = c; j < end; j += ${tile.lanes}u) {`,
    indent(elements.join("\n")),
    "}",
    `${pass.name} = ${pass.join(pass.name, "part")};`,
  ];
  return [
    `var ${pass.name} = ${pass.identity};`,
    ...guarded(sweep, [
      `for (var c = ly; c < ${reach}; c += ${block}u) {`,
      indent(blockLines.join("\n")),
      "}",
    ]),
    ...joinLines(pass, sweep),
    ...(pass.after === undefined ? [] : [pass.after]),
  ];
}

/** Joins the parts of a row's lanes. */
function joinLines(pass: RowPass, { tile }: Sweep): string[] {
  if (tile.lanes === 1) return [];
  return tile.shuffles
    ? shuffled(pass.name, (a, b) => pass.join(a, b), tile)
    : treeLines(pass, tile);
}

/** Joins the parts of a row's lanes in workgroup memory. */
function treeLines(pass: RowPass, tile: Tile): string[] {
  const memory = pass.pair === true ? "pairs_" : "shared_";
  const slot = `slot_${pass.name}`;
  const merged = pass.join(`${memory}[${slot}]`, `${memory}[${slot} + reach * ${tile.outputs}u]`);
  const step = ["workgroupBarrier();", `if (ly < reach) { ${memory}[${slot}] = ${merged}; }`];
  return [
    `let ${slot} = ly * ${tile.outputs}u + (${rowInGroup(tile)});`,
    "workgroupBarrier();",
    `${memory}[${slot}] = ${pass.name};`,
    `for (var reach = ${tile.lanes / 2}u; reach > 0u; reach >>= 1u) {`,
    indent(step.join("\n")),
    "}",
    "workgroupBarrier();",
    `${pass.name} = ${memory}[${rowInGroup(tile)}];`,
  ];
}

/** Writes the output: every element of the row, or the row's value. */
export function storeLines(sweep: Sweep, places: Places): string[] {
  const { spec, tile, names, finish } = sweep;
  const { dtype, value } = spec.output;
  if (sweep.perElement) {
    const store = elementStore(() => value, sweep, places);
    const elements = [
      ...storedVector(sweep),
      ...unitLoop(store.each, store.after, mentioned(value, sweep), sweep, places),
    ];
    return guarded(sweep, [
      `for (var j = ly; j < ${names.units}; j += ${tile.lanes}u) {`,
      indent(elements.join("\n")),
      "}",
    ]);
  }
  const store =
    finish === null
      ? `b${spec.inputs}[row] = ${toStored(dtype, value)};`
      : finish.store(value, "row");
  return [`if (ly == 0u && row < ${names.rows}) { ${store} }`];
}

/** Declares the vector that four stored elements are gathered in. */
function storedVector({ decls, spec }: Sweep): string[] {
  return at(decls, spec.inputs).vec ? [`var r: ${vec4Type(spec.output.dtype)};`] : [];
}

/** How an element of the output is stored, and what follows after each unit of them. */
function elementStore(
  value: (k: number) => string,
  sweep: Sweep,
  places: Places,
): { each: (k: number) => string; after: string[] } {
  const { spec, finish, vector } = sweep;
  const decl = at(sweep.decls, spec.inputs);
  const out = outputIndex(sweep);
  if (decl.vec)
    return {
      each: (k) => `r.${"xyzw".charAt(k)} = ${toStored(decl.dtype, value(k))};`,
      after: [`b${spec.inputs}[base${out} + j] = r;`],
    };
  const index = places.indexAt(out, vector ? "(at)" : "at");
  return {
    each: (k) =>
      finish === null
        ? `b${spec.inputs}[${index}] = ${toStored(decl.dtype, value(k))};`
        : finish.store(value(k), index),
    after: [],
  };
}

/** What loads the unit `j` of layout `i`, and WGSL of its elements. */
export function unitElements(
  i: number,
  j: string,
  sweep: Sweep,
  places: Places,
): { lines: string[]; values: string[] } {
  const { vector } = sweep;
  const decl = declOf(sweep, i);
  const binding = bindingOf(sweep, i);
  if (decl.vec) {
    const name = `x${j.replace(/\W+/g, "_")}`;
    return {
      lines: [`let ${name} = ${loadVec4(decl, binding, `base${i} + ${j}`)};`],
      values: Array.from("xyzw", (c) => `${name}.${c}`),
    };
  }
  const positions = vector ? [0, 1, 2, 3].map((k) => `(${j} * 4u + ${k}u)`) : [j];
  const values = positions.map((p) => loadElement(decl, binding, places.indexAt(i, p)));
  return { lines: [], values };
}

/** Loads of one unit, then `each(k)` inside a block with `a0…`, `at` bound to component k. */
function unitLoop(
  each: (k: number) => string,
  after: readonly string[],
  reads: readonly number[],
  sweep: Sweep,
  places: Places,
): string[] {
  const { vector } = sweep;
  const lines: string[] = [];
  for (const i of reads) {
    const decl = declOf(sweep, i);
    if (decl.vec) lines.push(`let x${i} = ${loadVec4(decl, bindingOf(sweep, i), `base${i} + j`)};`);
  }
  for (const k of vector ? [0, 1, 2, 3] : [0]) {
    const position = vector ? `j * 4u + ${k}u` : "j";
    const values = reads.map((i) => {
      const decl = declOf(sweep, i);
      const index = places.indexAt(i, vector ? `(${position})` : position);
      const name = i === outputIndex(sweep) ? "y" : `a${i}`;
      const value = decl.vec
        ? `x${i}.${"xyzw".charAt(k)}`
        : loadElement(decl, bindingOf(sweep, i), index);
      return `let ${name} = ${value};`;
    });
    lines.push(`{ let at = ${position}; ${values.join(" ")} ${each(k)} }`);
  }
  return [...lines, ...after];
}

/** The operands an expression reads, and the output where it reads back what was kept. */
function mentioned(text: string, sweep: Sweep): number[] {
  return [
    ...sweep.spec.operands.flatMap((_, i) => (new RegExp(`\\ba${i}\\b`).test(text) ? [i] : [])),
    ...(/\by\b/.test(text) ? [outputIndex(sweep)] : []),
  ];
}

/**
 * Replaces `elementN(index)` by a load of operand N at that position of the row. The index may hold
 * no parentheses.
 */
export function inlineElements(text: string, sweep: Sweep, places: Places): string {
  return text.replace(/\belement(\d+)\(([^()]*)\)/g, (_, n: string, index: string) => {
    const i = Number(n);
    const { binding } = at(sweep.spec.operands, i);
    return loadElement(at(sweep.decls, binding), binding, places.indexAt(i, `(${index})`));
  });
}
