/**
 * Host overhead: microseconds per recorded op, and per dispatch on a plan hit against raw WebGPU
 * calls that encode the same dispatches with cached pipelines and bind groups. Aims: 3 µs or less
 * per recorded op, 1.5 times or less the raw calls.
 */
import {
  type Tensor,
  type TrackLevel,
  compile,
  init,
  memory,
  newDisposeScope,
  sync,
  tensor,
  zeros,
} from "tenure";
import { SGD } from "tenure/optim";
import { Linear, ReLU, Sequential, functional } from "tenure/nn";
import type { Device } from "../tenure/src/device/device.ts";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { sideBySide, table, undisturbed } from "./timing.ts";

const chain = 200;
/** Rounds of training steps that are timed, and that run before the later ones are. */
const rounds = 400;
const warmUp = 1200;

/** Host time of `fn` in microseconds. */
function host(fn: () => void): number {
  const start = performance.now();
  fn();
  return (performance.now() - start) * 1000;
}

/** The same dispatches by hand: one pipeline, two bind groups that swap source and target. */
function rawCalls(device: GPUDevice): () => void {
  const buffer = (): GPUBuffer => device.createBuffer({ size: 256, usage: GPUBufferUsage.STORAGE });
  const a = buffer(),
    b = buffer();
  const module = device.createShaderModule({
    code: `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  b[id.x] = a[id.x] + 1.0;
}`,
  });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const groups = [
    [a, b],
    [b, a],
  ].map((pair) =>
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: pair.map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  return () => {
    const encoder = device.createCommandEncoder(),
      pass = encoder.beginComputePass();
    for (let i = 0; i < chain; i++) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, groups[i & 1]);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
}

/** Host microseconds per op of recording a chain, and per dispatch of a flush and of raw calls. */
async function micro(raw: () => void): Promise<Record<string, number>> {
  using x = zeros([64]);
  using w = zeros([64]);
  using leaf = tensor(new Float32Array(64), { requiresGrad: true });
  await sync();
  const record = async (start: typeof x): Promise<number> => {
    let t = start;
    const us = host(() => {
      using _scope = newDisposeScope();
      for (let i = 0; i < chain; i++) t = (i & 1) === 0 ? t.add(w) : t.mul(w);
    });
    await sync();
    return us / chain;
  };
  const level = (name: TrackLevel, start: typeof x) => (): Promise<number> => {
    memory.track(name);
    return record(start);
  };
  runtime().settings.fuse = false; // as many dispatches as ops: a fused chain would be seven
  const result = await sideBySide(
    60,
    {
      off: level("off", x),
      sampled: level("sampled", x),
      full: level("full", x),
      taped: level("off", leaf),
      hit: async () => {
        memory.track("off");
        let out = x.alias();
        {
          using scope = newDisposeScope();
          let t = x.add(w);
          for (let i = 1; i < chain; i++) t = t.add(w);
          out.dispose();
          out = scope.detach(t);
        }
        const us =
          host(() => {
            runtime().submission.flush();
          }) / chain;
        await sync();
        out.dispose();
        return us;
      },
      raw: async () => {
        const us = host(raw) / chain;
        await sync();
        return us;
      },
    },
    undisturbed,
  );
  runtime().settings.fuse = true;
  return result;
}

/** What one run of `fn` dispatches, to be encoded again by hand. */
async function dispatchesOf(device: Device, fn: () => void): Promise<Dispatched[]> {
  const { queue } = device;
  const seen: Dispatched[] = [];
  const plain = queue.dispatch.bind(queue);
  queue.dispatch = (...dispatched) => {
    seen.push(dispatched);
    plain(...dispatched);
  };
  try {
    fn();
    await sync();
  } finally {
    queue.dispatch = plain;
  }
  return seen;
}

type Dispatched = Parameters<Device["queue"]["dispatch"]>;

/**
 * A training step as users write it, the same compiled, and raw calls that encode and submit the
 * very same dispatches: everything from the first op to the submit, in microseconds per dispatch.
 * Timed at the beginning, while the host still compiles what runs, and again when it has.
 */
async function trainingStep(device: Device): Promise<Record<string, number>> {
  using model = new Sequential(new Linear(32, 32), new ReLU(), new Linear(32, 10));
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  using images = zeros([8, 32]);
  using labels = tensor(new Int32Array(8));
  const train = (x: Tensor, y: Tensor): void => {
    optimizer.zeroGrad();
    functional.crossEntropy(model.call(x), y).backward();
    optimizer.step();
  };
  using compiled = compile(train);
  const scopedly = (fn: typeof train): void => {
    using _scope = newDisposeScope();
    fn(images, labels);
  };
  for (let i = 0; i < 3; i++) {
    scopedly(train);
    scopedly(compiled);
    await sync();
  }
  const dispatches = await dispatchesOf(device, () => {
    scopedly(train);
  });
  const encoded = (): void => {
    const encoder = device.gpu.createCommandEncoder(),
      pass = encoder.beginComputePass();
    for (const [pipeline, group, x, y, z] of dispatches) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
    }
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
  };
  const timed = (fn: () => void) => async (): Promise<number> => {
    const us = host(fn);
    await sync();
    return us / dispatches.length;
  };
  const variants = {
    step: timed(() => {
      scopedly(train);
    }),
    compiled: timed(() => {
      scopedly(compiled);
    }),
    rawStep: timed(encoded),
  };
  const first = await sideBySide(rounds, variants, undisturbed);
  await sideBySide(warmUp, variants, undisturbed);
  const later = await sideBySide(rounds, variants, undisturbed);
  return {
    ...first,
    laterStep: later["step"]!,
    laterCompiled: later["compiled"]!,
    rawLater: later["rawStep"]!,
  };
}

/** The table of host overhead. */
export async function run(): Promise<string> {
  const info = await init();
  const { device } = runtime();
  if (device === null) throw new Error("no device");
  const us = { ...(await micro(rawCalls(device.gpu))), ...(await trainingStep(device)) };
  memory.track("sampled");
  if (!runtime().recorder.program.isEmpty) await sync();

  const row = (
    what: string,
    value: number,
    unit?: "off" | "raw" | "rawStep" | "rawLater",
  ): string[] => [
    what,
    value.toFixed(2),
    unit === undefined ? "" : `${(value / us[unit]!).toFixed(2)} × ${unit.slice(0, 3)}`,
  ];
  return (
    `${info.name} (${info.kind}, ${info.source}). Host time only; first deciles of 60 ` +
    `rounds (steps: ${rounds}), variants in turns; chains of ${chain} ops on 64 elements; ` +
    `later steps are those after ${rounds + warmUp}.\n\n` +
    table(
      ["per op", "µs", "ratio"],
      [
        row("record + dispose, tracking off", us["off"]!),
        row("record + dispose, tracking sampled (default in development)", us["sampled"]!, "off"),
        row("record + dispose, tracking full", us["full"]!, "off"),
        row("record + tape + dispose, tracking off", us["taped"]!, "off"),
        row("flush on a plan hit, per dispatch", us["hit"]!, "raw"),
        ["raw WebGPU calls, per dispatch", us["raw"]!.toFixed(2), "1"],
        row("training step as written, per dispatch", us["step"]!, "rawStep"),
        row("the same compiled: compile(fn), per dispatch", us["compiled"]!, "rawStep"),
        ["raw WebGPU calls of the same step, per dispatch", us["rawStep"]!.toFixed(2), "1"],
        row("later steps as written, per dispatch", us["laterStep"]!, "rawLater"),
        row("later steps compiled, per dispatch", us["laterCompiled"]!, "rawLater"),
        ["raw WebGPU calls of later steps, per dispatch", us["rawLater"]!.toFixed(2), "1"],
      ],
    )
  );
}
