/**
 * The matrix product of GPUs: a workgroup stages blocks of both operands in workgroup memory and
 * computes a tile of 64 × 64 or 128 × 64 outputs from them. Called by matmul.ts. Owns nothing.
 */
import { computeType } from "../base/dtype.ts";
import { at } from "../base/access.ts";
import { type Finish, finishing } from "./fused.ts";
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
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
} from "./wgsl.ts";

/** Columns of a tile, elements of K in a block, invocations of a workgroup. */
const tileN = 64;
const blockK = 16;
const threads = 256;

/** What the parts of one kernel's text share. */
interface Plan {
  readonly p: Problem;
  readonly type: string;
  readonly vec: string;
  readonly decls: readonly StorageDecl[];
  readonly finish: Finish;
  readonly fields: TileFields;
  readonly params: Params;
  /** Rows of a tile. */
  readonly tileM: 64 | 128;
  /** Rows of an invocation: `0, 1, …`. */
  readonly rows: readonly number[];
  /** The next block is staged while one is multiplied: there is room for two of each side. */
  readonly double: boolean;
}

/** One side on its way into workgroup memory. */
interface Staged {
  readonly name: "A" | "B";
  readonly side: Side;
  /** The field with its size, and the variable with the tile's first row or column. */
  readonly size: string;
  readonly origin: string;
  /** Rows or columns of a block. */
  readonly width: 64 | 128;
}

/** Where a block is staged, before the place in it; the same for the block that is multiplied. */
function room({ double }: Plan, name: "A" | "B", which: "to" | "from"): string {
  return double ? `${which}${name} + ` : "";
}

/** Four elements for each invocation; twice as many of a wider block. */
function perInvocation(width: number, lines: readonly string[]): string[] {
  if (width === 64) return ["{", indent(["let slot = lane;", ...lines].join("\n")), "}"];
  const slot = `let slot = lane + e * ${threads}u;`;
  return [`for (var e = 0u; e < ${width / 64}u; e++) {`, indent([slot, ...lines].join("\n")), "}"];
}

/** Four elements a thread; neighbours along whichever dimension is closer in memory. */
function stageElements(plan: Plan, { name, side, size, origin, width }: Staged): string[] {
  const x = stride(plan.params, `${name}x`, side.outer, 1);
  const k = stride(plan.params, `${name}k`, side.inner, 1);
  const index = `base${name} + ${x("gx")} + ${k("gk")}`;
  const element = loadElement(at(plan.decls, side.binding), side.binding, index);
  const alongK = Math.abs(side.inner) < Math.abs(side.outer);
  const lines = [
    `let slot = lane + e * ${threads}u;`,
    alongK
      ? `let kk = slot % ${blockK}u; let x = slot / ${blockK}u;`
      : `let x = slot % ${width}u; let kk = slot / ${width}u;`,
    `let gx = ${origin} + x; let gk = k0 + kk;`,
    `var v = ${plan.type}();`,
    `if (gx < ${size} && gk < ${plan.fields.K}) { v = ${element}; }`,
    `tile${name}[${room(plan, name, "to")}kk * ${width / 4}u + x / 4u][x % 4u] = v;`,
  ];
  return [`for (var e = 0u; e < ${width / 16}u; e++) {`, indent(lines.join("\n")), "}"];
}

/** A vec4 a thread, of four neighbours along the output's dimension. */
function stageAcross(plan: Plan, { name, side, size, origin, width }: Staged): string[] {
  const k = stride(plan.params, `${name}k`, side.inner, 4);
  const index = `base${name} + gx / 4u + ${k("gk")}`;
  const lines = [
    `let kk = slot / ${width / 4}u; let x = slot % ${width / 4}u;`,
    `let gx = ${origin} + x * 4u; let gk = k0 + kk;`,
    `var v = ${plan.vec}();`,
    `if (gx < ${size} && gk < ${plan.fields.K}) { v = ` +
      `${loadVec4(at(plan.decls, side.binding), side.binding, index)}; }`,
    `tile${name}[${room(plan, name, "to")}slot] = v;`,
  ];
  return perInvocation(width, lines);
}

/** A vec4 a thread, of four neighbours along K. */
function stageAlong(plan: Plan, { name, side, size, origin, width }: Staged): string[] {
  const x = stride(plan.params, `${name}x`, side.outer, 4);
  const index = `base${name} + ${x("gx")} + gk / 4u`;
  const lines = [
    "let kq = slot % 4u; let x = slot / 4u;",
    `let gx = ${origin} + x; let gk = k0 + kq * 4u;`,
    `var v = ${plan.vec}();`,
    `if (gx < ${size} && gk < ${plan.fields.K}) { v = ` +
      `${loadVec4(at(plan.decls, side.binding), side.binding, index)}; }`,
    ...[0, 1, 2, 3].map(
      (c) =>
        `tile${name}[${room(plan, name, "to")}(kq * 4u + ${c}u) * ${width / 4}u + x / 4u]` +
        `[x % 4u] = ` +
        `v.${"xyzw".charAt(c)};`,
    ),
  ];
  return perInvocation(width, lines);
}

/**
 * Stages a block [16][width] of one side: element (k, x) at k * width + x, as quads along x.
 * Threads that load neighbouring elements are neighbours along the contiguous dimension.
 */
function stage(plan: Plan, staged: Staged): string[] {
  if (staged.side.wide === "none") return stageElements(plan, staged);
  return staged.side.wide === "mn" ? stageAcross(plan, staged) : stageAlong(plan, staged);
}

/** Adds the products of one staged block to the outputs of each invocation. */
function multiplyBlock(plan: Plan): string[] {
  const { rows, tileM } = plan;
  const quads = rows.length / 4;
  const a = (q: number): string => `kk * ${tileM / 4}u + ty * ${quads}u + ${q}u`;
  const lines = [
    ...upTo(quads).map((q) => `let a${q} = tileA[${room(plan, "A", "from")}${a(q)}];`),
    `let b = tileB[${room(plan, "B", "from")}kk * 16u + tx];`,
    ...rows.map((i) => `c${i} += a${i >> 2}.${"xyzw".charAt(i % 4)} * b;`),
  ];
  return [`for (var kk = 0u; kk < ${blockK}u; kk++) {`, indent(lines.join("\n")), "}"];
}

/** Stores row `i` of the outputs of an invocation, as far as it lies within the output. */
function storeRow({ p, finish, rows, fields: { M, N } }: Plan, i: number): string[] {
  const stored = p.dtype === "float16" ? `vec4<f16>(c${i})` : `c${i}`;
  const lines = [
    `let at = (batch * ${M} + m) * ${N} + n;`,
    ...(storesWide(p)
      ? [`if (n < ${N}) { b2[at / 4u] = ${stored}; }`]
      : [0, 1, 2, 3].map(
          (c) =>
            `if (n + ${c}u < ${N}) { ` +
            `${finish.store(`c${i}.${"xyzw".charAt(c)}`, `at + ${c}u`)} }`,
        )),
  ];
  const row = [
    `let m = m0 + ty * ${rows.length}u + ${i}u;`,
    `if (m < ${M}) {`,
    indent(lines.join("\n")),
    "}",
  ];
  return ["{", indent(row.join("\n")), "}"];
}

/** Blocks are staged and multiplied in turns. */
function inTurns(plan: Plan, staging: readonly string[]): string[] {
  const block = [...staging, "workgroupBarrier();", ...multiplyBlock(plan), "workgroupBarrier();"];
  return [
    `for (var k0 = 0u; k0 < ${plan.fields.K}; k0 += ${blockK}u) {`,
    indent(block.join("\n")),
    "}",
  ];
}

/** The next block is loaded while one is multiplied: one barrier a block. */
function overlapped(plan: Plan, staging: readonly string[]): string[] {
  const { K } = plan.fields;
  const [sizeA, sizeB] = [(blockK * plan.tileM) / 4, (blockK * tileN) / 4];
  const stagedAt = (k: string, place: string): string =>
    indent(
      [
        `let k0 = ${k};`,
        `let toA = ${place} * ${sizeA}u;`,
        `let toB = ${place} * ${sizeB}u;`,
        ...staging,
      ].join("\n"),
    );
  const block = [
    `let fromA = place * ${sizeA}u;`,
    `let fromB = place * ${sizeB}u;`,
    `if (kb + ${blockK}u < ${K}) {`,
    stagedAt(`kb + ${blockK}u`, "(1u - place)"),
    "}",
    ...multiplyBlock(plan),
    "workgroupBarrier();",
    "place = 1u - place;",
  ];
  return [
    "var place = 0u;",
    "{",
    stagedAt("0u", "0u"),
    "}",
    "workgroupBarrier();",
    `for (var kb = 0u; kb < ${K}; kb += ${blockK}u) {`,
    indent(block.join("\n")),
    "}",
  ];
}

/** Each of 256 invocations computes 4 × 4 or 8 × 4 of a tile's outputs; K in blocks of 16. */
function mainOf(plan: Plan): string {
  const { p, vec, decls, params, fields, rows, tileM } = plan;
  const bases = batchBases(p, decls, params);
  const staging = [
    ...stage(plan, { name: "A", side: p.a, size: fields.M, origin: "m0", width: tileM }),
    ...stage(plan, { name: "B", side: p.b, size: fields.N, origin: "n0", width: tileN }),
  ];
  return [
    "let id = wg.y * grid.x + wg.x;",
    `if (id >= ${fields.total}) { return; }`,
    `let batch = id / ${fields.tiles};`,
    `let m0 = ((id % ${fields.tiles}) / ${fields.tilesN}) * ${tileM}u;`,
    `let n0 = ((id % ${fields.tiles}) % ${fields.tilesN}) * ${tileN}u;`,
    "let tx = lane % 16u;",
    "let ty = lane / 16u;",
    ...bases,
    ...rows.map((i) => `var c${i} = ${vec}();`),
    ...(plan.double ? overlapped(plan, staging) : inTurns(plan, staging)),
    "let n = n0 + tx * 4u;",
    ...rows.flatMap((i) => storeRow(plan, i)),
  ].join("\n");
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Bytes of workgroup memory that tiles take. */
export function tileBytes(tileM: 64 | 128, double: boolean): number {
  return (double ? 2 : 1) * 4 * blockK * (tileM + tileN);
}

/**
 * The product by tiles of `tileM` × 64 in workgroup memory. Bindings: a, b, output. `double`: with
 * room for two blocks, so that one is loaded while the other is multiplied.
 */
export function tiledKernel(p: Problem, caps: DeviceCaps, tileM: 64 | 128, double = false): Kernel {
  const params = new Params();
  const type = computeType(p.dtype);
  const vec = `vec4<${type}>`;
  const finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, p.a.wide !== "none", p.b.wide !== "none", storesWide(p), finish);
  const fields = tileFields(p, tileM, tileN, params);
  const rows = upTo(tileM / 16);
  const blocks = double ? 2 : 1;
  const main = mainOf({ p, type, vec, decls, finish, fields, params, tileM, rows, double });
  return makeKernel(
    {
      name: "matmul.tiles",
      storages: decls,
      params,
      workgroupSize: [threads, 1, 1],
      main,
      helpers: finish.helpers,
      globals:
        finish.globals +
        `var<workgroup> tileA: array<${vec}, ${(blocks * blockK * tileM) / 4}>;\n` +
        `var<workgroup> tileB: array<${vec}, ${(blocks * blockK * tileN) / 4}>;\n`,
      workgroups: p.m * p.n === 0 ? [0, 0, 0] : gridOf(fields.count, caps),
    },
    caps,
  );
}
