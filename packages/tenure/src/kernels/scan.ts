/**
 * Running sums and products along an axis, forwards or backwards. A line is walked by one
 * invocation; long lines of sums are cut into one chunk per lane, whose totals meet in workgroup
 * memory. The order of additions depends on the shape only. Owns nothing.
 */
import { at } from "../base/access.ts";
import { collapse, stridedLayout } from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type DType, computeType } from "../base/dtype.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { split, terms } from "./indices.ts";
import { convert } from "./accumulators.ts";
import {
  Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  makeKernel,
  toStored,
} from "./wgsl.ts";

interface ScanSpec {
  readonly name: string;
  readonly inputs: readonly View[];
  readonly axis: number;
  readonly dtype: DType;
  readonly reverse: boolean;
  readonly start: string;
  /**
   * WGSL of the next state from `h`, and of the value stored, from `h` after it. `v(k, at)` is
   * input `k` at a position of the line; `j` is the current one.
   */
  readonly next: (v: (k: number, at: string) => string) => string;
  readonly value: (v: (k: number, at: string) => string) => string;
  /** The state is a sum of what each position adds: chunks can be summed separately. */
  readonly additive: boolean;
}

/** Bindings: input, output (contiguous, same shape). */
export function cumSumKernel(
  spec: { input: View; axis: number; dtype: DType; reverse: boolean },
  caps: DeviceCaps,
): Kernel {
  const type = computeType(spec.dtype);
  return scanKernel(
    {
      ...spec,
      name: "cumSum",
      inputs: [spec.input],
      start: `${type}(0)`,
      next: (v) => `h + ${v(0, "j")}`,
      value: () => "h",
      additive: true,
    },
    caps,
  );
}

/** Bindings: input, output (contiguous, same shape). */
export function cumProdKernel(
  spec: { input: View; axis: number; dtype: DType },
  caps: DeviceCaps,
): Kernel {
  const type = computeType(spec.dtype);
  return scanKernel(
    {
      ...spec,
      name: "cumProd",
      inputs: [spec.input],
      reverse: false,
      start: `${type}(1)`,
      next: (v) => `h * ${v(0, "j")}`,
      value: () => "h",
      additive: false,
    },
    caps,
  );
}

/**
 * Gradient of the running product, exact where elements are 0: dx[k] = out[k-1] · R[k] with R[k] =
 * g[k] + x[k+1]·R[k+1]. Bindings: input, output of cumProd, grad, result (contiguous).
 */
export function cumProdBackwardKernel(
  spec: { input: View; output: View; grad: View; axis: number },
  caps: DeviceCaps,
): Kernel {
  return scanKernel(
    {
      name: "cumProdBackward",
      inputs: [spec.input, spec.output, spec.grad],
      axis: spec.axis,
      dtype: spec.input.dtype,
      reverse: true,
      start: "0.0",
      additive: false,
      next: (v) =>
        `${v(2, "j")} + select(0.0, ${v(0, "min(j + 1u, p.length - 1u)")} * h, j + 1u < p.length)`,
      value: (v) => `select(1.0, ${v(1, "max(j, 1u) - 1u")}, j > 0u) * h`,
    },
    caps,
  );
}

/** What is walked: lines along the axis of every input and of the output. */
interface Lines {
  readonly count: number;
  readonly length: number;
  /** The dimensions off the axis, merged; strides of the inputs, then of the output. */
  readonly shape: Shape;
  readonly strides: readonly (readonly number[])[];
  /** Distance of neighbours along the axis in the output. */
  readonly outStep: number;
}

function linesOf({ inputs, axis }: ScanSpec): Lines {
  const { shape } = at(inputs, 0).layout;
  const length = at(shape, axis);
  const without = <T>(list: readonly T[]): T[] => list.filter((_, i) => i !== axis);
  const rest = without(shape);
  const outStrides = rest.map((_, i) => sizeOf(rest.slice(i + 1)) * (i < axis ? length : 1));
  const merged = collapse([
    ...inputs.map(({ layout: l }) => stridedLayout(without(l.shape), without(l.strides), 0)),
    stridedLayout(rest, outStrides, 0),
  ]);
  return {
    ...merged,
    count: length === 0 ? 0 : sizeOf(rest),
    length,
    outStep: sizeOf(shape.slice(axis + 1)),
  };
}

/** Invocations that share a line. */
function lanesOf(spec: ScanSpec, lines: Lines, caps: DeviceCaps): number {
  const most = caps.software ? 1 : 256;
  let lanes = 1;
  while (spec.additive && lanes < most && lanes * 8 < lines.length && lines.count * lanes < 65536)
    lanes *= 2;
  return lanes;
}

/** Lines that say where the line `line` begins in every input and in the output. */
function lineStart({ inputs }: ScanSpec, { strides }: Lines, params: Params): string[] {
  const bases = inputs.map(({ layout }, k) => {
    const offset = params.u32(`o${k}`, layout.offset);
    const parts = [offset, ...terms("c", at(strides, k), `t${k}c`, 1, params)];
    return `let base${k} = ${parts.join(" + ")};`;
  });
  const out = ["0u", ...terms("c", at(strides, inputs.length), "toc", 1, params)];
  return [...bases, `let baseOut = ${out.join(" + ")};`];
}

/** A loop from `first` to `end` that carries `h`, and does `body` at each position `j`. */
type Walk = (body: readonly string[]) => string[];

/** A whole line per invocation. */
function wholeLine(
  spec: ScanSpec,
  total: string,
  start: readonly string[],
  walk: string[],
): string[] {
  return [
    `let line = (${flatWorkgroup}) * 64u + lane;`,
    `if (line >= ${total}) { return; }`,
    ...start,
    "let first = 0u;",
    "let end = p.length;",
    `var h = ${spec.start};`,
    ...walk,
  ];
}

/** Lane 0 turns the sums of the chunks into what comes before each. */
function sumsBefore(start: string, lanes: number): string[] {
  const lines = [
    `var before = ${start};`,
    `for (var k = 0u; k < ${lanes}u; k++) { let own = sums[k]; sums[k] = before; ` +
      "before += own; }",
  ];
  return ["if (lane == 0u) {", indent(lines.join("\n")), "}"];
}

/** A workgroup per line and a chunk per lane, walked twice: for its sum, and to store. */
function chunkedLine(c: {
  spec: ScanSpec;
  lanes: number;
  total: string;
  chunk: string;
  start: readonly string[];
  walk: Walk;
  store: readonly string[];
}): string[] {
  return [
    `let line = ${flatWorkgroup};`,
    ...c.start,
    `let first = min(lane * ${c.chunk}, p.length);`,
    `let end = select(first, min(first + ${c.chunk}, p.length), line < ${c.total});`,
    `var h = ${c.spec.start};`,
    ...c.walk([]),
    "sums[lane] = h;",
    "workgroupBarrier();",
    ...sumsBefore(c.spec.start, c.lanes),
    "workgroupBarrier();",
    "h = sums[lane];",
    ...c.walk(c.store),
  ];
}

/** The loop along a line, and the statement that stores its position. */
function walkOf(
  spec: ScanSpec,
  { outStep }: Lines,
  decls: readonly StorageDecl[],
  params: Params,
): { walk: Walk; store: string[] } {
  const { inputs, axis } = spec;
  const type = computeType(spec.dtype);
  const steps = inputs.map((v, k) => params.u32(`step${k}`, at(v.layout.strides, axis)));
  const toOutput = params.u32("stepOut", outStep);
  const load = (k: number, position: string): string => {
    const decl = at(decls, k);
    const element = loadElement(decl, k, `base${k} + (${position}) * ${at(steps, k)}`);
    return convert(element, computeType(decl.dtype), type);
  };
  const step = [
    spec.reverse ? "let j = p.length - 1u - i;" : "let j = i;",
    `h = ${spec.next(load)};`,
  ];
  return {
    walk: (body) => [
      "for (var i = first; i < end; i++) {",
      indent([...step, ...body].join("\n")),
      "}",
    ],
    store: [
      `b${inputs.length}[baseOut + j * ${toOutput}] = ` +
        `${toStored(spec.dtype, spec.value(load))};`,
    ],
  };
}

function scanKernel(spec: ScanSpec, caps: DeviceCaps): Kernel {
  const params = new Params();
  const lines = linesOf(spec);
  const decls: StorageDecl[] = [
    ...spec.inputs.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })),
    { dtype: spec.dtype, vec: false, access: "read_write" },
  ];
  const lanes = lanesOf(spec, lines, caps);
  const total = params.u32("lines", lines.count);
  params.u32("length", lines.length);
  const chunk = params.u32("chunk", Math.ceil(lines.length / lanes));
  const bases = lineStart(spec, lines, params);
  const { walk, store } = walkOf(spec, lines, decls, params);
  const start = [...split("line", lines.shape, "c", params), ...bases];
  const main =
    lanes === 1
      ? wholeLine(spec, total, start, walk(store))
      : chunkedLine({ spec, lanes, total, chunk, start, walk, store });
  return makeKernel(
    {
      name: `scan.${spec.name}`,
      storages: decls,
      params,
      workgroupSize: [lanes === 1 ? 64 : lanes, 1, 1],
      globals:
        lanes === 1 ? "" : `var<workgroup> sums: array<${computeType(spec.dtype)}, ${lanes}>;\n`,
      main: main.join("\n"),
      workgroups: gridOf(Math.ceil(lines.count / (lanes === 1 ? 64 : 1)), caps),
    },
    caps,
  );
}
