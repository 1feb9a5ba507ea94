/**
 * Turns a user's shader into a kernel of ours: bindings by position, params behind them, the key
 * from the text. Called through `defineOp` in tensor/.
 */
import { hash64 } from "../base/hash.ts";
import { at } from "../base/access.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import type { DeviceCaps, Kernel, View } from "../kernels/kernel.ts";
import type { Meta } from "./op.ts";

interface Shader {
  readonly wgsl: string;
  readonly workgroups: readonly [number, number, number];
  readonly params?: readonly number[];
}

/** @throws ArgumentError for what is no shader */
function checkShader(name: string, shader: unknown): Shader {
  const given = (shader ?? {}) as Partial<Shader>;
  const { wgsl, workgroups, params } = given;
  const isShader =
    typeof wgsl === "string" &&
    Array.isArray(workgroups) &&
    workgroups.length === 3 &&
    (params === undefined || Array.isArray(params));
  if (isShader) return given as Shader;
  throw new ArgumentError(
    name,
    "kernel() to return { wgsl, workgroups: [x, y, z] }",
    describeValue(shader),
    "see CustomKernel",
  );
}

/** @throws ArgumentError when the launch is larger than the device allows */
export function customKernel(
  name: string,
  scalars: number,
  make: (inputs: readonly Meta[], output: Meta) => Shader,
): (inputs: readonly View[], outputs: readonly View[], attrs: unknown, caps: DeviceCaps) => Kernel {
  const meta = (v: View): Meta => ({ shape: v.layout.shape, dtype: v.dtype });
  return (inputs, outputs, _, caps) => {
    let shader: Shader;
    try {
      shader = make(inputs.map(meta), meta(at(outputs, 0)));
    } catch (cause) {
      throw new TenureError(name, `expected kernel() to return a shader, got ${String(cause)}`, {
        cause,
      });
    }
    const { wgsl, workgroups, params = [] } = checkShader(name, shader);
    if (workgroups.some((n) => !Number.isInteger(n) || n < 0 || n > caps.maxWorkgroupsPerDimension))
      throw new ArgumentError(
        name,
        `at most ${caps.maxWorkgroupsPerDimension} workgroups in each dimension`,
        workgroups.join("×"),
        "spread the launch over two dimensions",
      );
    return {
      key: `${name}:${hash64(wgsl)}`,
      wgsl,
      workgroups,
      bindings: [...inputs.map(() => "read" as const), "read_write"],
      params: [...Array.from({ length: scalars }, () => 0), ...params],
      ...(scalars === 0
        ? {}
        : { dynamic: Array.from({ length: scalars }, (__, i) => ({ word: i, scalar: i })) }),
    };
  };
}
