/**
 * The watched device: it computes what a kernel says, and complains of what drivers let pass. Every
 * complaint is provoked once, since a watchman that says nothing would let everything through.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Random } from "../random.ts";
import { type WatchedGPU, installWatched, uninstallWatched } from "../wgsl/device.ts";
import { translate } from "../wgsl/translate.ts";

const test = suite("watched device");
const main =
  "@compute @workgroup_size(4, 1, 1)\n" +
  "fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) lane: u32)";
const head =
  "@group(0) @binding(0) var<storage, read> a: array<f32>;\n" +
  "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n";

interface Trial {
  readonly gpu: WatchedGPU;
  readonly device: GPUDevice;
  buffer(values: readonly number[], usage?: number): GPUBuffer;
  run(wgsl: string, buffers: readonly GPUBuffer[]): void;
  read(buffer: GPUBuffer): Promise<number[]>;
}

async function trial(): Promise<Trial> {
  const gpu = installWatched(new Random(1));
  const adapter = (await gpu.requestAdapter()) as GPUAdapter;
  uninstallWatched();
  const device = await adapter.requestDevice();
  return {
    gpu,
    device,
    buffer(values, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST) {
      const made = device.createBuffer({ size: 4 * values.length, usage: usage | 4 });
      device.queue.writeBuffer(made, 0, Float32Array.from(values));
      return made;
    },
    run(code, buffers) {
      const module = device.createShaderModule({ code });
      const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
      const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
      const layout = device.createBindGroupLayout({ entries: [] });
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
      pass.dispatchWorkgroups(1);
      pass.end();
      device.queue.submit([encoder.finish()]);
    },
    async read(buffer) {
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      const target = device.createBuffer({ size: buffer.size, usage });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, 0, target, 0, buffer.size);
      device.queue.submit([encoder.finish()]);
      await target.mapAsync(GPUMapMode.READ);
      return [...new Float32Array(target.getMappedRange())];
    },
  };
}

test("computes in float32 and 32-bit integers", async () => {
  const { gpu, buffer, run, read } = await trial();
  const from = buffer([0.1, 0.2, -3, 16777216]);
  const to = buffer([0, 0, 0, 0]);
  const body =
    "let x = a[lane]; var y = x + 1.0; if (x < 0.0) { y = -x; } " +
    "for (var k = 0u; k < 2u; k += 1u) { y += select(0.0, 0.5, (lane & 1u) == 0u); } " +
    "let n = 0xffffffffu * (lane + 2u); b[lane] = y * 2.0 + f32(n >> 31u);";
  run(`${head}${main} { ${body} }`, [from, to]);
  const expected = [0.1, 0.2, -3, 16777216].map((v, lane) => {
    const x = Math.fround(v);
    const y = x < 0 ? -x : Math.fround(x + 1);
    return Math.fround(Math.fround((lane % 2 === 0 ? Math.fround(y + 1) : y) * 2) + 1);
  });
  assert.equal(await read(to), expected);
  assert.equal(gpu.complaints, []);
});

test("computes with vectors, structs and functions", async () => {
  const { buffer, run, read } = await trial();
  const wide = head.replaceAll("array<f32>", "array<vec4<f32>>");
  const text =
    "struct R { sum: f32, twice: vec4<f32> }\n" +
    "fn f(v: vec4<f32>) -> R { return R(v.x + v.y + v.z + v.w, 2.0 * v); }\n";
  const to = buffer([0, 0, 0, 0]);
  run(
    `${wide}${text}${main} { if (lane == 0u) ` +
      "{ let r = f(a[0]); var o = r.twice; o.w = r.sum; b[0] = o; } }",
    [buffer([1, 2, 3, 4]), to],
  );
  assert.equal(await read(to), [2, 4, 6, 10]);
});

test("new buffers do not hold zeros", async () => {
  const { device, read } = await trial();
  const fresh = device.createBuffer({ size: 8, usage: GPUBufferUsage.COPY_SRC });
  assert.equal(await read(fresh), [NaN, NaN]);
});

const wrong: readonly [string, string, RegExp][] = [
  ["a read outside", "b[lane] = a[lane + 1u];", /reads element 4 of a binding of 4/],
  ["a write outside", "b[lane + 1u] = 1.0;", /writes element 4 of a binding of 4/],
  ["two writers of a word", "b[0] = 1.0;", /writes element 0, which another invocation/],
  ["a reader beside a writer", "b[lane] = b[0];", /element 0, which another invocation/],
  ["a writer after a reader", "let x = b[3]; b[lane] = x;", /element 3, which another/],
];
for (const [what, body, complaint] of wrong)
  test(`complains of ${what}`, async () => {
    const { gpu, buffer, run } = await trial();
    run(`${head}${main} { ${body} }`, [buffer([1, 2, 3, 4]), buffer([1, 2, 3, 4])]);
    assert.match(gpu.complaints.join("\n"), complaint);
  });

test("complains of buffers bound wrongly, gone, mapped or for something else", async () => {
  const { gpu, device, buffer, run, read } = await trial();
  const copies = `${head}${main} { b[lane] = a[lane]; }`;
  const said = (): string => gpu.complaints.splice(0).join("\n");
  const both = buffer([1, 2, 3, 4]);
  run(copies, [both, both]);
  assert.match(said(), /binds a buffer for reading and for writing/);
  both.destroy();
  run(copies, [both, buffer([1, 2, 3, 4])]);
  assert.match(said(), /read binding of buffer "" after its end/);
  run(copies, [buffer([1, 2, 3, 4], GPUBufferUsage.COPY_DST), buffer([1, 2, 3, 4])]);
  assert.match(said(), /read binding of buffer "" with usage/);
  const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC;
  await read(device.createBuffer({ size: 8, usage, mappedAtCreation: true }));
  assert.match(said(), /copy out of buffer "" while mapped/);
});

test("refuses what it does not know", () => {
  assert.throws(() => translate(`${main} { workgroupBarrier(); }`), /is not translated/);
  assert.throws(() => translate("var<workgroup> x: array<f32, 4>;"), /is not translated/);
});

test("vectors are computed by component, functions as on a device", async () => {
  const { buffer, run, read } = await trial();
  const [a, b] = [buffer([1, -2, 3, -4]), buffer([0, 0, 0, 0])] as const;
  const text = [
    "let v = vec4<f32>(a[0], a[1], a[2], a[3]);",
    "let w = select(v, -v, v < vec4<f32>(0.0));",
    "var n = 0u;",
    "for (var k = 0u; k < 6u; k++) { if (k == 2u) { continue; } n |= k; }",
    "if (lane == 0u) { b[0] = dot(v, w); }",
    "if (lane == 1u) { b[1] = exp(clamp(w.x, 0.0, 0.5)); }",
    "if (lane == 2u) { b[2] = f32(n) + limit; }",
    "if (lane == 3u) { b[3] = select(0.0, 1.0, any(w > v)); }",
  ];
  run(`${head}var<private> limit: f32 = 0.5;\n${main} {\n${text.join("\n")}\n}`, [a, b]);
  assert.equal(await read(b), [-10, Math.fround(Math.exp(0.5)), 7.5, 1]);
});

test.run();
