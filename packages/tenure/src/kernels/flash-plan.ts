/**
 * What the text of attention kernels is made of: sides, results, rows as components of a vector,
 * and loads. Called by flash.ts and flash-text.ts. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import { type StorageDecl, loadElement, loadVec4 } from "./wgsl.ts";

/** An operand, with the WGSL of where it lies in units of its loads. */
export interface Operand {
  /** Q, K, V, G (gradient of the result), R (logarithms and products of rows) or M (mask). */
  readonly name: string;
  readonly binding: number;
  readonly unit: 1 | 4;
  readonly base: string;
  /** Strides of a row and of a feature; null where features are neighbours. */
  readonly row: string;
  readonly feature: string | null;
}

/** Features in units of a load: how wide one is, and the WGSL of their number. */
export interface Features {
  readonly unit: 1 | 4;
  readonly count: string;
}

/** All that the text depends on; strings are WGSL. */
export interface FlashPlan {
  readonly goal: "output" | "query gradient" | "key gradient";
  readonly decls: readonly StorageDecl[];
  readonly operands: readonly Operand[];
  readonly mask: DType | undefined;
  readonly causal: boolean;
  /** Rows of an invocation, and of the other side that are taken at once. */
  readonly rows: 1 | 4;
  readonly columns: 4 | 8;
  /** Rows of a block in workgroup memory; null where blocks are read from storage. */
  readonly block: number | null;
  /** Invocations of a workgroup that shares blocks. */
  readonly lanes: number;
  /** Results grow in private memory; counts of features are literals. */
  readonly registers: boolean;
  readonly E: Features;
  readonly F: Features;
  readonly L: string;
  readonly S: string;
  readonly scale: string;
  readonly low: string;
  readonly nan: string;
  readonly tiles: string;
  readonly total: string;
  readonly dropout: { readonly seeds: readonly string[]; readonly keep: string } | null;
  readonly coordinates: readonly string[];
}

/** A result: its binding and features, and what adds to it: weights times a block. */
export interface Target {
  readonly binding: number;
  readonly features: Features;
  readonly weights: "w" | "d";
  readonly from: string;
}

/** 0, 1, … */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Names of both sides: operands of the rows, of the blocks, and how many rows each has. */
export function sidesOf({ goal, L, S }: FlashPlan) {
  return goal === "key gradient"
    ? { own: ["K", "V"], other: ["Q", "G"], rows: S, columns: L }
    : { own: ["Q", "G"], other: ["K", "V"], rows: L, columns: S };
}

/** The results of a kernel, and what adds to them. */
export function targetsOf({ goal, decls, E, F }: FlashPlan): Target[] {
  const first = decls.findIndex((d) => d.access === "read_write");
  if (goal === "output") return [{ binding: first, features: F, weights: "w", from: "V" }];
  if (goal === "query gradient") return [{ binding: first, features: E, weights: "d", from: "K" }];
  return [
    { binding: first, features: E, weights: "d", from: "Q" },
    { binding: first + 1, features: F, weights: "w", from: "G" },
  ];
}

/** A row of values, of numbers and of answers: as many as an invocation has rows. */
export function types(plan: FlashPlan): { f: string; u: string; b: string } {
  const of = (t: string): string => (plan.rows === 4 ? `vec4<${t}>` : t);
  return { f: of("f32"), u: of("u32"), b: of("bool") };
}

/** One of the rows. */
export function part(plan: FlashPlan, value: string, i: number): string {
  return plan.rows === 4 ? `${value}.${"xyzw".charAt(i)}` : value;
}

/** A row of values from an expression for each. */
export function joined(plan: FlashPlan, type: string, of: (i: number) => string): string {
  return plan.rows === 1 ? of(0) : `${type}(${upTo(4).map(of).join(", ")})`;
}

/** The operand of a name; undefined where this kernel has none. */
export function operandOf({ operands }: FlashPlan, name: string): Operand | undefined {
  return operands.find((o) => o.name === name);
}

/** WGSL that loads unit `e` of the row of an operand that begins at `start`. */
export function load(plan: FlashPlan, name: string, start: string, e: string): string {
  const operand = operandOf(plan, name)!;
  const decl = at(plan.decls, operand.binding);
  const step = operand.feature === null ? e : `${e} * ${operand.feature}`;
  const index = `${start} + ${step}`;
  return operand.unit === 4
    ? loadVec4(decl, operand.binding, index)
    : loadElement(decl, operand.binding, index);
}

/** Row `j` of the block, unit `e`. */
export function loadOther(plan: FlashPlan, name: string, j: number, e: string): string {
  const features = name === "Q" || name === "K" ? plan.E : plan.F;
  return plan.block === null
    ? load(plan, name, `${name}y${j}`, e)
    : `tile${name}[(c + ${j}u) * ${features.count} + ${e}]`;
}
