/**
 * Gradients of the poolings as gathers: each input position looks at the windows that cover it, so
 * nothing is written twice and nothing needs clearing first. Owns nothing.
 */
import { at } from "../base/access.ts";
import { type Epilogue, type Finish, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { type ImageView, area, decompose, imageView } from "./pool-window.ts";
import { type PoolWindow, poolShape } from "./shapes.ts";
import { Params, type StorageDecl, gridOf, indent, makeKernel } from "./wgsl.ts";

/** Statements that add the gradient of a window whose first maximum is the position at y, x. */
function addIfMaximum(w: PoolWindow, f: Field, x: ImageView, g: ImageView): string[] {
  const {
    kernel: [R, S],
    padding: [ph, pw],
    stride: [sh, sw],
  } = w;
  const column = [
    `let wx = px * ${sw}u + s - ${pw}u;`,
    `if (wx >= ${f.W} || (wy == y && wx == x)) { continue; }`,
    `let other = ${x.load("plane", "wy", "wx")};`,
    "let before = wy < y || (wy == y && wx < x);",
    "if (isNan(mine)) { if (before && isNan(other)) { wins = false; } }",
    "else if (isNan(other) || other > mine || (before && other == mine)) { wins = false; }",
  ];
  const row = [
    `let wy = py * ${sh}u + r - ${ph}u;`,
    `if (wy >= ${f.H}) { continue; }`,
    `for (var s = 0u; s < ${S}u; s++) {`,
    indent(column.join("\n")),
    "}",
  ];
  // This position wins when nothing before it in the window is as large and nothing after it is
  // larger.
  return [
    "var wins = true;",
    `for (var r = 0u; r < ${R}u; r++) {`,
    indent(row.join("\n")),
    "}",
    `if (wins) { sum += ${g.load(g.base, "py", "px")}; }`,
  ];
}

/**
 * Bindings: input, grad (shape of the output), result (contiguous, shape of the input). The first
 * maximum of a window takes its gradient.
 */
export function maxPool2dBackwardKernel(
  spec: PoolWindow & { readonly input: View; readonly grad: View; readonly after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const [R, S] = spec.kernel;
  const [ph, pw] = spec.padding;
  const tiles = ph === 0 && pw === 0 && R === spec.stride[0] && S === spec.stride[1];
  if (tiles && R * S <= 16 && spec.ceil !== true) return maxCellsKernel(spec, caps);
  return backward(
    "maxPool2dBackward",
    spec,
    spec.input.layout.shape,
    [spec.input, spec.grad],
    spec.after,
    caps,
    (f) => {
      const x = at(f.views, 0);
      const g = at(f.views, 1);
      return {
        helpers: ["isNan"],
        open: [`let plane = ${x.base};`, `let mine = ${x.load("plane", "y", "x")};`],
        visit: addIfMaximum(spec, f, x, g),
      };
    },
  );
}

/** What the text of a window that writes all its cells uses. */
interface Cells {
  readonly kernel: readonly [number, number];
  readonly x: ImageView;
  readonly g: ImageView;
  /** Fields with the sizes of the input and the output. */
  readonly h: string;
  readonly w: string;
  readonly p: string;
  readonly q: string;
  readonly finish: Finish;
}

/** Statements that write the cells of the window at row `y`, column `x`. */
function writeCells({ kernel: [R, S], x, g, h, w, p, q, finish }: Cells): string[] {
  const cell = Array.from({ length: R * S }, (_, i) => i);
  const place = (i: number, row: string, column: string): string =>
    `${Math.floor(i / S)}u * ${row} + ${i % S}u${column}`;
  const inside = [
    `let corner = ${x.base} + y * ${x.y} + x * ${x.x};`,
    `grad = ${g.load(g.base, "py", "px")};`,
    `best = ${x.at("corner")};`,
    ...cell
      .slice(1)
      .map(
        (i) =>
          `{ let v = ${x.at(`corner + ${place(i, x.y, ` * ${x.x}`)}`)}; if ` +
          `(!isNan(best) && (v > best || isNan(v))) { best = v; winner = ${i}u; } }`,
      ),
    ...cell.map((i) =>
      finish.store(`select(0.0, grad, winner == ${i}u)`, `out + ${place(i, w, "")}`),
    ),
  ];
  const past = [
    `for (var r = 0u; r < min(${R}u, ${h} - y); r++) {`,
    `  for (var s = 0u; s < min(${S}u, ${w} - x); s++) { ` +
      `${finish.store("0.0", `out + r * ${w} + s`)} }`,
    "}",
  ];
  return [
    `if (py < ${p} && px < ${q}) {`,
    indent(inside.join("\n")),
    "} else {",
    indent(past.join("\n")),
    "}",
  ];
}

/**
 * Windows that tile the input, the usual case: an invocation per window writes the whole window.
 * Cells past the last window are zeros.
 */
function maxCellsKernel(
  spec: PoolWindow & { readonly input: View; readonly grad: View; readonly after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    [N, C, H, W] = imageShape(spec.input.layout.shape),
    [R, S] = spec.kernel,
    [, , P, Q] = poolShape(spec.input.layout.shape, spec);
  const finish = finishing(spec.after, spec.input.dtype, 2, params);
  const decls: StorageDecl[] = [
    { dtype: spec.input.dtype, vec: false, access: "read" },
    { dtype: spec.grad.dtype, vec: false, access: "read" },
    ...finish.storages,
  ];
  const cells = [Math.ceil(H / R), Math.ceil(W / S)] as const,
    total = N * C * cells[0] * cells[1];
  const h = params.u32("H", H),
    w = params.u32("W", W),
    p = params.u32("P", P),
    q = params.u32("Q", Q);
  const x = imageView(params, "x", spec.input, 0, at(decls, 0)),
    g = imageView(params, "g", spec.grad, 1, at(decls, 1));
  const main = [
    ...decompose(
      params.u32("total", total),
      params.u32("cellsX", cells[1]),
      params.u32("cellsY", cells[0]),
      params.u32("C", C),
      "py",
      "px",
    ),
    `let y = py * ${R}u;`,
    `let x = px * ${S}u;`,
    `let out = ((n * p.C + c) * ${h} + y) * ${w} + x;`,
    "var grad = 0.0;",
    "var best = 0.0;",
    "var winner = 0u;",
    ...writeCells({ kernel: spec.kernel, x, g, h, w, p, q, finish }),
  ].join("\n");
  return makeKernel(
    {
      name: "maxPool2dBackward.cells",
      storages: decls,
      params,
      helpers: ["isNan", ...finish.helpers],
      globals: finish.globals,
      workgroupSize: [64, 1, 1],
      main,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}

/** Bindings: grad, result (contiguous, `inputShape`). */
export function avgPool2dBackwardKernel(
  spec: PoolWindow & {
    readonly grad: View;
    readonly inputShape: readonly number[];
    readonly countIncludePad?: boolean;
    readonly after?: Epilogue;
  },
  caps: DeviceCaps,
): Kernel {
  const [R, S] = spec.kernel,
    [ph, pw] = spec.padding,
    [sh, sw] = spec.stride;
  return backward(
    "avgPool2dBackward",
    spec,
    spec.inputShape,
    [spec.grad],
    spec.after,
    caps,
    (f) => {
      const covered = (
        name: string,
        at: string,
        stride: number,
        kernel: number,
        pad: number,
        size: string,
      ): string =>
        `let ${name} = f32(min(i32(${at} * ${stride}u) - ${pad} + ${kernel}, i32(${size})) ` +
        `- max(i32(${at} * ${stride}u) - ${pad}, 0));`;
      const value = at(f.views, 0).load(at(f.views, 0).base, "py", "px");
      return {
        helpers: [],
        open: [],
        visit:
          (spec.countIncludePad ?? true)
            ? [`sum += ${value} / ${area(spec, f.H, f.W)};`]
            : [
                covered("ch", "py", sh, R, ph, f.H),
                covered("cw", "px", sw, S, pw, f.W),
                `sum += ${value} / (ch * cw);`,
              ],
      };
    },
  );
}

/** The input and the operands, as the text of a gradient uses them. */
interface Field {
  /** Fields with the height and width of the input. */
  readonly H: string;
  readonly W: string;
  readonly views: readonly ImageView[];
}

/** The four sizes of an image. */
function imageShape(shape: readonly number[]): [number, number, number, number] {
  return [at(shape, 0), at(shape, 1), at(shape, 2), at(shape, 3)];
}

/** An invocation per input position, which visits the windows that cover it. */
function backward(
  name: string,
  spec: PoolWindow,
  inputShape: readonly number[],
  inputs: readonly View[],
  after: Epilogue | undefined,
  caps: DeviceCaps,
  text: (f: Field) => {
    helpers: readonly string[];
    open: readonly string[];
    visit: readonly string[];
  },
): Kernel {
  const params = new Params(),
    [N, C, H, W] = imageShape(inputShape),
    total = N * C * H * W,
    [, , P, Q] = poolShape(inputShape, spec);
  const finish = finishing(after, at(inputs, 0).dtype, inputs.length, params);
  const decls: StorageDecl[] = [
    ...inputs.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })),
    ...finish.storages,
  ];
  const f = {
    H: params.u32("H", H),
    W: params.u32("W", W),
    views: inputs.map((v, i) =>
      imageView(params, at("xg", i + 2 - inputs.length), v, i, at(decls, i)),
    ),
  };
  const t = text(f),
    [R, S] = spec.kernel,
    [ph, pw] = spec.padding,
    [sh, sw] = spec.stride;
  // Windows py that cover y: py · stride − pad ≤ y < py · stride − pad + kernel.
  const range = (
    at: string,
    kernel: number,
    stride: number,
    pad: number,
    count: string,
    v: string,
  ): string[] => [
    `let ${v}From = (max(${at} + ${pad + stride}u, ${kernel}u) - ${kernel}u) / ${stride}u;`,
    `let ${v}To = min((${at} + ${pad}u) / ${stride}u + 1u, ${count});`,
  ];
  const main = [
    ...decompose(params.u32("total", total), f.W, f.H, params.u32("C", C), "y", "x"),
    ...t.open,
    "var sum = 0.0;",
    ...range("y", R, sh, ph, params.u32("P", P), "py"),
    ...range("x", S, sw, pw, params.u32("Q", Q), "px"),
    "for (var py = pyFrom; py < pyTo; py++) {",
    indent(
      ["for (var px = pxFrom; px < pxTo; px++) {", indent(t.visit.join("\n")), "}"].join("\n"),
    ),
    "}",
    finish.store("sum", "id"),
  ].join("\n");
  return makeKernel(
    {
      name,
      storages: decls,
      params,
      helpers: [...t.helpers, ...finish.helpers],
      globals: finish.globals,
      workgroupSize: [64, 1, 1],
      main,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}
