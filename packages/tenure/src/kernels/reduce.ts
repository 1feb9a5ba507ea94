/**
 * Reductions over any axes of any strided view, in one dispatch and in one fixed order per shape
 * (same bits on every run). A workgroup is a rectangle of `outputs × lanes`: lanes share one output
 * and meet in a tree in workgroup memory. One lane is "a thread per output", one output is "a
 * workgroup per output". Neighbouring threads take neighbouring memory: outputs when the kept axis
 * is innermost, lanes when the reduced one is. Sums go through three levels of partial sums, so the
 * error grows like the cube root of the length. Owns nothing.
 */
import { at, last } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import {
  type Layout,
  broadcastLayout,
  collapse,
  reshapeLayout,
  stridedLayout,
} from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type ReduceOp, accumulator } from "./accumulators.ts";
import { type Epilogue, type Operand, type Prologue, chainFunction, finishing } from "./fused.ts";
import { split, terms } from "./indices.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { chooseTile } from "./tile.ts";
import {
  Params,
  type StorageDecl,
  computeType,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
} from "./wgsl.ts";

export interface ReduceSpec {
  readonly op: ReduceOp;
  /** Binding 0. With `before`, only its shape counts. */
  readonly input: View;
  /** Sorted, not negative; empty means nothing is reduced. */
  readonly axes: readonly number[];
  /**
   * Dtype of the contiguous output, the last binding. Sums accumulate in f32, or in i32/u32 when
   * this is an integer.
   */
  readonly outDtype: DType;
  readonly before?: Prologue;
  readonly after?: Epilogue;
}

/**
 * One output per kept position, row-major. `argMax`/`argMin` give the first position in row-major
 * order of the reduced axes; NaN counts as the extreme. Nothing to reduce gives the identity: 0, 1,
 * ∓infinity, false/true; NaN for `mean`.
 */
export function reduceKernel(spec: ReduceSpec, caps: DeviceCaps): Kernel {
  const inShape = spec.input.layout.shape;
  const operands = spec.before?.operands ?? [{ view: spec.input, binding: 0 }];
  const layouts = operands.map((o) => broadcastLayout(o.view.layout, inShape));
  const reduced = inShape.map((_, i) => spec.axes.includes(i));
  // The order of accumulation is that of the input where it lies in memory, also when it is
  // computed on the way: the same bits either way.
  const alone = [
      pick(spec.input.layout, reduced, false),
      pick(spec.input.layout, reduced, true),
    ].map((l) => collapse([l])),
    walk0 = at(alone, 1);
  const kept = collapse(
    (layouts.length > 0 ? layouts : [spec.input.layout]).map((l) => pick(l, reduced, false)),
  ); // a chain may need no operand
  const over = {
    shape: walk0.shape,
    strides: layouts.map((l) => along(pick(l, reduced, true), walk0.shape)),
  };
  const outputs = sizeOf(kept.shape),
    length = sizeOf(over.shape);
  const inner = last(over.shape),
    outer = length === 0 ? 0 : length / inner;

  const vector =
    inner % 4 === 0 &&
    length > 0 &&
    inFours(spec.input.layout.offset, at(at(alone, 0).strides, 0), at(walk0.strides, 0));
  const decls = storageDecls(operands, kept, over, layouts, vector);
  const innerUnits = vector ? inner / 4 : inner;
  const params = new Params();
  const acc = accumulator(spec, params, length, operands);
  const tile = chooseTile({
    outputs,
    outer,
    innerUnits,
    rowwise: at(walk0.strides, 0).at(-1) === 1,
    caps,
  });
  const lanesOverOuter = tile.lanes > 1 && outer > innerUnits;
  const names = {
    outputs: params.u32("outputs", outputs),
    outer: params.u32("outer", outer),
    inner: params.u32("inner", innerUnits),
  };

  // Where the operands of output `o` begin.
  const start = [
    ...split("o", kept.shape, "k", params),
    ...operands.map((_, i) => {
      const unit = at(decls, at(operands, i).binding).vec ? 4 : 1;
      return (
        `let base${i} = ` +
        `${sum([params.u32(`o${i}`, at(layouts, i).offset / unit), ...terms("k", at(kept.strides, i), `t${i}k`, unit, params)])};`
      );
    }),
  ];
  // Where they stand after the outer reduced dimensions.
  const outerShape = over.shape.slice(0, -1);
  const move = [
    ...(outerShape.length > 0 ? split("u", outerShape, "v", params) : []),
    ...operands.map((_, i) => {
      const unit = at(decls, at(operands, i).binding).vec ? 4 : 1;
      return (
        `let row${i} = ` +
        `${sum([`base${i}`, ...terms("v", over.strides[i]?.slice(0, -1) ?? [], `t${i}v`, unit, params)])};`
      );
    }),
  ];

  const outerLoop = lanesOverOuter ? ["ly", `${tile.lanes}u`] : ["0u", "1u"],
    innerLoop = lanesOverOuter ? ["0u", "1u"] : ["ly", `${tile.lanes}u`];
  const position = outerShape.length > 0 ? `u * ${names.inner}${vector ? " * 4u" : ""} + ` : "";
  const positionOf = (k: number): string => `${position}${vector ? `j * 4u + ${k}u` : "j"}`;
  const visit = elementLoads(
    spec,
    operands,
    decls,
    over.strides.map(
      (s, i) => s?.at(-1) ?? jump(`jump${i}`, pick(at(layouts, i), reduced, true), params),
    ),
    vector,
    position,
    params,
  );
  const stride = `${innerLoop[1]}`;
  // Single elements go four to a statement as well: SwiftShader keeps variables in memory, and GPUs
  // like loads in flight.
  const walk = (first: string, end: string): string[] => {
    const step = (values: readonly string[]): string =>
      indent([...visit.lines, ...acc.add(values, positionOf)].join("\n"));
    if (vector || acc.ordered)
      return [`for (var j = ${first}; j < ${end}; j += ${stride}) {`, step(visit.values("j")), "}"];
    const four = [0, 1, 2, 3].map((n) =>
      at(visit.values(n === 0 ? "j" : `(j + ${n * (lanesOverOuter ? 1 : tile.lanes)}u)`), 0),
    );
    return [
      `var j = ${first};`,
      `for (; j + ${3 * (lanesOverOuter ? 1 : tile.lanes)}u < ${end}; j += ` +
        `${4 * (lanesOverOuter ? 1 : tile.lanes)}u) {`,
      step(four),
      "}",
      `for (; j < ${end}; j += ${stride}) {`,
      step(visit.values("j")),
      "}",
    ];
  };
  const block = 64 * (lanesOverOuter ? 1 : tile.lanes);
  const chunked = acc.blocked
    ? [
        `for (var c = ${innerLoop[0]}; c < ${names.inner}; c += ${block}u) {`,
        indent(
          [
            "var part = acc0();",
            `let end = min(c + ${block}u, ${names.inner});`,
            ...walk("c", "end"),
            "level1 += part;",
            "parts += 1u;",
            "if (parts == 64u) { total += level1; level1 = acc0(); parts = 0u; }",
          ].join("\n"),
        ),
        "}",
      ]
    : walk(at(innerLoop, 0), names.inner);
  const work = [
    ...start,
    `for (var u = ${outerLoop[0]}; u < ${names.outer}; u += ${outerLoop[1]}) {`,
    indent([...move, ...chunked].join("\n")),
    "}",
    ...acc.close,
  ];

  const one = tile.lanes === 1;
  const [ox, ly] = tile.outputsFast
    ? [`lane % ${tile.outputs}u`, `lane / ${tile.outputs}u`]
    : [`lane / ${tile.lanes}u`, `lane % ${tile.lanes}u`];
  const finish = finishing(spec.after, spec.outDtype, decls.length, params),
    store = finish.store(acc.result, "o");
  const main = [
    `let o = (${flatWorkgroup}) * ${tile.outputs}u + ` +
      `${tile.outputs === 1 ? "0u" : one ? "lane" : ox};`,
    one ? "const ly = 0u;" : `let ly = ${ly};`,
    ...acc.open,
    `if (o < ${names.outputs}) {`,
    indent(work.join("\n")),
    "}",
    ...(one
      ? [`if (o < ${names.outputs}) { ${store} }`]
      : [...acc.tree(tile), `if (ly == 0u && o < ${names.outputs}) { ${store} }`]),
  ].join("\n");

  return makeKernel(
    {
      name: `reduce.${spec.op}`,
      params,
      helpers: [...(spec.before?.helpers ?? []), ...acc.helpers, ...finish.helpers],
      storages: [...decls, ...finish.storages],
      workgroupSize: [tile.outputs * tile.lanes, 1, 1],
      globals: `${visit.globals}${acc.globals}${finish.globals}${one ? "" : acc.shared(tile.outputs * tile.lanes)}`,
      main,
      workgroups: gridOf(Math.ceil(outputs / tile.outputs), caps),
    },
    caps,
  );
}

/** The dimensions of a layout that are reduced (or kept). */
function pick(l: Layout, reduced: readonly boolean[], which: boolean): Layout {
  const keep = (_: number, i: number): boolean => reduced[i] === which;
  return stridedLayout(l.shape.filter(keep), l.strides.filter(keep), l.offset);
}

/**
 * Strides of a layout over `shape`, into which the dimensions it has were merged; null where it
 * cannot be walked that way.
 */
function along(l: Layout, shape: Shape): readonly number[] | null {
  if (sizeOf(shape) <= 1) return shape.map(() => 0);
  return reshapeLayout(l, shape)?.strides ?? null;
}

/** Whether steps of four elements along the last stride can be loaded as vectors. */
function inFours(offset: number, kept: readonly number[], over: readonly number[]): boolean {
  return (
    over.at(-1) === 1 &&
    offset % 4 === 0 &&
    over.slice(0, -1).every((s) => s % 4 === 0) &&
    kept.every((s) => s % 4 === 0)
  );
}

function sum(parts: readonly string[]): string {
  return parts.join(" + ");
}

function storageDecls(
  operands: readonly Operand[],
  kept: { strides: number[][] },
  over: { strides: readonly (readonly number[] | null)[] },
  layouts: readonly Layout[],
  vector: boolean,
): StorageDecl[] {
  const count = operands.reduce((n, o) => Math.max(n, o.binding + 1), 0);
  const fits = (i: number): boolean => {
    const o = at(over.strides, i);
    return o !== null && inFours(at(layouts, i).offset, at(kept.strides, i), o);
  };
  return Array.from({ length: count }, (_, b) => {
    const here = operands.flatMap((o, i) => (o.binding === b ? [i] : []));
    return {
      access: "read",
      dtype: here.length > 0 ? at(operands, at(here, 0)).view.dtype : "float32",
      vec: vector && here.length > 0 && here.every(fits),
    };
  });
}

/**
 * A WGSL function from a position among the reduced elements to where an operand has it, for
 * operands whose dimensions do not merge as the input's do.
 */
interface Jump {
  readonly name: string;
  readonly text: string;
}

function jump(name: string, l: Layout, params: Params): Jump {
  const { shape, strides } = collapse([l]),
    lines = [
      ...split("at", shape, `${name}x`, params),
      `return ${sum(terms(`${name}x`, at(strides, 0), `${name}s`, 1, params))};`,
    ];
  return { name, text: `fn ${name}(at: u32) -> u32 {\n${indent(lines.join("\n"))}}\n` };
}

/**
 * Lines that load one unit `j` as vectors, and the expressions of its mapped elements (of unit `j`,
 * an expression, when loads are single).
 */
function elementLoads(
  spec: ReduceSpec,
  operands: readonly Operand[],
  decls: readonly StorageDecl[],
  steps: readonly (number | Jump)[],
  vector: boolean,
  position: string,
  params: Params,
): { lines: string[]; values: (j: string) => string[]; globals: string } {
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
  if (spec.before === undefined)
    return { lines, values: (j) => ks.map((k) => at(argument, 0)(k, j)), globals: "" };
  const jumps = steps.map((s) => (typeof s === "number" ? "" : s.text)).join("");
  const globals =
    jumps +
    chainFunction({
      name: "body",
      args: operands.map((o, i) => `a${i}: ${computeType(o.view.dtype)}`),
      types: [computeType(spec.before.dtype)],
      chain: spec.before,
      params,
    });
  return {
    lines,
    values: (j) => ks.map((k) => `body(${argument.map((f) => f(k, j)).join(", ")})`),
    globals,
  };
}
