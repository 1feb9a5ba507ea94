/**
 * How reductions add up: one accumulator per kind of reduction, with its text for an element, for
 * the tree over the lanes, and for the result. Called by the generators of reductions and scans.
 * Text only; owns nothing.
 */
import { at } from "../base/access.ts";
import { type DType, computeType, type ComputeType } from "../base/dtype.ts";
import type { Operand, Prologue } from "./fused.ts";
import type { Tile } from "./tile.ts";
import { type Params, indent, infBits, nanBits, negInfBits } from "./wgsl.ts";

/** The kinds of reduction. */
export type ReduceOp =
  "sum" | "mean" | "max" | "min" | "prod" | "argMax" | "argMin" | "any" | "all";

/** The text of one kind of reduction. */
export interface Accumulator {
  readonly helpers: readonly string[];
  readonly globals: string;
  /** Goes through blocks of 64: `part`, `level1`, `total`. */
  readonly blocked: boolean;
  /** Elements must come in order of position, one at a time. */
  readonly ordered?: boolean;
  readonly open: readonly string[];
  /** Lines that take in the elements `values`, the k-th at position `positionOf(k)`. */
  add(values: readonly string[], positionOf: (k: number) => string): string[];
  readonly close: readonly string[];
  /** Workgroup memory of `n` accumulators. */
  shared(n: number): string;
  /** Lines that leave the whole in lane 0. */
  tree(tile: Tile): string[];
  /** The output value in the output's compute type. */
  readonly result: string;
}

/** The accumulator of a reduction over `length` elements. */
export function accumulator(
  spec: { readonly op: ReduceOp; readonly outDtype: DType; readonly before?: Prologue },
  params: Params,
  length: number,
  operands: readonly Operand[],
): Accumulator {
  const from = computeType(spec.before?.dtype ?? at(operands, 0).view.dtype),
    to = computeType(spec.outDtype);
  if (spec.op === "argMax" || spec.op === "argMin") return argAccumulator(spec.op, from, to);
  if (spec.op === "any" || spec.op === "all") {
    return simple({
      type: "bool",
      from,
      to,
      identity: spec.op === "any" ? "false" : "true",
      join: (a, b) => `${a} ${spec.op === "any" ? "||" : "&&"} ${b}`,
      helpers: [],
    });
  }
  if (spec.op === "max" || spec.op === "min") {
    const type = from === "bool" ? "u32" : from,
      isMax = spec.op === "max";
    const start = {
      f32: isMax ? negInfBits : infBits,
      i32: isMax ? 0x80000000 : 0x7fffffff,
      u32: isMax ? 0 : 0xffffffff,
    };
    const identity = `bitcast<${type}>(${params.u32("identity", start[type])})`;
    const fn = type === "f32" ? (isMax ? "nanMax" : "nanMin") : spec.op;
    return simple({
      type,
      from,
      to,
      identity,
      join: (a, b) => `${fn}(${a}, ${b})`,
      helpers: type === "f32" ? [fn] : [],
    });
  }
  const type = to === "bool" ? "u32" : to;
  if (spec.op === "prod")
    return simple({
      type,
      from,
      to,
      identity: `${type}(1)`,
      join: (a, b) => `${a} * ${b}`,
      helpers: [],
    });
  // The mean of nothing is NaN: it starts there.
  const identity =
    spec.op === "mean"
      ? `bitcast<f32>(${params.u32("identity", length === 0 ? nanBits : 0)})`
      : `${type}(0)`;
  const mean = spec.op === "mean" ? ` / ${params.f32("length", Math.max(length, 1))}` : "";
  return {
    ...simple({ type, from, to, identity, join: (a, b) => `${a} + ${b}`, helpers: [] }),
    blocked: true,
    ...blockedText(type, from, identity),
    result: convert(`total${mean}`, type, to),
  };
}

function simple(a: {
  type: ComputeType;
  from: ComputeType;
  to: ComputeType;
  identity: string;
  join: (a: string, b: string) => string;
  helpers: readonly string[];
}): Accumulator {
  return {
    helpers: a.helpers,
    globals: "",
    blocked: false,
    open: [`var total: ${a.type} = ${a.identity};`],
    add: (values) => {
      const v = values.map((x) => convert(x, a.from, a.type));
      const pair = (i: number): string => `(${a.join(at(v, i), at(v, i + 1))})`;
      const all = v.length === 1 ? at(v, 0) : `(${a.join(pair(0), pair(2))})`;
      return [`total = ${a.join("total", all)};`];
    },
    close: [],
    shared: (n) => `var<workgroup> shared_: array<${a.type}, ${n}>;\n`,
    tree: (tile) => [
      `let slot = ly * ${tile.outputs}u + (lane ` +
        `${tile.outputsFast ? `% ${tile.outputs}u` : `/ ${tile.lanes}u`});`,
      "shared_[slot] = total;",
      `for (var reach = ${tile.lanes / 2}u; reach > 0u; reach >>= 1u) {`,
      indent(
        [
          "workgroupBarrier();",
          "if (ly < reach) { shared_[slot] = " +
            `${a.join("shared_[slot]", `shared_[slot + reach * ${tile.outputs}u]`)}; }`,
        ].join("\n"),
      ),
      "}",
      "total = shared_[slot];",
    ],
    result: convert("total", a.type, a.to),
  };
}

function blockedText(
  type: ComputeType,
  from: ComputeType,
  identity: string,
): Pick<Accumulator, "globals" | "open" | "add" | "close"> {
  return {
    globals: `fn acc0() -> ${type} { return ${identity}; }\n`,
    open: ["var total = acc0();", "var level1 = acc0();", "var parts = 0u;"],
    add: (values) => {
      const v = values.map((x) => convert(x, from, type));
      return [
        v.length === 1
          ? `part += ${at(v, 0)};`
          : `part += (${at(v, 0)} + ${at(v, 1)}) + (${at(v, 2)} + ${at(v, 3)});`,
      ];
    },
    close: ["total += level1;"],
  };
}

function argAccumulator(op: "argMax" | "argMin", from: ComputeType, to: ComputeType): Accumulator {
  const type = from === "bool" ? "u32" : from,
    cmp = op === "argMax" ? ">" : "<";
  const wins = type === "f32" ? `select(v ${cmp} bv, !isNan(bv), isNan(v))` : `v ${cmp} bv`;
  const ties = type === "f32" ? "(v == bv || (isNan(v) && isNan(bv)))" : "v == bv";
  return {
    helpers: type === "f32" ? ["isNan"] : [],
    blocked: false,
    ordered: true,
    globals:
      `const none = 0xffffffffu;\nfn better(v: ${type}, i: u32, bv: ${type}, bi: u32) -> ` +
      "bool {\n  if (i == none || bi == none) { return bi == none && i != none; }\n" +
      `  return ${wins} || (${ties} && i < bi);\n` +
      "}\n",
    open: [`var best: ${type}; var bestAt = none;`],
    add: (values, positionOf) =>
      values.flatMap((x, k) => [
        `{ let v = ${convert(x, from, type)}; let i = ${positionOf(k)}; if (better(v, i, ` +
          "best, bestAt)) { best = v; bestAt = i; } }",
      ]),
    close: [],
    shared: (n) =>
      `var<workgroup> sharedValue: array<${type}, ${n}>;\n` +
      `var<workgroup> sharedAt: array<u32, ${n}>;\n`,
    tree: (tile) => [
      `let slot = ly * ${tile.outputs}u + (lane ` +
        `${tile.outputsFast ? `% ${tile.outputs}u` : `/ ${tile.lanes}u`});`,
      "sharedValue[slot] = best; sharedAt[slot] = bestAt;",
      `for (var reach = ${tile.lanes / 2}u; reach > 0u; reach >>= 1u) {`,
      indent(
        [
          "workgroupBarrier();",
          "if (ly < reach) {",
          `  let other = slot + reach * ${tile.outputs}u;`,
          "  if (better(sharedValue[other], sharedAt[other], sharedValue[slot], " +
            "sharedAt[slot])) { sharedValue[slot] = sharedValue[other]; sharedAt[slot] = " +
            "sharedAt[other]; }",
          "}",
        ].join("\n"),
      ),
      "}",
      "bestAt = sharedAt[slot];",
    ],
    result: to === "u32" ? "bestAt" : convert("bestAt", "u32", to),
  };
}

/**
 * WGSL conversion between compute types; anything but zero is true. By bits for floats: `NaN !=
 * 0.0` is false on some adapters.
 */
export function convert(value: string, from: ComputeType, to: ComputeType): string {
  if (from === to) return value;
  if (to === "bool")
    return from === "f32" ? `((bitcast<u32>(${value}) << 1u) != 0u)` : `(${value} != ${from}(0))`;
  if (from === "bool") return `select(${to}(0), ${to}(1), ${value})`;
  return `${to}(${value})`;
}
