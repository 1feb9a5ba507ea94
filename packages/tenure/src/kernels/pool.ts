/**
 * Max and average pooling over NCHW images of any strides, and their gradients as gathers: each input position looks at the windows that cover it, so
 * nothing is written twice and nothing needs clearing first. Windows are part of the structure, sizes are parameters. Owns nothing.
 */
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, type StorageDecl, gridOf, indent, loadElement, makeKernel, negInfWord, toStored } from "./wgsl.ts";

/** Pairs are (vertical, horizontal). */
export interface PoolWindow {
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  /** At most half the kernel. Never a maximum; counted as zeros by the average unless `countIncludePad` is false. */
  readonly padding: readonly [number, number];
}

/** Shape [N, C, P, Q] of the output. */
export function poolShape(input: readonly number[], w: PoolWindow): [number, number, number, number] {
  const size = (i: 0 | 1): number => Math.floor((input[2 + i]! + 2 * w.padding[i] - w.kernel[i]) / w.stride[i]) + 1;
  return [input[0]!, input[1]!, size(0), size(1)];
}

/** Bindings: input, output (contiguous). NaN counts as the maximum. */
export function maxPool2dKernel(spec: PoolWindow & { readonly input: View }, caps: DeviceCaps): Kernel {
  return forward("maxPool2d", spec, caps, ["isNan"], (params) => ({
    open: `var best = bitcast<f32>(${params.u32("low", negInfWord)});`, visit: "if (!isNan(best) && (v > best || isNan(v))) { best = v; }", result: "best",
  }));
}

/** Bindings: input, output (contiguous). */
export function avgPool2dKernel(spec: PoolWindow & { readonly input: View; readonly countIncludePad?: boolean }, caps: DeviceCaps): Kernel {
  const all = spec.countIncludePad ?? true;
  return forward("avgPool2d", spec, caps, [], () => ({
    open: `var sum = 0.0;\nvar count = 0.0;`, visit: "sum += v;\ncount += 1.0;", result: all ? `sum / ${spec.kernel[0] * spec.kernel[1]}.0` : "sum / count",
  }));
}

/** Bindings: input, grad (shape of the output), result (contiguous, shape of the input). The first maximum of a window takes its gradient. */
export function maxPool2dBackwardKernel(spec: PoolWindow & { readonly input: View; readonly grad: View }, caps: DeviceCaps): Kernel {
  const [R, S] = spec.kernel, [ph, pw] = spec.padding, [sh, sw] = spec.stride;
  return backward("maxPool2dBackward", spec, spec.input.layout.shape, [spec.input, spec.grad], caps, (f) => {
    const [x, g] = f.views;
    return {
      helpers: ["isNan"],
      open: [`let plane = ${x!.base};`, `let mine = ${x!.load("plane", "y", "x")};`],
      // This position wins when nothing before it in the window is as large and nothing after it is larger.
      visit: [
        "var wins = true;",
        `for (var r = 0u; r < ${R}u; r++) {`,
        indent([
          `let wy = py * ${sh}u + r - ${ph}u;`, `if (wy >= ${f.H}) { continue; }`,
          `for (var s = 0u; s < ${S}u; s++) {`,
          indent([
            `let wx = px * ${sw}u + s - ${pw}u;`, `if (wx >= ${f.W} || (wy == y && wx == x)) { continue; }`, `let other = ${x!.load("plane", "wy", "wx")};`,
            "let before = wy < y || (wy == y && wx < x);",
            "if (isNan(mine)) { if (before && isNan(other)) { wins = false; } }",
            "else if (isNan(other) || other > mine || (before && other == mine)) { wins = false; }",
          ].join("\n")),
          "}",
        ].join("\n")),
        "}",
        `if (wins) { sum += ${g!.load(g!.base, "py", "px")}; }`,
      ],
    };
  });
}

/** Bindings: grad, result (contiguous, `inputShape`). */
export function avgPool2dBackwardKernel(spec: PoolWindow & { readonly grad: View; readonly inputShape: readonly number[]; readonly countIncludePad?: boolean }, caps: DeviceCaps): Kernel {
  const [R, S] = spec.kernel, [ph, pw] = spec.padding, [sh, sw] = spec.stride;
  return backward("avgPool2dBackward", spec, spec.inputShape, [spec.grad], caps, (f) => {
    const covered = (name: string, at: string, stride: number, kernel: number, pad: number, size: string): string =>
      `let ${name} = f32(min(i32(${at} * ${stride}u) - ${pad} + ${kernel}, i32(${size})) - max(i32(${at} * ${stride}u) - ${pad}, 0));`;
    const value = f.views[0]!.load(f.views[0]!.base, "py", "px");
    return {
      helpers: [], open: [],
      visit: spec.countIncludePad ?? true ? [`sum += ${value} / ${R * S}.0;`]
        : [covered("ch", "py", sh, R, ph, f.H), covered("cw", "px", sw, S, pw, f.W), `sum += ${value} / (ch * cw);`],
    };
  });
}

// === Shared text ===

/** Fields and a loader for a [N, C, height, width] view. */
function imageView(params: Params, name: string, v: View, binding: number, decl: StorageDecl): { base: string; load(base: string, y: string, x: string): string } {
  const strides = v.layout.strides.map((s, i) => params.u32(`${name}${i}`, s));
  return {
    base: `(${params.u32(name, v.layout.offset)} + n * ${strides[0]} + c * ${strides[1]})`,
    load: (base, y, x) => loadElement(decl, binding, `${base} + ${y} * ${strides[2]} + ${x} * ${strides[3]}`),
  };
}

function decompose(total: string, width: string, height: string, channels: string, y: string, x: string): string[] {
  return [
    `let id = (wg.y * grid.x + wg.x) * 64u + lane;`, `if (id >= ${total}) { return; }`, `let ${x} = id % ${width};`, `var rest = id / ${width};`,
    `let ${y} = rest % ${height};`, `rest /= ${height};`, `let c = rest % ${channels};`, `let n = rest / ${channels};`,
  ];
}

function forward(
  name: string, spec: PoolWindow & { readonly input: View }, caps: DeviceCaps, helpers: readonly string[],
  text: (params: Params) => { open: string; visit: string; result: string },
): Kernel {
  const params = new Params(), shape = spec.input.layout.shape, [N, C, P, Q] = poolShape(shape, spec), total = N * C * P * Q;
  const decls: StorageDecl[] = [{ dtype: spec.input.dtype, vec: false, access: "read" }, { dtype: spec.input.dtype, vec: false, access: "read_write" }];
  const H = params.u32("H", shape[2]!), W = params.u32("W", shape[3]!), t = text(params), x = imageView(params, "x", spec.input, 0, decls[0]!);
  const main = [
    ...decompose(params.u32("total", total), params.u32("Q", Q), params.u32("P", P), params.u32("C", C), "py", "px"),
    `let plane = ${x.base};`, t.open,
    `for (var r = 0u; r < ${spec.kernel[0]}u; r++) {`,
    indent([
      `let y = py * ${spec.stride[0]}u + r - ${spec.padding[0]}u;`, `if (y >= ${H}) { continue; }`,
      `for (var s = 0u; s < ${spec.kernel[1]}u; s++) {`,
      indent([`let x = px * ${spec.stride[1]}u + s - ${spec.padding[1]}u;`, `if (x >= ${W}) { continue; }`, `let v = ${x.load("plane", "y", "x")};`, t.visit].join("\n")),
      "}",
    ].join("\n")),
    "}",
    `b1[id] = ${toStored(spec.input.dtype, t.result)};`,
  ].join("\n");
  return makeKernel({ name, storages: decls, params, helpers, workgroupSize: [64, 1, 1], main, workgroups: gridOf(Math.ceil(total / 64), caps) }, caps);
}

function backward(
  name: string, spec: PoolWindow, inputShape: readonly number[], inputs: readonly View[], caps: DeviceCaps,
  text: (f: { H: string; W: string; views: ReturnType<typeof imageView>[] }) => { helpers: readonly string[]; open: readonly string[]; visit: readonly string[] },
): Kernel {
  const params = new Params(), [N, C, H, W] = inputShape as [number, number, number, number], total = N * C * H * W, [, , P, Q] = poolShape(inputShape, spec);
  const decls: StorageDecl[] = [...inputs.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })), { dtype: inputs[0]!.dtype, vec: false, access: "read_write" }];
  const f = { H: params.u32("H", H), W: params.u32("W", W), views: inputs.map((v, i) => imageView(params, "xg"[i + 2 - inputs.length]!, v, i, decls[i]!)) };
  const t = text(f), [R, S] = spec.kernel, [ph, pw] = spec.padding, [sh, sw] = spec.stride;
  // Windows py that cover y: py · stride − pad ≤ y < py · stride − pad + kernel.
  const range = (at: string, kernel: number, stride: number, pad: number, count: string, v: string): string[] => [
    `let ${v}From = (max(${at} + ${pad + stride}u, ${kernel}u) - ${kernel}u) / ${stride}u;`, `let ${v}To = min((${at} + ${pad}u) / ${stride}u + 1u, ${count});`,
  ];
  const main = [
    ...decompose(params.u32("total", total), f.W, f.H, params.u32("C", C), "y", "x"), ...t.open, "var sum = 0.0;",
    ...range("y", R, sh, ph, params.u32("P", P), "py"), ...range("x", S, sw, pw, params.u32("Q", Q), "px"),
    "for (var py = pyFrom; py < pyTo; py++) {", indent(["for (var px = pxFrom; px < pxTo; px++) {", indent(t.visit.join("\n")), "}"].join("\n")), "}",
    `b${inputs.length}[id] = ${toStored(inputs[0]!.dtype, "sum")};`,
  ].join("\n");
  return makeKernel({ name, storages: decls, params, helpers: t.helpers, workgroupSize: [64, 1, 1], main, workgroups: gridOf(Math.ceil(total / 64), caps) }, caps);
}
