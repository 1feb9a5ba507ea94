/**
 * One kernel to be timed, and the plain kernel it is compared with. Read by the other files here.
 */
import type { DeviceCaps, Kernel } from "../../tenure/src/kernels/kernel.ts";

/** A kernel to be timed, with the buffers it takes and the work it does. */
export interface Case {
  readonly name: string;
  readonly kernel: Kernel;
  readonly naive?: Kernel;
  /** Elements per binding, outputs last. */
  readonly sizes: readonly number[];
  /** Work done, and the unit it is reported in per second. */
  readonly work: number;
  readonly unit: "GFLOP/s" | "GB/s";
}

/** Capabilities that lead a generator to one of its ways. @throws Error where it has no such way */
export const writtenAs = (caps: DeviceCaps, way: string): DeviceCaps => ({
  ...caps,
  choices: {
    choose: (kernel, _shape, space) => {
      if (!space.includes(way))
        throw new Error(`${kernel}: expected one of ${space.join(", ")}, got ${way}`);
      return way;
    },
  },
});

/** A kernel written by hand: `body` runs for every `i < count`. */
export function naive(inputs: number, count: number, body: string, outputs = 1): Kernel {
  const bindings = Array.from({ length: inputs + outputs }, (_, i) =>
    i < inputs ? ("read" as const) : ("read_write" as const),
  );
  const storages = bindings.map(
    (access, i) => `@group(0) @binding(${i}) var<storage, ${access}> b${i}: array<f32>;`,
  );
  const wgsl = `${storages.join("\n")}
@compute @workgroup_size(64) fn main(
  @builtin(workgroup_id) wg: vec3<u32>,
  @builtin(num_workgroups) grid: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let i = (wg.y * grid.x + wg.x) * 64u + lane;
  if (i >= ${count}u) { return; }
  ${body}
}`;
  const groups = Math.ceil(count / 64),
    y = Math.ceil(groups / 65535);
  return {
    key: wgsl,
    wgsl,
    bindings,
    params: [],
    workgroups: [Math.ceil(groups / y), y, 1],
  };
}
