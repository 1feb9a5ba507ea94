/**
 * Batched matrix product of any two strided views, [..., M, K] × [..., K, N] → contiguous [..., M,
 * N], accumulated in f32 (integers in their own type). Transposed views cost nothing: which
 * dimension is contiguous is part of the structure, strides are parameters.
 *
 *   registers software adapters, small products: each invocation keeps a tile of the output in
 *   registers and reads both operands from storage
 *   tiles      GPUs: a workgroup stages blocks of both operands in workgroup memory
 *   rows       few rows or columns: lanes of a workgroup split K
 *
 * Letters: M rows of the output, N columns, K summed, B batch. Owns nothing.
 */
import { at, last } from "../base/access.ts";
import { type Layout, broadcastLayout, collapse, stridedLayout } from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type Epilogue, type Finish, finishing } from "./fused.ts";
import { split, terms } from "./indices.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import {
  Params,
  type StorageDecl,
  computeType,
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
} from "./wgsl.ts";

export interface MatmulSpec {
  /** View [..., M, K]. Binding 0. */
  readonly a: View;
  /** View [..., K, N]. Binding 1. Same dtype as `a`. */
  readonly b: View;
  /** Takes each element of the product further; its bindings come in place of the output's. */
  readonly after?: Epilogue;
}

/**
 * Shape of the product; batch dimensions broadcast. The caller has checked that the operands fit.
 */
export function matmulShape(a: Shape, b: Shape): number[] {
  const ab = a.slice(0, -2),
    bb = b.slice(0, -2),
    rank = Math.max(ab.length, bb.length);
  const batch = Array.from({ length: rank }, (_, i) => {
    const x = ab[i - (rank - ab.length)] ?? 1,
      y = bb[i - (rank - bb.length)] ?? 1;
    return x === 1 ? y : x;
  });
  return [...batch, at(a, a.length - 2), last(b)];
}

/** Bindings: a, b, output (contiguous). With K = 0 the output is zeros. */
export function matmulKernel(spec: MatmulSpec, caps: DeviceCaps): Kernel {
  const p = problem(spec);
  if (caps.software) return registerKernel(p, caps);
  if (Math.min(p.m, p.n) <= 8) return rowsKernel(p, caps);
  return tiledKernel(p, caps);
}

// === The problem in one form ===

/** Which dimension of an operand four neighbours lie along. */
type Contiguity = "k" | "mn" | "none";

interface Side {
  readonly layout: Layout;
  readonly binding: number;
  /** Strides along the output dimension (m or n) and along k. */
  readonly outer: number;
  readonly inner: number;
  readonly batch: readonly number[];
  /** Loads may be aligned vec4 along this dimension. */
  readonly wide: Contiguity;
}

interface Problem {
  readonly dtype: View["dtype"];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batchShape: readonly number[];
  readonly batches: number;
  /**
   * Rows of the output; columns of the output. Swapped operands (see below) have their bindings
   * swapped too.
   */
  readonly a: Side;
  readonly b: Side;
  readonly after: Epilogue | undefined;
}

function problem({ a, b, after }: MatmulSpec): Problem {
  const shape = matmulShape(a.layout.shape, b.layout.shape),
    batch = shape.slice(0, -2);
  let m = at(shape, shape.length - 2),
    n = last(shape);
  const k = last(a.layout.shape);
  const la = broadcastLayout(a.layout, [...batch, m, k]),
    lb = broadcastLayout(b.layout, [...batch, k, n]);
  const cut = (l: Layout): Layout =>
    stridedLayout(l.shape.slice(0, -2), l.strides.slice(0, -2), l.offset);
  const merged = collapse([cut(la), cut(lb)]);
  const side = (
    l: Layout,
    binding: number,
    outer: number,
    inner: number,
    strides: readonly number[],
    outerSize: number,
  ): Side => {
    const others = k > 0 && strides.every((s) => s % 4 === 0) && l.offset % 4 === 0;
    const wide: Contiguity =
      others && inner === 1 && k % 4 === 0 && outer % 4 === 0
        ? "k"
        : others && outer === 1 && outerSize % 4 === 0 && inner % 4 === 0
          ? "mn"
          : "none";
    return { layout: l, binding, outer, inner, batch: strides, wide };
  };
  let sa = side(
    la,
    0,
    at(la.strides, la.strides.length - 2),
    last(la.strides),
    at(merged.strides, 0),
    m,
  );
  let sb = side(
    lb,
    1,
    last(lb.strides),
    at(lb.strides, lb.strides.length - 2),
    at(merged.strides, 1),
    n,
  );
  // A column times a matrix is the transposed problem: [M, K]·[K, 1] = ([1, K]·[K, M])ᵀ, and a
  // single row or column lies the same either way.
  if (n === 1 && m > 1) {
    [m, n] = [n, m];
    [sa, sb] = [sb, sa];
  }
  return {
    dtype: a.dtype,
    m,
    n,
    k,
    batchShape: merged.shape,
    batches: sizeOf(batch),
    a: sa,
    b: sb,
    after,
  };
}

/** Whether four neighbours of a row are stored at once. */
function storesWide(p: Problem): boolean {
  return p.after === undefined && p.n % 4 === 0;
}

function storages(
  p: Problem,
  wideA: boolean,
  wideB: boolean,
  wideOut: boolean,
  finish: Finish,
): StorageDecl[] {
  const decls: StorageDecl[] = [];
  decls[p.a.binding] = { dtype: p.dtype, vec: wideA, access: "read" };
  decls[p.b.binding] = { dtype: p.dtype, vec: wideB, access: "read" };
  return [
    ...decls,
    ...(wideOut ? [{ dtype: p.dtype, vec: true, access: "read_write" } as const] : finish.storages),
  ];
}

/** Lines that set `baseA` and `baseB` (in units of the declared loads) from `batch`. */
function batchBases(p: Problem, decls: readonly StorageDecl[], params: Params): string[] {
  const base = (name: string, s: Side): string => {
    const unit = at(decls, s.binding).vec ? 4 : 1;
    return (
      `let base${name} = ` +
      `${[params.u32(`offset${name}`, s.layout.offset / unit), ...terms("q", s.batch, `batch${name}`, unit, params)].join(" + ")};`
    );
  };
  return [
    ...(p.batches > 1
      ? split("batch", p.batchShape, "q", params)
      : p.batchShape.map((_, i) => `const q${i} = 0u;`)),
    base("A", p.a),
    base("B", p.b),
  ];
}

/** WGSL of a stride in units of a load; a stride of one unit needs no multiplication. */
function stride(
  params: Params,
  name: string,
  value: number,
  unit: number,
): (index: string) => string {
  if (value === unit) return (index) => index;
  if (value === 0) return () => "0u";
  const field = params.u32(name, value / unit);
  return (index) => `${index} * ${field}`;
}

// === Registers ===

/**
 * Each invocation computes `tm × tn` outputs from registers. Loads beyond the edge are clamped to
 * the last row or column, stores are guarded: no branch inside the loop. Measured on SwiftShader
 * and lavapipe: 4 × 8 is the largest tile that does not spill.
 */
function registerKernel(p: Problem, caps: DeviceCaps): Kernel {
  const params = new Params();
  const type = computeType(p.dtype);
  const tm = p.m >= 4 ? 4 : p.m >= 2 ? 2 : 1;
  const tn = p.n > 4 ? 8 : 4;
  const wideA = p.a.wide === "k" || (p.a.wide === "mn" && tm === 4),
    wideB = p.b.wide !== "none",
    wideOut = storesWide(p),
    finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, wideA, wideB, wideOut, finish);
  const step = p.k % 4 === 0 && p.k > 0 ? 4 : 1;
  const quads = tn / 4,
    tilesM = Math.ceil(p.m / tm),
    tilesN = Math.ceil(p.n / tn);
  const M = params.u32("M", p.m),
    N = params.u32("N", p.n),
    K = params.u32("K", p.k),
    TN = params.u32("tilesN", tilesN),
    tiles = params.u32("tiles", tilesM * tilesN);
  const total = params.u32("total", tilesM * tilesN * p.batches);
  const ua = wideA ? 4 : 1,
    ub = wideB ? 4 : 1;
  const am = stride(params, "am", p.a.outer, p.a.wide === "mn" && wideA ? 1 : ua),
    ak = stride(params, "ak", p.a.inner, p.a.wide === "k" && wideA ? 1 : ua);
  const bn = stride(params, "bn", p.b.outer, p.b.wide === "mn" && wideB ? 1 : ub),
    bk = stride(params, "bk", p.b.inner, p.b.wide === "k" && wideB ? 1 : ub);
  const load = (s: Side, index: string): string =>
    at(decls, s.binding).vec
      ? loadVec4(at(decls, s.binding), s.binding, index)
      : loadElement(at(decls, s.binding), s.binding, index);
  const rowsOf = Array.from({ length: tm }, (_, i) => i),
    columns = Array.from({ length: tn }, (_, j) => j),
    vec = `vec4<${type}>`;

  // Where each row of a and each column (or quad of columns) of b begins.
  const before: string[] = [];
  if (wideA && p.a.wide === "mn") before.push(`let rowA = baseA + min(m0, ${M} - 4u) / 4u;`);
  else
    rowsOf.forEach((i) =>
      before.push(`let rowA${i} = baseA + ${am(`min(m0 + ${i}u, ${M} - 1u)`)};`),
    );
  if (wideB && p.b.wide === "mn")
    for (let j = 0; j < quads; j++)
      before.push(`let colB${j} = baseB + min(n0 + ${4 * j}u, ${N} - 4u) / 4u;`);
  else
    columns.forEach((j) =>
      before.push(`let colB${j} = baseB + ${bn(`min(n0 + ${j}u, ${N} - 1u)`)};`),
    );

  const inner: string[] = [];
  const quadK = "k / 4u";
  const av: string[][] = Array.from({ length: step }, () => []); // av[kk][i]
  const bv: string[][] = Array.from({ length: step }, () => []); // bv[kk][quad]
  if (wideA && p.a.wide === "k")
    rowsOf.forEach((i) => {
      inner.push(`let a${i} = ${load(p.a, `rowA${i} + ${quadK}`)};`);
      for (let kk = 0; kk < step; kk++) at(av, kk)[i] = `a${i}.${"xyzw".charAt(kk)}`;
    });
  else
    for (let kk = 0; kk < step; kk++) {
      const k = step === 1 ? "k" : `(k + ${kk}u)`;
      if (wideA) {
        inner.push(`let a_${kk} = ${load(p.a, `rowA + ${ak(k)}`)};`);
        rowsOf.forEach((i) => {
          at(av, kk)[i] = `a_${kk}.${"xyzw".charAt(i)}`;
        });
      } else
        rowsOf.forEach((i) => {
          inner.push(`let a${i}_${kk} = ${load(p.a, `rowA${i} + ${ak(k)}`)};`);
          at(av, kk)[i] = `a${i}_${kk}`;
        });
    }
  if (wideB && p.b.wide === "k") {
    columns.forEach((j) => inner.push(`let b_${j} = ${load(p.b, `colB${j} + ${quadK}`)};`));
    for (let kk = 0; kk < step; kk++)
      for (let q = 0; q < quads; q++)
        at(bv, kk)[q] =
          `${vec}(${[0, 1, 2, 3].map((c) => `b_${4 * q + c}.${"xyzw".charAt(kk)}`).join(", ")})`;
  } else
    for (let kk = 0; kk < step; kk++)
      for (let q = 0; q < quads; q++) {
        const k = step === 1 ? "k" : `(k + ${kk}u)`;
        at(bv, kk)[q] = wideB
          ? load(p.b, `colB${q} + ${bk(k)}`)
          : `${vec}(${[0, 1, 2, 3].map((c) => load(p.b, `colB${4 * q + c} + ${bk(k)}`)).join(", ")})`;
      }
  // One statement per accumulator: SwiftShader keeps variables in memory, so each assignment is a
  // load and a store.
  const steps = Array.from({ length: step }, (_, kk) => kk);
  for (const kk of steps)
    for (let q = 0; q < quads; q++) inner.push(`let v${kk}_${q} = ${at(at(bv, kk), q)};`);
  rowsOf.forEach((i) => {
    for (let q = 0; q < quads; q++)
      inner.push(
        `c${i}_${q} += ${steps.map((kk) => `${at(at(av, kk), i)} * v${kk}_${q}`).join(" + ")};`,
      );
  });

  const store: string[] = [];
  // A wide load clamped at the edge has shifted rows: they are stored where they were loaded from,
  // with equal values.
  const shifted = wideA && p.a.wide === "mn";
  const n0 =
    wideB && p.b.wide === "mn"
      ? (q: number): string => `min(n0 + ${4 * q}u, ${N} - 4u)`
      : (q: number): string => `n0 + ${4 * q}u`;
  rowsOf.forEach((i) => {
    const row = shifted ? `min(m0, ${M} - 4u) + ${i}u` : `m0 + ${i}u`;
    const lines: string[] = [`let at = (batch * ${M} + ${row}) * ${N};`];
    for (let q = 0; q < quads; q++) {
      if (wideOut)
        lines.push(
          `if (n0 + ${4 * q}u < ${N}) { b2[(at + ${n0(q)}) / 4u] = ` +
            `${p.dtype === "float16" ? `vec4<f16>(c${i}_${q})` : `c${i}_${q}`}; }`,
        );
      else
        for (let c = 0; c < 4; c++)
          lines.push(
            `if (n0 + ${4 * q + c}u < ${N}) { ` +
              `${finish.store(`c${i}_${q}.${"xyzw".charAt(c)}`, `at + n0 + ${4 * q + c}u`)} }`,
          );
    }
    store.push(`if (m0 + ${i}u < ${M}) {`, indent(lines.join("\n")), "}");
  });

  const workgroup = 64;
  const main = [
    `let id = (wg.y * grid.x + wg.x) * ${workgroup}u + lane;`,
    `if (id >= ${total}) { return; }`,
    `let batch = id / ${tiles};`,
    `let tile = id % ${tiles};`,
    `let m0 = (tile / ${TN}) * ${tm}u;`,
    `let n0 = (tile % ${TN}) * ${tn}u;`,
    ...batchBases(p, decls, params),
    ...before,
    ...rowsOf.flatMap((i) => Array.from({ length: quads }, (_, q) => `var c${i}_${q} = ${vec}();`)),
    `for (var k = 0u; k < ${K}; k += ${step}u) {`,
    indent(inner.join("\n")),
    "}",
    ...store,
  ].join("\n");
  return makeKernel(
    {
      name: "matmul.registers",
      storages: decls,
      params,
      workgroupSize: [workgroup, 1, 1],
      main,
      helpers: finish.helpers,
      globals: finish.globals,
      workgroups:
        p.m * p.n === 0
          ? [0, 0, 0]
          : gridOf(Math.ceil((tilesM * tilesN * p.batches) / workgroup), caps),
    },
    caps,
  );
}

// === Workgroup memory ===

/**
 * 64 × 64 outputs by 256 invocations of 4 × 4, K in blocks of 16. Threads that load neighbouring
 * elements are neighbours along the contiguous dimension.
 */
function tiledKernel(p: Problem, caps: DeviceCaps): Kernel {
  const params = new Params(),
    type = computeType(p.dtype),
    vec = `vec4<${type}>`;
  const BM = 64,
    BN = 64,
    BK = 16,
    threads = 256;
  const wideA = p.a.wide !== "none",
    wideB = p.b.wide !== "none",
    wideOut = storesWide(p),
    finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, wideA, wideB, wideOut, finish);
  const tilesM = Math.ceil(p.m / BM),
    tilesN = Math.ceil(p.n / BN);
  const M = params.u32("M", p.m),
    N = params.u32("N", p.n),
    K = params.u32("K", p.k),
    TN = params.u32("tilesN", tilesN),
    tiles = params.u32("tiles", tilesM * tilesN);
  const total = params.u32("total", tilesM * tilesN * p.batches);

  // Stages a block [BK][64] of one side: element (k, x) at k * 64 + x, as quads along x.
  const stage = (name: "A" | "B", s: Side, size: string, origin: string): string[] => {
    const decl = at(decls, s.binding);
    if (s.wide === "none") {
      const ox = stride(params, `${name}x`, s.outer, 1),
        ok = stride(params, `${name}k`, s.inner, 1);
      // Four elements a thread; neighbours along whichever dimension is closer in memory.
      const alongK = Math.abs(s.inner) < Math.abs(s.outer);
      return [
        "for (var e = 0u; e < 4u; e++) {",
        indent(
          [
            `let slot = lane + e * ${threads}u;`,
            alongK
              ? `let kk = slot % ${BK}u; let x = slot / ${BK}u;`
              : `let x = slot % 64u; let kk = slot / 64u;`,
            `let gx = ${origin} + x; let gk = k0 + kk;`,
            `var v = ${type}();`,
            `if (gx < ${size} && gk < ${K}) { v = ` +
              `${loadElement(decl, s.binding, `base${name} + ${ox("gx")} + ${ok("gk")}`)}; }`,
            `tile${name}[kk * 16u + x / 4u][x % 4u] = v;`,
          ].join("\n"),
        ),
        "}",
      ];
    }
    if (s.wide === "mn") {
      const ok = stride(params, `${name}k`, s.inner, 4);
      return [
        "{",
        indent(
          [
            `let kk = lane / 16u; let x = lane % 16u;`,
            `let gx = ${origin} + x * 4u; let gk = k0 + kk;`,
            `var v = ${vec}();`,
            `if (gx < ${size} && gk < ${K}) { v = ` +
              `${loadVec4(decl, s.binding, `base${name} + gx / 4u + ${ok("gk")}`)}; }`,
            `tile${name}[lane] = v;`,
          ].join("\n"),
        ),
        "}",
      ];
    }
    const ox = stride(params, `${name}x`, s.outer, 4);
    return [
      "{",
      indent(
        [
          `let kq = lane % 4u; let x = lane / 4u;`,
          `let gx = ${origin} + x; let gk = k0 + kq * 4u;`,
          `var v = ${vec}();`,
          `if (gx < ${size} && gk < ${K}) { v = ` +
            `${loadVec4(decl, s.binding, `base${name} + ${ox("gx")} + gk / 4u`)}; }`,
          ...[0, 1, 2, 3].map(
            (c) => `tile${name}[(kq * 4u + ${c}u) * 16u + x / 4u][x % 4u] = v.${"xyzw".charAt(c)};`,
          ),
        ].join("\n"),
      ),
      "}",
    ];
  };
  const rows4 = [0, 1, 2, 3];
  const store = rows4.flatMap((i) => {
    const lines = [`let at = (batch * ${M} + m) * ${N} + n;`];
    if (wideOut)
      lines.push(
        `if (n < ${N}) { b2[at / 4u] = ${p.dtype === "float16" ? `vec4<f16>(c${i})` : `c${i}`}; }`,
      );
    else
      for (let c = 0; c < 4; c++)
        lines.push(
          `if (n + ${c}u < ${N}) { ${finish.store(`c${i}.${"xyzw".charAt(c)}`, `at + ${c}u`)} }`,
        );
    return [
      `{`,
      indent(
        [`let m = m0 + ty * 4u + ${i}u;`, `if (m < ${M}) {`, indent(lines.join("\n")), "}"].join(
          "\n",
        ),
      ),
      "}",
    ];
  });
  const main = [
    "let id = wg.y * grid.x + wg.x;",
    `if (id >= ${total}) { return; }`,
    `let batch = id / ${tiles};`,
    `let m0 = ((id % ${tiles}) / ${TN}) * ${BM}u;`,
    `let n0 = ((id % ${tiles}) % ${TN}) * ${BN}u;`,
    "let tx = lane % 16u;",
    "let ty = lane / 16u;",
    ...batchBases(p, decls, params),
    ...rows4.map((i) => `var c${i} = ${vec}();`),
    `for (var k0 = 0u; k0 < ${K}; k0 += ${BK}u) {`,
    indent(
      [
        ...stage("A", p.a, M, "m0"),
        ...stage("B", p.b, N, "n0"),
        "workgroupBarrier();",
        `for (var kk = 0u; kk < ${BK}u; kk++) {`,
        indent(
          [
            "let a = tileA[kk * 16u + ty];",
            "let b = tileB[kk * 16u + tx];",
            ...rows4.map((i) => `c${i} += a.${"xyzw".charAt(i)} * b;`),
          ].join("\n"),
        ),
        "}",
        "workgroupBarrier();",
      ].join("\n"),
    ),
    "}",
    "let n = n0 + tx * 4u;",
    ...store,
  ].join("\n");
  return makeKernel(
    {
      name: "matmul.tiles",
      storages: decls,
      params,
      workgroupSize: [threads, 1, 1],
      main,
      helpers: finish.helpers,
      globals:
        `${finish.globals}var<workgroup> tileA: array<${vec}, ${(BK * BM) / 4}>;\n` +
        `var<workgroup> tileB: array<${vec}, ${(BK * BN) / 4}>;\n`,
      workgroups: p.m * p.n === 0 ? [0, 0, 0] : gridOf(tilesM * tilesN * p.batches, caps),
    },
    caps,
  );
}

// === Few rows ===

/**
 * One output per `lanes` invocations, which split K and meet in workgroup memory. Neighbouring
 * threads read along the contiguous dimension of the large operand.
 */
function rowsKernel(p: Problem, caps: DeviceCaps): Kernel {
  const params = new Params(),
    type = computeType(p.dtype),
    threads = 256,
    finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, false, false, false, finish);
  const big = p.m <= p.n ? p.b : p.a,
    alongK = Math.abs(big.inner) <= Math.abs(big.outer);
  const outputs = p.m * p.n * p.batches;
  let lanes = alongK ? 32 : 4;
  while (lanes < threads && outputs * lanes < 65536 && lanes * 8 < p.k) lanes *= 2;
  while (lanes > 1 && lanes > p.k) lanes /= 2;
  const group = threads / lanes;
  const M = params.u32("M", p.m),
    N = params.u32("N", p.n),
    K = params.u32("K", p.k),
    total = params.u32("total", outputs);
  const am = stride(params, "am", p.a.outer, 1),
    ak = stride(params, "ak", p.a.inner, 1),
    bn = stride(params, "bn", p.b.outer, 1),
    bk = stride(params, "bk", p.b.inner, 1);
  const main = [
    alongK
      ? `let slot = lane / ${lanes}u; let part = lane % ${lanes}u;`
      : `let slot = lane % ${group}u; let part = lane / ${group}u;`,
    `let id = (wg.y * grid.x + wg.x) * ${group}u + slot;`,
    `var sum = ${type}();`,
    `if (id < ${total}) {`,
    indent(
      [
        // Outputs in an order that keeps neighbours together in the large operand.
        `let batch = id / (${M} * ${N});`,
        `let m = (id / ${N}) % ${M};`,
        `let n = id % ${N};`,
        ...batchBases(p, decls, params),
        `let rowA = baseA + ${am("m")};`,
        `let colB = baseB + ${bn("n")};`,
        `for (var k = part; k < ${K}; k += ${lanes}u) { sum += ` +
          `${loadElement(at(decls, p.a.binding), p.a.binding, `rowA + ${ak("k")}`)} * ` +
          `${loadElement(at(decls, p.b.binding), p.b.binding, `colB + ${bk("k")}`)}; }`,
      ].join("\n"),
    ),
    "}",
    `partial[part * ${group}u + slot] = sum;`,
    `for (var reach = ${Math.floor(lanes / 2)}u; reach > 0u; reach >>= 1u) {`,
    indent(
      [
        "workgroupBarrier();",
        `if (part < reach) { partial[part * ${group}u + slot] += partial[(part + reach) * ` +
          `${group}u + slot]; }`,
      ].join("\n"),
    ),
    "}",
    `if (part == 0u && id < ${total}) { ${finish.store("partial[slot]", "id")} }`,
  ].join("\n");
  return makeKernel(
    {
      name: "matmul.rows",
      storages: decls,
      params,
      workgroupSize: [threads, 1, 1],
      main,
      helpers: finish.helpers,
      globals: `${finish.globals}var<workgroup> partial: array<${type}, ${threads}>;\n`,
      workgroups: outputs === 0 ? [0, 0, 0] : gridOf(Math.ceil(outputs / group), caps),
    },
    caps,
  );
}
