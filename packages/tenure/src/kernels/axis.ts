/**
 * One dispatch for ops that move elements along one axis: concat, gather, scatter-add, flip. The
 * dimensions before and after the axis are merged as far as all operands allow; each invocation
 * makes one output element, or four neighbours when the innermost dimension allows it. Callers give
 * the text that finds the element. Generators only; owns nothing.
 */
import { at, last } from "../base/access.ts";
import { type DType, wgslType } from "../base/dtype.ts";
import { type Layout, collapse, stridedLayout } from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { split, terms } from "./indices.ts";
import { type Params, type StorageDecl, flatWorkgroup, gridOf, makeKernel } from "./wgsl.ts";

/**
 * An input of an axis op. Away from the axis it is read at the output's position; what lies beyond
 * its own size there is never touched.
 */
export interface Source {
  readonly view: View;
  /** Holds positions, not elements: read one at a time, and the same for four neighbours. */
  readonly indices?: boolean;
}

/** What the caller's text can use of source `k`. */
export interface SourceText {
  /** Index of position 0 of the axis on this invocation's line, in units of the loads. */
  readonly base: string;
  /** Distance of neighbours along the axis, in units of the loads. */
  readonly step: string;
  /** Size along the axis. */
  readonly size: string;
  /** The raw element (or four) at position `at` of the axis, an expression. */
  load(at: string): string;
}

/** An op along one axis: its sources, and the text that makes an element. */
export interface AxisSpec {
  readonly name: string;
  readonly shape: Shape;
  readonly axis: number;
  readonly sources: readonly Source[];
  readonly dtype: DType;
  /** Output elements are computed in f32 and rounded when stored. */
  readonly f32?: boolean;
  readonly helpers?: readonly string[];
  /** Module-scope text. */
  readonly globals?: string;
  readonly params: Params;
  /**
   * Statements that assign `r` (type `T`), from `d`, the position along the axis, and the sources.
   */
  readonly body: (sources: readonly SourceText[]) => string;
  /** Where along the axis the result goes, an expression; `d` itself when absent. */
  readonly target?: string;
}

/** The dimensions before and after the axis, each merged over all sources. */
interface Surroundings {
  readonly layouts: readonly Layout[];
  readonly outer: { readonly shape: Shape; readonly strides: readonly (readonly number[])[] };
  /** The innermost dimension counts loads. */
  readonly inner: { readonly shape: Shape; readonly strides: readonly (readonly number[])[] };
  /** An invocation makes four neighbours along the innermost dimension. */
  readonly wide: boolean;
}

function surroundingsOf({ shape, axis, sources }: AxisSpec): Surroundings {
  const part = (l: Layout, from: number, to: number): Layout =>
    stridedLayout(shape.slice(from, to), l.strides.slice(from, to), 0);
  const layouts = sources.map((s) => s.view.layout);
  const outer = collapse(layouts.map((l) => part(l, 0, axis)));
  const inner = collapse(layouts.map((l) => part(l, axis + 1, shape.length)));
  const innermost = inner.shape.length - 1;
  const inFours = (s: Source, k: number): boolean => {
    const l = at(layouts, k);
    const own = at(inner.strides, k);
    if (s.indices === true) return own[innermost] === 0;
    const steps = [l.offset, at(l.strides, axis), ...own.slice(0, -1), ...at(outer.strides, k)];
    return own[innermost] === 1 && steps.every((x) => x % 4 === 0);
  };
  const wide = sizeOf(shape) > 0 && last(inner.shape) % 4 === 0 && sources.every(inFours);
  const units = inner.shape.map((d, i) => (wide && i === innermost ? d / 4 : d));
  return { layouts, outer, inner: { shape: units, strides: inner.strides }, wide };
}

/** The line that finds source `k`, and what the caller's text can use of it. */
function sourceText(
  { axis, params }: AxisSpec,
  { layouts, outer, inner, wide }: Surroundings,
  k: number,
  unit: number,
): { line: string; text: SourceText } {
  const l = at(layouts, k);
  const place = [
    params.u32(`s${k}`, l.offset / unit),
    ...terms("oc", at(outer.strides, k), `s${k}o`, unit, params),
  ];
  // The innermost dimension counts loads already; an index repeats for four neighbours.
  for (const [i, x] of at(inner.strides, k).entries()) {
    if (x === 0) continue;
    const loads = i === inner.shape.length - 1 && wide;
    place.push(loads ? `nc${i}` : `nc${i} * ${params.u32(`s${k}n${i}`, x / unit)}`);
  }
  const step = params.u32(`s${k}step`, at(l.strides, axis) / unit);
  const size = params.u32(`s${k}size`, at(l.shape, axis));
  return {
    line: `let base${k} = ${place.join(" + ")};`,
    text: {
      base: `base${k}`,
      step,
      size,
      load: (position) => `b${k}[base${k} + (${position}) * ${step}]`,
    },
  };
}

/** The kernel of an op along one axis. Bindings: the sources, then the output (contiguous). */
export function axisKernel(spec: AxisSpec, caps: DeviceCaps): Kernel {
  const { shape, axis, params } = spec;
  const around = surroundingsOf(spec);
  const { outer, inner, wide } = around;
  const decls: StorageDecl[] = [
    ...spec.sources.map((s): StorageDecl => ({
      dtype: s.view.dtype,
      vec: wide && s.indices !== true,
      access: "read",
    })),
    { dtype: spec.dtype, vec: wide, access: "read_write" },
  ];
  const count = sizeOf(shape) / (wide ? 4 : 1);
  const total = params.u32("total", count);
  const innerSize = params.u32("inner", sizeOf(inner.shape));
  const dim = params.u32("dim", at(shape, axis));
  const start = [
    `let id = (${flatWorkgroup}) * 64u + lane;`,
    `if (id >= ${total}) { return; }`,
    `let n = id % ${innerSize};`,
    `let od = id / ${innerSize};`,
    `let d = od % ${dim};`,
    `let o = od / ${dim};`,
    ...split("o", outer.shape, "oc", params),
    ...split("n", inner.shape, "nc", params),
  ];
  const sources = spec.sources.map((_, k) => sourceText(spec, around, k, at(decls, k).vec ? 4 : 1));
  const raw = wgslType(spec.dtype);
  const type = spec.f32 === true ? "f32" : raw;
  const stored = wide ? `vec4<${raw}>` : raw;
  const body = spec.body(sources.map((s) => s.text));
  const target =
    spec.target === undefined ? "id" : `(o * ${dim} + ${spec.target}) * ${innerSize} + n`;
  return makeKernel(
    {
      name: spec.name,
      storages: decls,
      params,
      helpers: spec.helpers ?? [],
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(count / 64), caps),
      globals: `alias T = ${wide ? `vec4<${type}>` : type};\n${spec.globals ?? ""}`,
      main: [
        ...start,
        ...sources.map((s) => s.line),
        "var r: T;",
        body,
        `b${spec.sources.length}[${target}] = ${type === raw ? "r" : `${stored}(r)`};`,
      ].join("\n"),
    },
    caps,
  );
}
