/**
 * Host overhead: microseconds per recorded op, and per dispatch on a plan hit against raw WebGPU
 * calls that encode the same dispatches with cached pipelines and bind groups. Aims: 3 µs or less
 * per recorded op, 1.5 times or less the raw calls.
 */
import { init, memory, newDisposeScope, sync, tensor, zeros } from "tenure";
import { SGD } from "tenure/optim";
import { Linear, ReLU, Sequential, functional } from "tenure/nn";
import { runtime, flush } from "../tenure/src/runtime/execute.ts";
import { fusion } from "../tenure/src/runtime/fusion.ts";
import { program } from "../tenure/src/runtime/record.ts";
import { sideBySide, table } from "./timing.ts";

const chain = 200;

/** Host time of `fn` in microseconds. */
function host(fn: () => void): number {
  const start = performance.now();
  fn();
  return (performance.now() - start) * 1000;
}

export async function run(): Promise<string> {
  const info = await init();
  const device = runtime.device!;
  const x = zeros([64]),
    w = zeros([64]),
    leaf = tensor(new Float32Array(64), { requiresGrad: true });
  await sync();

  // The same dispatches by hand: one pipeline, two bind groups that swap source and target.
  const usage = GPUBufferUsage.STORAGE;
  const [a, b] = [0, 1].map(() => device.gpu.createBuffer({ size: 256, usage })) as [
    GPUBuffer,
    GPUBuffer,
  ];
  const module = device.gpu.createShaderModule({
    code: "@group(0) @binding(0) var<storage, read> a: array<f32>; @group(0) @binding(1) var<storage, read_write> b: array<f32>; @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { b[id.x] = a[id.x] + 1.0; }",
  });
  const pipeline = device.gpu.createComputePipeline({ layout: "auto", compute: { module } });
  const groups = [
    [a, b],
    [b, a],
  ].map((pair) =>
    device.gpu.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: pair.map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  const raw = (): void => {
    const encoder = device.gpu.createCommandEncoder(),
      pass = encoder.beginComputePass();
    for (let i = 0; i < chain; i++) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, groups[i & 1]);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
  };

  const record = (start: typeof x): number => {
    let t = start;
    return (
      host(() => {
        using _scope = newDisposeScope();
        for (let i = 0; i < chain; i++) t = (i & 1) === 0 ? t.add(w) : t.mul(w);
      }) / chain
    );
  };
  const level = (name: "off" | "sampled" | "full") => async (): Promise<number> => {
    memory.track(name);
    const us = record(x);
    await sync();
    return us;
  };
  fusion.enabled = false; // as many dispatches as ops: a joined chain would be seven
  const micro = await sideBySide(60, {
    off: level("off"),
    sampled: level("sampled"),
    full: level("full"),
    taped: async () => {
      memory.track("off");
      const us = record(leaf);
      await sync();
      return us;
    },
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
      const us = host(flush) / chain;
      await sync();
      out.dispose();
      return us;
    },
    raw: async () => {
      const us = host(raw) / chain;
      await sync();
      return us;
    },
  });

  fusion.enabled = true;

  // A training step as users write it: everything from the first op to the submit, per dispatch.
  const model = new Sequential(new Linear(32, 32), new ReLU(), new Linear(32, 10)),
    optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const images = zeros([8, 32]),
    labels = tensor(new Int32Array(8));
  const step = await sideBySide(60, {
    step: async () => {
      const before = memory.debug();
      const us = host(() => {
        using _scope = newDisposeScope();
        optimizer.zeroGrad();
        functional.crossEntropy(model.call(images), labels).backward();
        optimizer.step();
      });
      await sync();
      const after = memory.debug();
      return us / (after.dispatches - before.dispatches);
    },
  });
  for (const d of [model, optimizer, images, labels, x, w, leaf]) d.dispose();
  memory.track("sampled");
  if (!program.isEmpty) await sync();

  const us = (n: number): string => n.toFixed(2);
  return `${info.name} (${info.kind}, ${info.source}). Host time only; medians of 60 rounds, variants in turns; chains of ${chain} ops on 64 elements.\n\n${table(
    ["per op", "µs", "ratio"],
    [
      ["record + dispose, tracking off", us(micro["off"]!), ""],
      [
        "record + dispose, tracking sampled (default in development)",
        us(micro["sampled"]!),
        `${(micro["sampled"]! / micro["off"]!).toFixed(2)} × off`,
      ],
      [
        "record + dispose, tracking full",
        us(micro["full"]!),
        `${(micro["full"]! / micro["off"]!).toFixed(2)} × off`,
      ],
      [
        "record + tape + dispose, tracking off",
        us(micro["taped"]!),
        `${(micro["taped"]! / micro["off"]!).toFixed(2)} × off`,
      ],
      [
        "flush on a plan hit, per dispatch",
        us(micro["hit"]!),
        `${(micro["hit"]! / micro["raw"]!).toFixed(2)} × raw`,
      ],
      ["raw WebGPU calls, per dispatch", us(micro["raw"]!), "1"],
      [
        "whole training step (record, tape, backward, optimizer, flush), per dispatch",
        us(step["step"]!),
        `${(step["step"]! / micro["raw"]!).toFixed(2)} × raw`,
      ],
    ],
  )}`;
}
