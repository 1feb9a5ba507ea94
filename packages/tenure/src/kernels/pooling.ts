/**
 * Max and average pooling over NCHW images of any strides, and their gradients as gathers: each
 * input position looks at the windows that cover it, so nothing is written twice and nothing needs
 * clearing first. Windows are part of the structure, sizes are parameters. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import { type Epilogue, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import {
  Params,
  type StorageDecl,
  gridOf,
  indent,
  loadElement,
  makeKernel,
  negInfWord,
  toStored,
} from "./wgsl.ts";

/** Pairs are (vertical, horizontal). */
export interface PoolWindow {
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  /**
   * At most half the kernel. Never a maximum; counted as zeros by the average unless
   * `countIncludePad` is false.
   */
  readonly padding: readonly [number, number];
  /**
   * Windows may reach past the end, as long as they begin before it. The average then counts what
   * lies within the padding.
   */
  readonly ceil?: boolean;
}

/** Shape [N, C, P, Q] of the output. */
export function poolShape(
  input: readonly number[],
  w: PoolWindow,
): [number, number, number, number] {
  const size = (i: 0 | 1): number => {
    const [length, pad, steps] = [
      at(input, 2 + i),
      w.padding[i],
      (at(input, 2 + i) + 2 * w.padding[i] - w.kernel[i]) / w.stride[i],
    ];
    if (w.ceil !== true) return Math.floor(steps) + 1;
    return Math.ceil(steps) * w.stride[i] >= length + pad ? Math.ceil(steps) : Math.ceil(steps) + 1;
  };
  return [at(input, 0), at(input, 1), size(0), size(1)];
}

/** Bindings: input, output (contiguous). NaN counts as the maximum. */
export function maxPool2dKernel(
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
): Kernel {
  return forward("maxPool2d", spec, caps, ["isNan"], (params) => ({
    open: `var best = bitcast<f32>(${params.u32("low", negInfWord)});`,
    visit: "if (!isNan(best) && (v > best || isNan(v))) { best = v; }",
    result: "best",
  }));
}

/**
 * Bindings: input, output (int32, contiguous): where in its plane, row-major, the first maximum of
 * each window lies.
 */
export function maxPool2dIndicesKernel(
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
): Kernel {
  return forward(
    "maxPool2dIndices",
    spec,
    caps,
    ["isNan"],
    (params, _, W) => ({
      open: `var best = bitcast<f32>(${params.u32("low", negInfWord)});\nvar found = -1;`,
      visit:
        "if (found < 0 || (!isNan(best) && (v > best || isNan(v)))) { best = v; found = " +
        `i32(y * ${W} + x); }`,
      result: "found",
    }),
    "int32",
  );
}

/** Bindings: input, output (contiguous). */
export function avgPool2dKernel(
  spec: PoolWindow & { readonly input: View; readonly countIncludePad?: boolean },
  caps: DeviceCaps,
): Kernel {
  const all = spec.countIncludePad ?? true;
  return forward("avgPool2d", spec, caps, [], (_, H, W) => ({
    open: `var sum = 0.0;\nvar count = 0.0;`,
    visit: "sum += v;\ncount += 1.0;",
    result: all ? `sum / ${area(spec, H, W)}` : "sum / count",
  }));
}

/**
 * Cells of the window at py, px that lie within the padded image: all of them, unless windows may
 * reach past it.
 */
function area({ kernel, stride, padding, ceil }: PoolWindow, H: string, W: string): string {
  if (ceil !== true) return `${kernel[0] * kernel[1]}.0`;
  const length = (at: string, i: 0 | 1, size: string): string =>
    `f32(min(${at} * ${stride[i]}u + ${kernel[i]}u, ${size} + ${2 * padding[i]}u) - ${at} ` +
    `* ${stride[i]}u)`;
  return `(${length("py", 0, H)} * ${length("px", 1, W)})`;
}

/**
 * Bindings: input, grad (shape of the output), result (contiguous, shape of the input). The first
 * maximum of a window takes its gradient.
 */
export function maxPool2dBackwardKernel(
  spec: PoolWindow & { readonly input: View; readonly grad: View; readonly after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const [R, S] = spec.kernel,
    [ph, pw] = spec.padding,
    [sh, sw] = spec.stride;
  if (ph === 0 && pw === 0 && R === sh && S === sw && R * S <= 16 && spec.ceil !== true)
    return maxCellsKernel(spec, caps);
  return backward(
    "maxPool2dBackward",
    spec,
    spec.input.layout.shape,
    [spec.input, spec.grad],
    spec.after,
    caps,
    (f) => {
      const [x, g] = f.views;
      return {
        helpers: ["isNan"],
        open: [`let plane = ${x!.base};`, `let mine = ${x!.load("plane", "y", "x")};`],
        // This position wins when nothing before it in the window is as large and nothing after it
        // is larger.
        visit: [
          "var wins = true;",
          `for (var r = 0u; r < ${R}u; r++) {`,
          indent(
            [
              `let wy = py * ${sh}u + r - ${ph}u;`,
              `if (wy >= ${f.H}) { continue; }`,
              `for (var s = 0u; s < ${S}u; s++) {`,
              indent(
                [
                  `let wx = px * ${sw}u + s - ${pw}u;`,
                  `if (wx >= ${f.W} || (wy == y && wx == x)) { continue; }`,
                  `let other = ${x!.load("plane", "wy", "wx")};`,
                  "let before = wy < y || (wy == y && wx < x);",
                  "if (isNan(mine)) { if (before && isNan(other)) { wins = false; } }",
                  "else if (isNan(other) || other > mine || (before && other == mine)) { " +
                    "wins = false; }",
                ].join("\n"),
              ),
              "}",
            ].join("\n"),
          ),
          "}",
          `if (wins) { sum += ${g!.load(g!.base, "py", "px")}; }`,
        ],
      };
    },
  );
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
    [N, C, H, W] = spec.input.layout.shape as [number, number, number, number],
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
    g = imageView(params, "g", spec.grad, 1, at(decls, 1)),
    cell = Array.from({ length: R * S }, (_, i) => i);
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
    `if (py < ${p} && px < ${q}) {`,
    indent(
      [
        `let corner = ${x.base} + y * ${x.y} + x * ${x.x};`,
        `grad = ${g.load(g.base, "py", "px")};`,
        `best = ${x.at("corner")};`,
        ...cell
          .slice(1)
          .map(
            (i) =>
              "{ let v = " +
              `${x.at(`corner + ${Math.floor(i / S)}u * ${x.y} + ${i % S}u * ${x.x}`)}; if ` +
              `(!isNan(best) && (v > best || isNan(v))) { best = v; winner = ${i}u; } }`,
          ),
        ...cell.map((i) =>
          finish.store(
            `select(0.0, grad, winner == ${i}u)`,
            `out + ${Math.floor(i / S)}u * ${w} + ${i % S}u`,
          ),
        ),
      ].join("\n"),
    ),
    "} else {",
    indent(
      [
        `for (var r = 0u; r < min(${R}u, ${h} - y); r++) {`,
        `  for (var s = 0u; s < min(${S}u, ${w} - x); s++) { ` +
          `${finish.store("0.0", `out + r * ${w} + s`)} }`,
        "}",
      ].join("\n"),
    ),
    "}",
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

// === Shared text ===

interface ImageView {
  /** Index of the plane (n, c). */
  readonly base: string;
  /** Strides of rows and columns. */
  readonly y: string;
  readonly x: string;
  load(base: string, y: string, x: string): string;
  at(index: string): string;
}

/** Fields and a loader for a [N, C, height, width] view. */
function imageView(
  params: Params,
  name: string,
  v: View,
  binding: number,
  decl: StorageDecl,
): ImageView {
  const strides = v.layout.strides.map((s, i) => params.u32(`${name}${i}`, s));
  return {
    base: `(${params.u32(name, v.layout.offset)} + n * ${strides[0]} + c * ${strides[1]})`,
    y: at(strides, 2),
    x: at(strides, 3),
    at: (index) => loadElement(decl, binding, index),
    load: (base, y, x) =>
      loadElement(decl, binding, `${base} + ${y} * ${strides[2]} + ${x} * ${strides[3]}`),
  };
}

function decompose(
  total: string,
  width: string,
  height: string,
  channels: string,
  y: string,
  x: string,
): string[] {
  return [
    `let id = (wg.y * grid.x + wg.x) * 64u + lane;`,
    `if (id >= ${total}) { return; }`,
    `let ${x} = id % ${width};`,
    `var rest = id / ${width};`,
    `let ${y} = rest % ${height};`,
    `rest /= ${height};`,
    `let c = rest % ${channels};`,
    `let n = rest / ${channels};`,
  ];
}

function forward(
  name: string,
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
  helpers: readonly string[],
  text: (params: Params, H: string, W: string) => { open: string; visit: string; result: string },
  dtype: DType = spec.input.dtype,
): Kernel {
  const params = new Params(),
    shape = spec.input.layout.shape,
    [N, C, P, Q] = poolShape(shape, spec),
    total = N * C * P * Q;
  const decls: StorageDecl[] = [
    { dtype: spec.input.dtype, vec: false, access: "read" },
    { dtype, vec: false, access: "read_write" },
  ];
  const H = params.u32("H", at(shape, 2)),
    W = params.u32("W", at(shape, 3)),
    t = text(params, H, W),
    x = imageView(params, "x", spec.input, 0, at(decls, 0));
  const [R, S] = spec.kernel,
    [ph, pw] = spec.padding,
    [sh, sw] = spec.stride;
  // Without padding every window lies inside: small ones are written out without a branch.
  const window =
    ph === 0 && pw === 0 && R * S <= 16 && spec.ceil !== true && dtype === spec.input.dtype
      ? [
          `let corner = plane + py * ${sh}u * ${x.y} + px * ${sw}u * ${x.x};`,
          ...Array.from(
            { length: R * S },
            (_, i) =>
              "{ let v = " +
              `${x.at(`corner + ${Math.floor(i / S)}u * ${x.y} + ${i % S}u * ${x.x}`)}; ` +
              `${t.visit.replace("\n", " ")} }`,
          ),
        ]
      : [
          `for (var r = 0u; r < ${R}u; r++) {`,
          indent(
            [
              `let y = py * ${sh}u + r - ${ph}u;`,
              `if (y >= ${H}) { continue; }`,
              `for (var s = 0u; s < ${S}u; s++) {`,
              indent(
                [
                  `let x = px * ${sw}u + s - ${pw}u;`,
                  `if (x >= ${W}) { continue; }`,
                  `let v = ${x.load("plane", "y", "x")};`,
                  t.visit,
                ].join("\n"),
              ),
              "}",
            ].join("\n"),
          ),
          "}",
        ];
  const main = [
    ...decompose(
      params.u32("total", total),
      params.u32("Q", Q),
      params.u32("P", P),
      params.u32("C", C),
      "py",
      "px",
    ),
    `let plane = ${x.base};`,
    t.open,
    ...window,
    `b1[id] = ${toStored(dtype, t.result)};`,
  ].join("\n");
  return makeKernel(
    {
      name,
      storages: decls,
      params,
      helpers,
      workgroupSize: [64, 1, 1],
      main,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}

function backward(
  name: string,
  spec: PoolWindow,
  inputShape: readonly number[],
  inputs: readonly View[],
  after: Epilogue | undefined,
  caps: DeviceCaps,
  text: (f: { H: string; W: string; views: ImageView[] }) => {
    helpers: readonly string[];
    open: readonly string[];
    visit: readonly string[];
  },
): Kernel {
  const params = new Params(),
    [N, C, H, W] = inputShape as [number, number, number, number],
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
