/**
 * The pipeline cache: what no plan uses goes first, what one uses never goes, and layouts go with
 * their last pipeline.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CounterSet } from "../../src/device/counters.ts";
import { PipelineCache } from "../../src/device/pipelines.ts";
import type { Kernel } from "../../src/kernels/kernel.ts";

const test = suite("pipeline cache");

Object.assign(globalThis, { GPUShaderStage: { COMPUTE: 4 } });

/** A device that counts what it makes. */
function device(): { gpu: GPUDevice; layouts: () => number } {
  let layouts = 0;
  const gpu = {
    createShaderModule: () => ({}),
    createComputePipeline: () => ({}),
    createPipelineLayout: () => ({}),
    createBindGroupLayout: () => ({ id: ++layouts }),
  };
  return { gpu: gpu as unknown as GPUDevice, layouts: () => layouts };
}

const kernel = (n: number, reads = 1): Kernel => ({
  key: `kernel ${n}`,
  wgsl: `shader ${n}`,
  bindings: [...Array.from({ length: reads }, () => "read" as const), "read_write"],
  params: [],
  workgroups: [1, 1, 1],
});

test("pipelines that no plan uses go, those longest out of use first", () => {
  const counters = new CounterSet();
  const cache = new PipelineCache(device().gpu, counters, 3);
  const a = cache.get(kernel(1), "op");
  const b = cache.get(kernel(2), "op");
  const c = cache.get(kernel(3), "op");
  cache.use([a, b, b, c]);
  cache.unuse([b]); // still used
  cache.unuse([c]);
  cache.unuse([a]);
  const d = cache.get(kernel(4), "op");
  cache.use([d]);
  assert.is(cache.size, 3);
  assert.is(cache.get(kernel(1), "op"), a);
  assert.is(cache.get(kernel(2), "op"), b);
  assert.is(counters.pipelinesDropped, 1);
  assert.is.not(cache.get(kernel(3), "op"), c);
});

test("what plans use stays, whatever there is of it", () => {
  const cache = new PipelineCache(device().gpu, new CounterSet(), 3);
  const used = Array.from({ length: 20 }, (_, n) => cache.get(kernel(n), "op"));
  cache.use(used);
  assert.is(cache.size, 20);
  for (const [n, pipeline] of used.entries()) assert.is(cache.get(kernel(n), "op"), pipeline);
  cache.unuse(used);
  assert.is(cache.size, 3);
});

test("kernels whose uniforms differ in size have layouts that say their sizes", () => {
  const sizes: (number | undefined)[] = [];
  const { gpu } = device();
  const made = gpu.createBindGroupLayout.bind(gpu);
  gpu.createBindGroupLayout = (descriptor) => {
    for (const { buffer } of descriptor.entries)
      if (buffer?.type === "uniform") sizes.push(buffer.minBindingSize);
    return made(descriptor);
  };
  const cache = new PipelineCache(gpu, new CounterSet());
  const small = cache.get({ ...kernel(1), params: [1, 2, 3, 4] }, "op");
  const large = cache.get({ ...kernel(2), params: [1, 2, 3, 4, 5, 6, 7] }, "op");
  const same = cache.get({ ...kernel(3), params: [7, 6, 5, 4, 3, 2, 1] }, "op");
  assert.is.not(small.layout, large.layout);
  assert.is(same.layout, large.layout);
  assert.equal(sizes, [16, 28]);
});

test("a layout goes with the last pipeline that has it", () => {
  const { gpu, layouts } = device();
  const cache = new PipelineCache(gpu, new CounterSet(), 0);
  const one = cache.get(kernel(1), "op");
  const two = cache.get(kernel(2), "op");
  cache.use([one, two]);
  assert.is(layouts(), 1);
  cache.unuse([one]);
  cache.get(kernel(3), "op");
  assert.is(layouts(), 1);
  cache.unuse([two]);
  cache.use([]);
  assert.is(cache.size, 0);
  cache.get(kernel(4), "op");
  assert.is(layouts(), 2);
});

test("a pipeline that was made anew does not count for the one before it", () => {
  const cache = new PipelineCache(device().gpu, new CounterSet(), 0);
  const before = cache.get(kernel(1), "op");
  cache.use([before]);
  cache.dropUnproven([before]);
  const after = cache.get(kernel(1), "op");
  cache.use([after]);
  cache.unuse([before]);
  assert.is(cache.get(kernel(1), "op"), after);
});

/** A device that makes pipelines ahead, all but one, and says in which order they are asked for. */
function slowDevice(): { gpu: GPUDevice; asked: string[]; answer: () => void } {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const { gpu } = device();
  const made = ({ label = "" }: GPUComputePipelineDescriptor): GPUComputePipeline =>
    ({ label }) as GPUComputePipeline;
  gpu.createComputePipeline = (descriptor) => {
    asked.push(`now ${descriptor.label}`);
    return made(descriptor);
  };
  gpu.createComputePipelineAsync = (descriptor) =>
    new Promise((resolve, reject) => {
      asked.push(`ahead ${descriptor.label}`);
      waiting.push(() => {
        if (descriptor.label === "op [kernel 2]") reject(new Error("no such shader"));
        else resolve(made(descriptor));
      });
    });
  Object.assign(gpu, { lost: new Promise(() => undefined) });
  const answer = (): void => {
    for (const each of waiting.splice(0)) each();
  };
  return { gpu, asked, answer };
}

test("made ahead: all at once, each once, and anew when used where that failed", async () => {
  const { gpu, asked, answer } = slowDevice();
  const cache = new PipelineCache(gpu, new CounterSet());
  cache.makesAhead = true;
  const list = [1, 2, 3].map((n) => cache.get(kernel(n), "op"));
  assert.equal(asked, [], "nothing is made before it is asked for");
  const ahead = cache.ahead([...list, ...list]);
  assert.equal(asked, ["ahead op [kernel 1]", "ahead op [kernel 2]", "ahead op [kernel 3]"]);
  asked.length = 0;
  assert.ok(ahead !== null);
  answer();
  await ahead;
  for (const pipeline of list) assert.is(pipeline.gpu, pipeline.gpu);
  assert.equal(asked, ["now op [kernel 2]"], "only the one that could not be made");
  assert.is(cache.ahead(list), null);
});

test("made ahead: who cannot wait makes them at once", () => {
  const { gpu, asked } = slowDevice();
  const cache = new PipelineCache(gpu, new CounterSet());
  cache.makesAhead = true;
  const one = cache.get(kernel(1), "op");
  assert.ok(one.gpu !== null);
  assert.equal(asked, ["now op [kernel 1]"]);
  assert.is(cache.ahead([one]), null);
});

test("made ahead: a device that is lost makes nobody wait", async () => {
  const { gpu } = slowDevice();
  Object.assign(gpu, { lost: Promise.resolve({ reason: "unknown", message: "" }) });
  const cache = new PipelineCache(gpu, new CounterSet());
  cache.makesAhead = true;
  await cache.ahead([cache.get(kernel(1), "op")]);
});

test.run();
