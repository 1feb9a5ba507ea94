/**
 * One dispatch for ops that move elements along one axis: concat, gather, scatter-add, flip. The
 * dimensions before and after the axis are merged as far as all operands allow; each invocation
 * makes one output element, or four neighbours when the innermost dimension allows it. Callers give
 * the text that finds the element. Generators only; owns nothing.
 */
import { at } from "../base/access.ts";
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

export function axisKernel(spec: AxisSpec, caps: DeviceCaps): Kernel {
  const { shape, axis, params } = spec,
    size = sizeOf(shape);
  const part = (l: Layout, from: number, to: number): Layout =>
    stridedLayout(shape.slice(from, to), l.strides.slice(from, to), 0);
  const layouts = spec.sources.map((s) => s.view.layout);
  const outer = collapse(layouts.map((l) => part(l, 0, axis))),
    inner = collapse(layouts.map((l) => part(l, axis + 1, shape.length)));
  const last = inner.shape.length - 1;
  const wide =
    size > 0 &&
    at(inner.shape, last) % 4 === 0 &&
    spec.sources.every((s, k) => {
      const l = at(layouts, k),
        own = at(inner.strides, k);
      if (s.indices === true) return own[last] === 0;
      return (
        own[last] === 1 &&
        l.offset % 4 === 0 &&
        at(l.strides, axis) % 4 === 0 &&
        own.slice(0, -1).every((x) => x % 4 === 0) &&
        at(outer.strides, k).every((x) => x % 4 === 0)
      );
    });
  const decls: StorageDecl[] = [
    ...spec.sources.map((s): StorageDecl => ({
      dtype: s.view.dtype,
      vec: wide && s.indices !== true,
      access: "read",
    })),
    { dtype: spec.dtype, vec: wide, access: "read_write" },
  ];
  const innerShape = inner.shape.map((d, i) => (wide && i === last ? d / 4 : d)),
    innerSize = sizeOf(innerShape),
    total = wide ? size / 4 : size;
  const names = {
    total: params.u32("total", total),
    inner: params.u32("inner", innerSize),
    dim: params.u32("dim", at(shape, axis)),
  };
  const lines = [
    `let id = (${flatWorkgroup}) * 64u + lane;`,
    `if (id >= ${names.total}) { return; }`,
    `let n = id % ${names.inner};`,
    `let od = id / ${names.inner};`,
    `let d = od % ${names.dim};`,
    `let o = od / ${names.dim};`,
    ...split("o", outer.shape, "oc", params),
    ...split("n", innerShape, "nc", params),
  ];
  const sources = layouts.map((l, k): SourceText => {
    const unit = at(decls, k).vec ? 4 : 1;
    const place = [
      params.u32(`s${k}`, l.offset / unit),
      ...terms("oc", at(outer.strides, k), `s${k}o`, unit, params),
    ];
    // The innermost dimension counts loads already; an index repeats for four neighbours.
    at(inner.strides, k).forEach((x, i) => {
      if (x !== 0)
        place.push(
          i === last && wide ? `nc${i}` : `nc${i} * ${params.u32(`s${k}n${i}`, x / unit)}`,
        );
    });
    lines.push(`let base${k} = ${place.join(" + ")};`);
    const step = params.u32(`s${k}step`, at(l.strides, axis) / unit),
      along = params.u32(`s${k}size`, at(l.shape, axis));
    return {
      base: `base${k}`,
      step,
      size: along,
      load: (at) => `b${k}[base${k} + (${at}) * ${step}]`,
    };
  });
  const raw = wgslType(spec.dtype),
    type = spec.f32 === true ? "f32" : raw,
    stored = wide ? `vec4<${raw}>` : raw;
  return makeKernel(
    {
      name: spec.name,
      storages: decls,
      params,
      helpers: spec.helpers ?? [],
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(total / 64), caps),
      globals: `alias T = ${wide ? `vec4<${type}>` : type};\n${spec.globals ?? ""}`,
      main: [
        ...lines,
        "var r: T;",
        spec.body(sources),
        `b${spec.sources.length}[${spec.target === undefined ? "id" : `(o * ${names.dim} + ${spec.target}) * ${names.inner} + n`}] ` +
          `= ${type === raw ? "r" : `${stored}(r)`};`,
      ].join("\n"),
    },
    caps,
  );
}
