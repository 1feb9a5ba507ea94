/**
 * `summary`: a table of a module's layers, what they give and what they hold. It runs the module on
 * zeros in evaluation mode without gradients and frees everything it made, so that nobody needs the
 * results and nothing is computed. Called by users; borrows the module.
 */
import { type DType, checkDType, dtypeBytes } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, describeValue, readOptions } from "../base/options.ts";
import { type Shape, checkShape, formatShape } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { zeros } from "../tensor/create.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type AnyModule, Module, observeCalls } from "./module.ts";

/** One line of the table. */
export interface SummaryRow {
  /** Dotted path, the class name for the outermost module. */
  readonly name: string;
  /** Class. */
  readonly type: string;
  /** How deep in the tree. */
  readonly depth: number;
  /** What it gave, as text; "–" if it was not called. */
  readonly output: string;
  /** Parameters of its own, without its children's. */
  readonly parameters: number;
  /** Bytes of its own parameters and buffers. */
  readonly bytes: number;
}

/** What `summary` gives: the rows of the table and their totals. */
export interface Summary {
  readonly rows: readonly SummaryRow[];
  /** Numbers in all parameters, each counted once. */
  readonly parameters: number;
  readonly trainable: number;
  /** Bytes of all parameters and buffers. */
  readonly bytes: number;
  /** The table. */
  toString(): string;
}

/** Options of `summary`. */
export interface SummaryOptions {
  /**
   * Dtype of the inputs: "int32" for layers that begin with an embedding. One for all, or one each.
   */
  readonly dtype?: DType | readonly DType[];
}

const summaryOptions = {
  dtype: { type: "any", check: checkDTypes, default: "float32" },
} satisfies OptionTable<SummaryOptions>;

/** @throws DTypeError unless `value` is a dtype, or a list of them */
function checkDTypes(op: string, value: unknown): void {
  for (const dtype of Array.isArray(value) ? value : [value]) checkDType(op, dtype);
}

const isShape = (value: Shape | readonly Shape[]): value is Shape =>
  value.every((d) => typeof d === "number");

/**
 * @param inputShape the shape of the input, batch included; a list of shapes for modules of several
 *   tensors
 * @throws what the module throws for inputs of this shape, ArgumentError for what is no module or
 *   no shape, ShapeError for dimensions that are none, DTypeError for an unknown dtype
 * @example
 * ```ts
 * console.log(summary(model, [1, 4]).parameters); // → 131
 * ```
 */
export function summary<A extends readonly unknown[]>(
  module: Module<A, unknown>,
  inputShape: Shape | readonly Shape[],
  options?: SummaryOptions,
): Summary {
  const { dtype } = readOptions("summary", options, summaryOptions);
  if (!((module as unknown) instanceof Module))
    throw new ArgumentError(
      "summary",
      "a module",
      describeValue(module),
      "pass for example new Sequential(…)",
    );
  if (!(Array.isArray as (v: unknown) => boolean)(inputShape))
    throw new ArgumentError(
      "summary",
      "the shape of the input",
      describeValue(inputShape),
      "pass for example [1, 3, 32, 32]",
    );
  const shapes = isShape(inputShape) ? [inputShape] : inputShape;
  for (const shape of shapes) checkShape("summary", shape);
  if (typeof dtype !== "string" && dtype.length !== shapes.length)
    throw new ArgumentError(
      "summary",
      `a dtype for each of ${shapes.length} inputs`,
      String(dtype.length),
      "pass one for all, or one each",
    );
  const outputs = new Map<AnyModule, string>(),
    all = [...module.namedModules()],
    modes = all.map(([, m]) => m.training);
  module.eval();
  try {
    using _ = newDisposeScope("summary");
    const inputs = shapes.map((shape, i) =>
      zeros(shape, { dtype: typeof dtype === "string" ? dtype : dtype[i]! }),
    );
    noGrad(() => {
      observeCalls(
        (called, _args, result) => {
          outputs.set(called, describe(result));
        },
        () => module.call(...(inputs as unknown as A)),
      );
    });
  } finally {
    // Children first: train() reaches down.
    for (let i = 0; i < all.length; i++) all[i]![1].train(modes[i]);
  }
  const size = (tensors: readonly Tensor[]): number => tensors.reduce((n, t) => n + t.size, 0),
    bytesOf = (tensors: readonly Tensor[]): number =>
      tensors.reduce((n, t) => n + t.size * dtypeBytes(t.dtype), 0);
  const own = ownTensors(module);
  const rows = all.map(([name, m]): SummaryRow => ({
    name: name === "" ? m.constructor.name : name,
    type: m.constructor.name,
    depth: name === "" ? 0 : name.split(".").length,
    output: outputs.get(m) ?? "–",
    parameters: size(own.get(name)?.parameters ?? []),
    bytes: bytesOf([...(own.get(name)?.parameters ?? []), ...(own.get(name)?.buffers ?? [])]),
  }));
  const parameters = [...new Set(module.parameters())],
    buffers = [...new Set([...module.namedBuffers()].map(([, b]) => b))];
  const totals = {
    parameters: size(parameters),
    trainable: size(parameters.filter((p) => p.requiresGrad)),
    bytes: bytesOf([...parameters, ...buffers]),
  };
  return { rows, ...totals, toString: () => format(rows, totals) };
}

/** Tensors by the path of the module that holds them. */
function ownTensors(module: AnyModule): Map<string, { parameters: Tensor[]; buffers: Tensor[] }> {
  const found = new Map<string, { parameters: Tensor[]; buffers: Tensor[] }>();
  const at = (name: string): { parameters: Tensor[]; buffers: Tensor[] } => {
    const path = name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "",
      known = found.get(path) ?? { parameters: [], buffers: [] };
    found.set(path, known);
    return known;
  };
  for (const [name, p] of module.namedParameters()) at(name).parameters.push(p);
  for (const [name, b] of module.namedBuffers()) at(name).buffers.push(b);
  return found;
}

/** Shapes of the tensors in a result. */
function describe(result: unknown): string {
  if (result instanceof Tensor) return formatShape(result.shape);
  if (Array.isArray(result)) return result.map(describe).join(" ");
  if (typeof result !== "object" || result === null) return typeof result;
  return Object.entries(result)
    .map(([name, value]) => `${name} ${describe(value)}`)
    .join(" ");
}

function format(
  rows: readonly SummaryRow[],
  totals: { readonly parameters: number; readonly trainable: number; readonly bytes: number },
): string {
  const number = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const lines = rows.map((r) => [
    `${"  ".repeat(r.depth)}${r.depth === 0 ? r.type : `${r.name.split(".").at(-1)}: ${r.type}`}`,
    r.output,
    r.parameters === 0 ? "" : number(r.parameters),
    r.bytes === 0 ? "" : number(r.bytes),
  ]);
  const table = [["layer", "output", "parameters", "bytes"], ...lines],
    width = [0, 1, 2, 3].map((c) => Math.max(...table.map((line) => line[c]!.length)));
  const text = table.map((line) =>
    line
      .map((cell, c) => (c < 2 ? cell.padEnd(width[c]!) : cell.padStart(width[c]!)))
      .join("  ")
      .trimEnd(),
  );
  const rule = "─".repeat(width.reduce((a, b) => a + b, 6));
  const rest = totals.parameters - totals.trainable;
  const frozen = rest > 0 ? ` (${number(rest)} frozen)` : "";
  return [
    text[0],
    rule,
    ...text.slice(1),
    rule,
    `${number(totals.parameters)} parameters${frozen}, ${number(totals.bytes)} bytes`,
  ].join("\n");
}
