/**
 * Kernels that go over each row several times: softmax, losses, norms. A row is the run of elements
 * along one axis; per row a few accumulations are made one after the other (each may use the
 * results before it), then either every element or one value per row is written. One dispatch.
 * Launch as in reduce.ts: a workgroup is `rows × lanes`. Owns nothing.
 */
import type { DType } from "../base/dtype.ts";
import { broadcastLayout, collapse, contiguousLayout, stridedLayout } from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type Epilogue, type Operand, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { split, terms } from "./indices.ts";
import { chooseTile } from "./reduce.ts";
import {
  type Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  loadVec4,
  makeKernel,
  toStored,
  vec4Type,
} from "./wgsl.ts";

export interface RowPass {
  /** Name of the result, an f32 (or a pair of them) in scope of everything after it. */
  readonly name: string;
  /** The result is a `vec2<f32>`: two sums in one sweep. */
  readonly pair?: boolean;
  /** WGSL of the start value and of joining two partial results `a` and `b`. */
  readonly identity: string;
  readonly join: (a: string, b: string) => string;
  /**
   * WGSL expression of one element's contribution, from `a0, a1, …` (elements), `q0, …` (row
   * values) and earlier results.
   */
  readonly element: string;
  /** Statements once per row after the result is known. */
  readonly after?: string;
  /**
   * The contribution is also stored as the output element; later passes read it back as `y`. For
   * element outputs of float32.
   */
  readonly keep?: boolean;
}

export interface RowSpec {
  readonly name: string;
  readonly shape: Shape;
  readonly axis: number;
  /** Broadcast to `shape`; `a0, a1, …`. */
  readonly operands: readonly Operand[];
  /** One value per row, broadcast to `shape` without `axis`; `q0, q1, …`. */
  readonly rowOperands?: readonly Operand[];
  /** Access of the inputs' bindings. The output comes last. */
  readonly inputs: number;
  readonly passes: readonly RowPass[];
  /**
   * Element: a contiguous output of `shape`. Row: one value per row. `value` is an f32 expression;
   * `at: u32` is the position along the axis.
   */
  readonly output: {
    readonly dtype: DType;
    readonly per: "element" | "row";
    readonly value: string;
  };
  /**
   * How many elements the passes look at from the row's beginning, an u32 expression; the ones
   * behind them must contribute nothing. All when absent.
   */
  readonly reach?: string;
  /**
   * Statements once per row before the first pass. `at0(i)`-style reads are `element0(i)` of
   * operand 0 at position `i`.
   */
  readonly before?: string;
  readonly helpers?: readonly string[];
  readonly params: Params;
  /**
   * Takes each output further; its bindings come in place of the output's. No pass may `keep` then.
   */
  readonly after?: Epilogue;
}

export function rowKernel(spec: RowSpec, caps: DeviceCaps): Kernel {
  const { params, shape, axis } = spec;
  const length = shape[axis]!,
    rows = length === 0 ? sizeOf(without(shape, axis)) : sizeOf(shape) / length;
  const perElement = spec.output.per === "element";
  const layouts = [
    ...spec.operands.map((o) => broadcastLayout(o.view.layout, shape)),
    ...(perElement ? [contiguousLayout(shape)] : []),
  ];
  const rowOperands = spec.rowOperands ?? [];
  const rowLayouts = rowOperands.map((o) => broadcastLayout(o.view.layout, without(shape, axis)));
  const outer = collapse([
    ...layouts.map((l) =>
      stridedLayout(without(l.shape, axis), without(l.strides, axis), l.offset),
    ),
    ...rowLayouts,
  ]);
  const along = layouts.map((l) => l.strides[axis]!);

  const fits = layouts.map(
    (l, i) =>
      length % 4 === 0 &&
      length > 0 &&
      along[i] === 1 &&
      l.offset % 4 === 0 &&
      outer.strides[i]!.every((s) => s % 4 === 0),
  );
  const decls = Array.from({ length: spec.inputs }, (_, b): StorageDecl => {
    const here = spec.operands.flatMap((o, i) => (o.binding === b ? [i] : [])),
      alone = !rowOperands.some((o) => o.binding === b);
    const dtype =
      spec.operands.find((o) => o.binding === b)?.view.dtype ??
      rowOperands.find((o) => o.binding === b)?.view.dtype ??
      "float32";
    // Direct reads by position (`element0`) need scalars.
    const direct = new RegExp(`\\belement(${here.join("|") || "none"})\\(`).test(spec.before ?? "");
    return {
      access: "read",
      dtype,
      vec: alone && !direct && here.length > 0 && here.every((i) => fits[i]!),
    };
  });
  const outIndex = spec.operands.length;
  const finish =
    spec.after === undefined ? null : finishing(spec.after, spec.output.dtype, spec.inputs, params);
  decls.push({
    access: "read_write",
    dtype: spec.output.dtype,
    vec: finish === null && perElement && fits[outIndex]! && decls.some((d) => d.vec),
  });
  const vector = decls.some((d) => d.vec),
    units = vector ? length / 4 : length;
  const tile = chooseTile({
    outputs: rows,
    outer: 1,
    innerUnits: units,
    rowwise: along[0] === 1,
    caps,
  });
  const names = { rows: params.u32("rows", rows), units: params.u32("units", units) };
  params.u32("axisLength", length);

  const bindingOf = (i: number): number => (i < outIndex ? spec.operands[i]!.binding : spec.inputs);
  const base = layouts.map((l, i) => {
    const unit = decls[bindingOf(i)]!.vec ? 4 : 1;
    return `let base${i} = ${[params.u32(`o${i}`, l.offset / unit), ...terms("k", outer.strides[i]!, `t${i}k`, unit, params)].join(" + ")};`;
  });
  const rowValues = rowOperands.map((o, i) => {
    const index = [
      params.u32(`q${i}o`, o.view.layout.offset),
      ...terms("k", outer.strides[layouts.length + i]!, `q${i}k`, 1, params),
    ].join(" + ");
    return `q${i} = ${loadElement(decls[o.binding]!, o.binding, index)};`;
  });
  const rowDeclarations = rowOperands.map(
    (o, i) =>
      `var q${i}: ${o.view.dtype === "int32" ? "i32" : o.view.dtype === "uint32" ? "u32" : "f32"};`,
  );
  const stepText = along.map((s, i) => (s === 0 || s === 1 ? "" : ` * ${params.u32(`s${i}`, s)}`));
  const indexAt = (i: number, at: string): string =>
    along[i] === 0 ? `base${i}` : `base${i} + ${at}${stepText[i]}`;

  /** Loads of one unit, then `each(k)` inside a block with `a0…`, `at` bound to component k. */
  const unitLoop = (
    each: (k: number) => string,
    after: string[],
    reads: readonly number[],
  ): string[] => {
    const lines: string[] = [];
    for (const i of reads)
      if (decls[bindingOf(i)]!.vec)
        lines.push(`let x${i} = ${loadVec4(decls[bindingOf(i)]!, bindingOf(i), `base${i} + j`)};`);
    for (const k of vector ? [0, 1, 2, 3] : [0]) {
      const at = vector ? `j * 4u + ${k}u` : "j";
      const values = reads.map(
        (i) =>
          `let ${i === outIndex ? "y" : `a${i}`} = ${decls[bindingOf(i)]!.vec ? `x${i}.${"xyzw"[k]!}` : loadElement(decls[bindingOf(i)]!, bindingOf(i), indexAt(i, vector ? `(${at})` : at))};`,
      );
      lines.push(`{ let at = ${at}; ${values.join(" ")} ${each(k)} }`);
    }
    return [...lines, ...after];
  };
  const mentioned = (text: string): number[] => [
    ...spec.operands.flatMap((_, i) => (new RegExp(`\\ba${i}\\b`).test(text) ? [i] : [])),
    ...(/\by\b/.test(text) ? [outIndex] : []),
  ];
  const storeElement = (
    value: (k: number) => string,
  ): { each: (k: number) => string; after: string[] } => {
    const decl = decls[spec.inputs]!;
    if (decl.vec)
      return {
        each: (k) => `r.${"xyzw"[k]!} = ${toStored(decl.dtype, value(k))};`,
        after: [`b${spec.inputs}[base${outIndex} + j] = r;`],
      };
    if (finish !== null)
      return {
        each: (k) => finish.store(value(k), indexAt(outIndex, vector ? "(at)" : "at")),
        after: [],
      };
    return {
      each: (k) =>
        `b${spec.inputs}[${indexAt(outIndex, vector ? "(at)" : "at")}] = ${toStored(decl.dtype, value(k))};`,
      after: [],
    };
  };
  const declareStore = decls[spec.inputs]!.vec ? [`var r: ${vec4Type(spec.output.dtype)};`] : [];

  const guarded = (lines: readonly string[]): string[] => [
    `if (row < ${names.rows}) {`,
    indent(lines.join("\n")),
    "}",
  ];
  const one = tile.lanes === 1;
  const rowInGroup =
    tile.outputs === 1
      ? "0u"
      : one
        ? "lane"
        : tile.outputsFast
          ? `lane % ${tile.outputs}u`
          : `lane / ${tile.lanes}u`;
  const main: string[] = [
    `let row = (${flatWorkgroup}) * ${tile.outputs}u + ${rowInGroup};`,
    one
      ? "const ly = 0u;"
      : `let ly = ${tile.outputsFast ? `lane / ${tile.outputs}u` : `lane % ${tile.lanes}u`};`,
    ...split("row", outer.shape, "k", params),
    ...base,
    ...rowDeclarations,
    ...(rowValues.length > 0 ? guarded(rowValues) : []),
    ...(spec.before === undefined
      ? []
      : [inlineElements(spec.before, spec, decls, along, stepText)]),
  ];
  if (spec.reach !== undefined)
    main.push(`let bound = ${vector ? `(${spec.reach} + 3u) / 4u` : spec.reach};`);
  const reach = spec.reach === undefined ? names.units : "bound";
  for (const pass of spec.passes) {
    const shared = pass.pair === true ? "pairs_" : "shared_";
    const kept = pass.keep === true && perElement ? storeElement((k) => `v${k}`) : undefined;
    const add = (k: number): string =>
      kept === undefined
        ? `part = ${pass.join("part", pass.element)};`
        : `let v${k} = ${pass.element}; part = ${pass.join("part", `v${k}`)}; ${kept.each(k)}`;
    main.push(
      `var ${pass.name} = ${pass.identity};`,
      ...guarded([
        `for (var c = ly; c < ${reach}; c += ${64 * tile.lanes}u) {`,
        indent(
          [
            `var part = ${pass.identity};`,
            `let end = min(c + ${64 * tile.lanes}u, ${reach});`,
            `for (var j = c; j < end; j += ${tile.lanes}u) {`,
            indent(
              [
                ...(kept === undefined ? [] : declareStore),
                ...unitLoop(add, kept?.after ?? [], mentioned(pass.element)),
              ].join("\n"),
            ),
            "}",
            `${pass.name} = ${pass.join(pass.name, "part")};`,
          ].join("\n"),
        ),
        "}",
      ]),
    );
    if (!one) {
      main.push(
        `let slot_${pass.name} = ly * ${tile.outputs}u + (${rowInGroup});`,
        "workgroupBarrier();",
        `${shared}[slot_${pass.name}] = ${pass.name};`,
        `for (var reach = ${tile.lanes / 2}u; reach > 0u; reach >>= 1u) {`,
        indent(
          [
            "workgroupBarrier();",
            `if (ly < reach) { ${shared}[slot_${pass.name}] = ${pass.join(`${shared}[slot_${pass.name}]`, `${shared}[slot_${pass.name} + reach * ${tile.outputs}u]`)}; }`,
          ].join("\n"),
        ),
        "}",
        "workgroupBarrier();",
        `${pass.name} = ${shared}[${rowInGroup}];`,
      );
    }
    if (pass.after !== undefined) main.push(pass.after);
  }
  if (perElement) {
    const store = storeElement(() => spec.output.value);
    main.push(
      ...guarded([
        `for (var j = ly; j < ${names.units}; j += ${tile.lanes}u) {`,
        indent(
          [
            ...declareStore,
            ...unitLoop(store.each, store.after, mentioned(spec.output.value)),
          ].join("\n"),
        ),
        "}",
      ]),
    );
  } else
    main.push(
      `if (ly == 0u && row < ${names.rows}) { ${finish === null ? `b${spec.inputs}[row] = ${toStored(spec.output.dtype, spec.output.value)};` : finish.store(spec.output.value, "row")} }`,
    );

  return makeKernel(
    {
      name: spec.name,
      storages: finish === null ? decls : [...decls.slice(0, spec.inputs), ...finish.storages],
      params,
      helpers: [...(spec.helpers ?? []), ...(finish?.helpers ?? [])],
      workgroupSize: [tile.outputs * tile.lanes, 1, 1],
      globals:
        (finish?.globals ?? "") +
        (one
          ? ""
          : [false, true]
              .map((pair) =>
                spec.passes.some((q) => (q.pair === true) === pair)
                  ? `var<workgroup> ${pair ? "pairs_: array<vec2<f32>" : "shared_: array<f32"}, ${tile.outputs * tile.lanes}>;\n`
                  : "",
              )
              .join("")),
      main: main.join("\n"),
      workgroups:
        perElement && length === 0 ? [0, 0, 0] : gridOf(Math.ceil(rows / tile.outputs), caps),
    },
    caps,
  );
}

/** The chain behind a row kernel, handed on. */
export function rest({ after }: { readonly after?: Epilogue }): { readonly after?: Epilogue } {
  return after === undefined ? {} : { after };
}

function without<T>(list: readonly T[], index: number): T[] {
  return list.filter((_, i) => i !== index);
}

/**
 * Replaces `elementN(index)` by a load of operand N at that position of the row. The index may hold
 * no parentheses.
 */
function inlineElements(
  text: string,
  spec: RowSpec,
  decls: readonly StorageDecl[],
  along: readonly number[],
  step: readonly string[],
): string {
  return text.replace(/\belement(\d+)\(([^()]*)\)/g, (_, n: string, index: string) => {
    const i = Number(n),
      b = spec.operands[i]!.binding;
    return loadElement(
      decls[b]!,
      b,
      along[i] === 0 ? `base${i}` : `base${i} + (${index})${step[i]!}`,
    );
  });
}
