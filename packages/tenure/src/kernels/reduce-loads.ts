/**
 * How a reduction reads its input: as vectors, one by one, or through a function where an operand's
 * dimensions do not merge as the input's do. Called by reduce.ts. Owns nothing.
 */
import { computeType } from "../base/dtype.ts";
import { at } from "../base/access.ts";
import { type Layout, collapse } from "../base/layout.ts";
import { type Operand, type Prologue, chainFunction } from "./fused.ts";
import { split, terms } from "./indices.ts";
import { type Params, type StorageDecl, indent, loadElement, loadVec4 } from "./wgsl.ts";

/**
 * A WGSL function from a position among the reduced elements to where an operand has it, for
 * operands whose dimensions do not merge as the input's do.
 */
export interface Jump {
  readonly name: string;
  readonly text: string;
}

/** The function for a layout. */
export function jump(name: string, l: Layout, params: Params): Jump {
  const { shape, strides } = collapse([l]);
  const coordinates = split("at", shape, `${name}x`, params);
  const parts = terms(`${name}x`, at(strides, 0), `${name}s`, 1, params);
  const lines = [...coordinates, `return ${parts.join(" + ")};`];
  return { name, text: `fn ${name}(at: u32) -> u32 {\n${indent(lines.join("\n"))}}\n` };
}

/** What the loads of elements are made from. */
interface LoadSpec {
  readonly before: Prologue | undefined;
  readonly operands: readonly Operand[];
  readonly decls: readonly StorageDecl[];
  /** How to step from one element to the next, per operand. */
  readonly steps: readonly (number | Jump)[];
  readonly vector: boolean;
  /** The text `… + ` of the position of this row's first element, or nothing. */
  readonly position: string;
  readonly params: Params;
}

/** Text of the loads. */
export interface ElementLoads {
  /** Lines that load one unit `j` as vectors. */
  readonly lines: readonly string[];
  /** Expressions of the mapped elements of unit `j`, an expression when loads are single. */
  readonly values: (j: string) => string[];
  readonly globals: string;
}

/** Loads of the elements of one unit, put through the chain before the reduction if any. */
export function elementLoads(spec: LoadSpec): ElementLoads {
  const { before, operands, decls, steps, vector, position, params } = spec;
  const lines: string[] = [];
  const argument = operands.map((o, i): ((k: number, j: string) => string) => {
    const decl = at(decls, o.binding);
    if (decl.vec) {
      lines.push(`let x${i} = ${loadVec4(decl, o.binding, `row${i} + j`)};`);
      return (k) => `x${i}.${"xyzw".charAt(k)}`;
    }
    const s = at(steps, i);
    if (typeof s !== "number")
      return (k, j) =>
        loadElement(
          decl,
          o.binding,
          `row${i} + ${s.name}(${position}${vector ? `${j} * 4u + ${k}u` : j})`,
        );
    const factor = s === 0 || s === 1 ? "" : ` * ${params.u32(`s${i}inner`, s)}`;
    return (k, j) =>
      loadElement(
        decl,
        o.binding,
        s === 0 ? `row${i}` : `row${i} + ${vector ? `(j * 4u + ${k}u)` : j}${factor}`,
      );
  });
  const ks = vector ? [0, 1, 2, 3] : [0];
  if (before === undefined)
    return { lines, values: (j) => ks.map((k) => at(argument, 0)(k, j)), globals: "" };
  const jumps = steps.map((s) => (typeof s === "number" ? "" : s.text)).join("");
  const globals =
    jumps +
    chainFunction({
      name: "body",
      args: operands.map((o, i) => `a${i}: ${computeType(o.view.dtype)}`),
      types: [computeType(before.dtype)],
      chain: before,
      params,
    });
  return {
    lines,
    values: (j) => ks.map((k) => `body(${argument.map((f) => f(k, j)).join(", ")})`),
    globals,
  };
}
