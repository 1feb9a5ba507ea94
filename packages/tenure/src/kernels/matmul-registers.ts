/**
 * The matrix product of software adapters: each invocation keeps a tile of the output in registers
 * and reads both operands from storage. Where there are subgroups, the lanes of a workgroup may lie
 * along the same rows and read a together. Where there are few outputs and K is long, the lanes of
 * a workgroup split K, and their sums are added in order. Called by matmul.ts. Owns nothing.
 */
import { computeType } from "../base/dtype.ts";
import { at } from "../base/access.ts";
import { type Finish, eachColumn, eachRow, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import {
  type Problem,
  type Side,
  type TileFields,
  batchBases,
  storages,
  storesWide,
  stride,
  tileFields,
} from "./matmul-problem.ts";
import {
  Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
} from "./wgsl.ts";

/** What the parts of one kernel's text share. */
interface Plan {
  readonly p: Problem;
  readonly vec: string;
  readonly decls: readonly StorageDecl[];
  readonly finish: Finish;
  readonly wideOut: boolean;
  /** Which dimension of each side is loaded as vec4. */
  readonly wideA: Side["wide"];
  readonly wideB: Side["wide"];
  /** Rows of the tile, its columns, and its columns in fours: `0, 1, …`. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly quads: readonly number[];
  /** Elements of K that one turn of the loop takes: `0, 1, …`. */
  readonly steps: readonly number[];
  readonly fields: TileFields;
  /** Lanes that share rows, or 1. */
  readonly lanes: number;
  /** Lanes among which loads of four elements of a are divided, or 1. */
  readonly fetchers: number;
  /** Lanes that split K, or 1. */
  readonly parts: number;
  /** Offsets along each dimension of each side, in units of its loads. */
  readonly am: (index: string) => string;
  readonly ak: (index: string) => string;
  readonly bn: (index: string) => string;
  readonly bk: (index: string) => string;
}

/** Statements to come first, and the expressions they make, by step of K and then by part. */
interface Loads {
  readonly lines: readonly string[];
  readonly values: readonly (readonly string[])[];
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

function component(vector: string, index: number): string {
  return `${vector}.${"xyzw".charAt(index)}`;
}

/**
 * Outputs of an invocation. On SwiftShader and lavapipe, 4 × 8 is the largest tile that does not
 * spill.
 */
export interface RegisterTile {
  readonly rows: 2 | 4;
  readonly columns: 4 | 8;
  /**
   * A turn of the loop takes one element of K rather than four: a third of the code, and of the
   * time that compilers take for it.
   */
  readonly short?: true;
}

/**
 * A larger tile, for lanes of a subgroup that share what they read of a: each lane loads one of
 * four elements along K, and the others get it by `subgroupBroadcast`. All lanes of a workgroup lie
 * along the same rows, so it does not matter which of them make a subgroup, nor how many: there are
 * at least four. K is a multiple of four.
 */
export interface SharedTile {
  readonly rows: 8 | 16;
  readonly columns: 4 | 8;
  /** Invocations of a workgroup. */
  readonly lanes: number;
  /**
   * So many lanes, no more than a subgroup has, load four elements of a at a time, each another
   * four: a is read with fewer loads, which cost more than the arithmetic where each lane of a
   * load is one by itself.
   */
  readonly fetchers?: 4 | 8;
}

/** A tile of which each lane of a workgroup computes a part: every so many elements of K. */
export interface SplitTile {
  readonly rows: 4;
  readonly columns: 8;
  readonly parts: 16 | 64;
}

/** What an invocation computes, or a workgroup. */
export type Tile = RegisterTile | SharedTile | SplitTile;

/** Rows of the tile: as many as the output has, up to `most`. */
function rowsOf(m: number, most: number): number {
  if (m >= most) return most;
  return m >= 2 ? 2 : 1;
}

function planOf(p: Problem, params: Params, tile: Tile): Plan {
  const lanes = "lanes" in tile ? tile.lanes : 1;
  const parts = "parts" in tile ? tile.parts : 1;
  const tm = rowsOf(p.m, tile.rows);
  const tn = p.n > 4 ? tile.columns : 4;
  const short = "short" in tile && tile.short;
  const usable = (wide: Side["wide"]): Side["wide"] => (short && wide === "k" ? "none" : wide);
  const fetchers = "fetchers" in tile && tile.rows === tm ? (tile.fetchers ?? 1) : 1;
  const alone = lanes > 1 || (p.a.wide === "mn" && tm !== 4) ? "none" : usable(p.a.wide);
  const wideA = fetchers > 1 ? p.a.wide : alone;
  const wideB = usable(p.b.wide);
  const wideOut = parts === 1 && storesWide(p);
  const finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, wideA !== "none", wideB !== "none", wideOut, finish);
  const fields = tileFields(p, tm, tn * lanes, params);
  const unitA = wideA === "none" ? 1 : 4;
  const unitB = wideB === "none" ? 1 : 4;
  return {
    p,
    vec: `vec4<${computeType(p.dtype)}>`,
    decls,
    finish,
    wideOut,
    wideA,
    wideB,
    rows: upTo(tm),
    columns: upTo(tn),
    quads: upTo(tn / 4),
    steps: upTo(p.k % 4 === 0 && p.k > 0 && !short ? 4 : 1),
    fields,
    lanes,
    fetchers: wideA === "none" ? 1 : fetchers,
    parts,
    am: stride(params, "am", p.a.outer, wideA === "mn" ? 1 : unitA),
    ak: stride(params, "ak", p.a.inner, wideA === "k" ? 1 : unitA),
    bn: stride(params, "bn", p.b.outer, wideB === "mn" ? 1 : unitB),
    bk: stride(params, "bk", p.b.inner, wideB === "k" ? 1 : unitB),
  };
}

function load({ decls }: Plan, s: Side, index: string): string {
  const decl = at(decls, s.binding);
  return decl.vec ? loadVec4(decl, s.binding, index) : loadElement(decl, s.binding, index);
}

/** Position `step` of this turn of the loop over K. */
function positionOf({ steps }: Plan, step: number): string {
  return steps.length === 1 ? "k" : `(k + ${step}u)`;
}

/** Loads of four elements of a that a lane makes in a turn. */
function fetches({ rows, fetchers }: Plan): number[] {
  return upTo(rows.length / fetchers);
}

/** Where a lane's loads of a begin: in a row of its own, or at one of the tile's fours of rows. */
function fetchStarts(plan: Plan): string[] {
  const { fetchers, am, wideA } = plan;
  const { M } = plan.fields;
  const own = `(sub & ${fetchers - 1}u)`;
  if (wideA === "k")
    return fetches(plan).map((f) => {
      const row = `min(m0 + ${f * fetchers}u + ${own}, ${M} - 1u)`;
      return `let rowA${f} = baseA + ${am(row)};`;
    });
  return fetches(plan).map((f) => {
    const first = f * fetchers;
    const row = fetchers === 4 ? `${first}u` : `${first}u + (sub & 4u)`;
    return `let rowA${f} = baseA + min(m0 + ${row}, ${M} - 4u) / 4u;`;
  });
}

/** Where each row of a and each column (or quad of columns) of b begins. */
function operandStarts(plan: Plan): string[] {
  const { M, N } = plan.fields;
  const rows =
    plan.fetchers > 1
      ? fetchStarts(plan)
      : plan.wideA === "mn"
        ? [`let rowA = baseA + min(m0, ${M} - 4u) / 4u;`]
        : plan.rows.map((i) => `let rowA${i} = baseA + ${plan.am(`min(m0 + ${i}u, ${M} - 1u)`)};`);
  const columns =
    plan.wideB === "mn"
      ? plan.quads.map((j) => `let colB${j} = baseB + min(n0 + ${4 * j}u, ${N} - 4u) / 4u;`)
      : plan.columns.map((j) => `let colB${j} = baseB + ${plan.bn(`min(n0 + ${j}u, ${N} - 1u)`)};`);
  return [...rows, ...columns];
}

/** The elements of a, by step of K and row. */
function loadsOfA(plan: Plan): Loads {
  const { p, rows, steps, ak } = plan;
  if (plan.fetchers > 1) return fetchedOfA(plan);
  if (plan.lanes > 1)
    return {
      lines: [
        `let part = ${ak("(k + (sub & 3u))")};`,
        ...rows.map((i) => `let a${i} = ${load(plan, p.a, `rowA${i} + part`)};`),
        ...steps.flatMap((step) =>
          rows.map((i) => `let a${i}_${step} = subgroupBroadcast(a${i}, ${step}u);`),
        ),
      ],
      values: steps.map((step) => rows.map((i) => `a${i}_${step}`)),
    };
  if (plan.wideA === "k")
    return {
      lines: rows.map((i) => `let a${i} = ${load(plan, p.a, `rowA${i} + k / 4u`)};`),
      values: steps.map((step) => rows.map((i) => component(`a${i}`, step))),
    };
  if (plan.wideA === "mn")
    return {
      lines: steps.map(
        (step) => `let a_${step} = ${load(plan, p.a, `rowA + ${ak(positionOf(plan, step))}`)};`,
      ),
      values: steps.map((step) => rows.map((i) => component(`a_${step}`, i))),
    };
  return {
    lines: steps.flatMap((step) =>
      rows.map((i) => {
        const index = `rowA${i} + ${ak(positionOf(plan, step))}`;
        return `let a${i}_${step} = ${load(plan, p.a, index)};`;
      }),
    ),
    values: steps.map((step) => rows.map((i) => `a${i}_${step}`)),
  };
}

/**
 * The elements of a where lanes load four each: along K a lane has a row, along M it has a step of
 * K of four rows. Everyone gets them from the lane that has them.
 */
function fetchedOfA(plan: Plan): Loads {
  const { p, rows, steps, ak, fetchers, wideA } = plan;
  const loads = fetches(plan).map((f) => {
    const index = wideA === "k" ? "k / 4u" : ak("(k + (sub & 3u))");
    return `let f${f} = ${load(plan, p.a, `rowA${f} + ${index}`)};`;
  });
  const from = (name: string, lane: number): string =>
    `let ${name} = subgroupBroadcast(f${Math.floor(lane / fetchers)}, ${lane % fetchers}u);`;
  if (wideA === "k")
    return {
      lines: [...loads, ...rows.map((i) => from(`a${i}`, i))],
      values: steps.map((step) => rows.map((i) => component(`a${i}`, step))),
    };
  const fours = upTo(rows.length / 4);
  return {
    lines: [
      ...loads,
      ...fours.flatMap((four) => steps.map((step) => from(`a${four}_${step}`, 4 * four + step))),
    ],
    values: steps.map((step) => rows.map((i) => component(`a${Math.floor(i / 4)}_${step}`, i % 4))),
  };
}

/** The elements of b, by step of K and quad of columns. */
function loadsOfB(plan: Plan): Loads {
  const { p, columns, quads, steps, bk, vec } = plan;
  const gathered = (of: (column: number) => string) => (quad: number) =>
    `${vec}(${[0, 1, 2, 3].map((c) => of(4 * quad + c)).join(", ")})`;
  if (plan.wideB === "k")
    return {
      lines: columns.map((j) => `let b_${j} = ${load(plan, p.b, `colB${j} + k / 4u`)};`),
      values: steps.map((step) => quads.map(gathered((j) => component(`b_${j}`, step)))),
    };
  const single = (step: number) => (part: number) =>
    load(plan, p.b, `colB${part} + ${bk(positionOf(plan, step))}`);
  return {
    lines: [],
    values: steps.map((step) =>
      quads.map(plan.wideB === "mn" ? single(step) : gathered(single(step))),
    ),
  };
}

/**
 * One turn of the loop over K. One statement per accumulator: SwiftShader keeps variables in
 * memory, so each assignment is a load and a store.
 */
function accumulate(plan: Plan): string[] {
  const { rows, quads, steps } = plan;
  const a = loadsOfA(plan);
  const b = loadsOfB(plan);
  const products = (i: number, q: number): string =>
    steps.map((step) => `${at(at(a.values, step), i)} * v${step}_${q}`).join(" + ");
  return [
    ...a.lines,
    ...b.lines,
    ...steps.flatMap((step) =>
      quads.map((q) => `let v${step}_${q} = ${at(at(b.values, step), q)};`),
    ),
    ...rows.flatMap((i) => quads.map((q) => `c${i}_${q} += ${products(i, q)};`)),
  ];
}

/** Stores four neighbours of a row, where the output has them. */
function storeQuad(plan: Plan, value: string, q: number): string {
  const { N } = plan.fields;
  const column = plan.wideB === "mn" ? `min(n0 + ${4 * q}u, ${N} - 4u)` : `n0 + ${4 * q}u`;
  const stored = plan.p.dtype === "float16" ? `vec4<f16>(${value})` : value;
  return `if (n0 + ${4 * q}u < ${N}) { b2[(at + ${column}) / 4u] = ${stored}; }`;
}

/**
 * Stores the tile, four neighbours at a time where nothing comes between. Wide loads clamped at the
 * edge have shifted rows: they are stored where they were loaded from, with equal values.
 */
function storeTile(plan: Plan, params: Params): string[] {
  const { M, N } = plan.fields;
  const { wideOut, finish, rows, columns, quads } = plan;
  const first = plan.wideA === "mn" ? `min(m0, ${M} - 4u)` : "m0";
  const stores = (row: readonly string[]): string[] =>
    wideOut
      ? row.map((value, q) => storeQuad(plan, value, q))
      : eachColumn(row, params, `if (n0 + j < ${N}) { ${finish.store("result", "at + n0 + j")} }`);
  const values = rows.flatMap((i) =>
    wideOut
      ? quads.map((q) => `c${i}_${q}`)
      : columns.map((j) => component(`c${i}_${Math.floor(j / 4)}`, j % 4)),
  );
  return eachRow(values, values.length / rows.length, params, (row) => [
    `if (m0 + i >= ${M}) { break; }`,
    `let at = (batch * ${M} + ${first} + i) * ${N};`,
    ...stores(row),
  ]);
}

/** Adds what the lanes of a workgroup computed, in order, and stores it: an output a turn. */
function joinParts(plan: Plan): string[] {
  const { rows, columns, quads, parts, finish, p, fields } = plan;
  const vectors = rows.length * quads.length;
  const each = [
    `let i = n / ${columns.length}u;`,
    `let j = n % ${columns.length}u;`,
    `var sum = ${computeType(p.dtype)}();`,
    `for (var part = 0u; part < ${parts}u; part++) {`,
    `  sum += partial[part * ${vectors}u + n / 4u][n % 4u];`,
    "}",
    `if (m0 + i < ${fields.M} && n0 + j < ${fields.N}) {`,
    `  ${finish.store("sum", `(batch * ${fields.M} + m0 + i) * ${fields.N} + n0 + j`)}`,
    "}",
  ];
  return [
    ...rows.flatMap((i) =>
      quads.map((q) => {
        const place = i * quads.length + q;
        return `partial[lane * ${vectors}u + ${place}u] = c${i}_${q};`;
      }),
    ),
    "workgroupBarrier();",
    `for (var n = lane; n < ${rows.length * columns.length}u; n += ${parts}u) {`,
    indent(each.join("\n")),
    "}",
  ];
}

/**
 * Each invocation computes a tile of outputs from registers, or a part of one. Loads beyond the
 * edge are clamped to the last row or column, stores are guarded: no branch inside the loop.
 */
export function registerKernel(p: Problem, caps: DeviceCaps, tile: Tile): Kernel {
  const params = new Params();
  const plan = planOf(p, params, tile);
  const { fields, rows, columns, quads, steps, vec, decls, finish, lanes, parts } = plan;
  const shared = lanes > 1;
  // what a workgroup computes: a row of tiles, one tile, or a tile for each invocation
  const together = shared || parts > 1;
  const workgroup = together ? Math.max(lanes, parts) : 64;
  const column = `tile % ${fields.tilesN}`;
  const main = [
    `let id = ${together ? flatWorkgroup : `(${flatWorkgroup}) * ${workgroup}u + lane`};`,
    `if (id >= ${fields.total}) { return; }`,
    `let batch = id / ${fields.tiles};`,
    `let tile = id % ${fields.tiles};`,
    `let m0 = (tile / ${fields.tilesN}) * ${rows.length}u;`,
    `let n0 = (${shared ? `(${column}) * ${lanes}u + lane` : column}) * ${columns.length}u;`,
    ...batchBases(p, decls, params),
    ...operandStarts(plan),
    ...rows.flatMap((i) => quads.map((q) => `var c${i}_${q} = ${vec}();`)),
    parts > 1
      ? `for (var k = lane * ${steps.length}u; k < ${fields.K}; k += ${parts * steps.length}u) {`
      : `for (var k = 0u; k < ${fields.K}; k += ${steps.length}u) {`,
    indent(accumulate(plan).join("\n")),
    "}",
    ...(parts > 1 ? joinParts(plan) : storeTile(plan, params)),
  ].join("\n");
  const partials = parts * rows.length * quads.length;
  return makeKernel(
    {
      name: shared ? "matmul.subgroups" : parts > 1 ? "matmul.split" : "matmul.registers",
      storages: decls,
      params,
      workgroupSize: [workgroup, 1, 1],
      main,
      helpers: finish.helpers,
      globals:
        finish.globals + (parts > 1 ? `var<workgroup> partial: array<${vec}, ${partials}>;\n` : ""),
      workgroups:
        p.m * p.n === 0
          ? [0, 0, 0]
          : gridOf(together ? fields.count : Math.ceil(fields.count / workgroup), caps),
    },
    caps,
  );
}
