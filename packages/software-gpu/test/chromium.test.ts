/**
 * The headless Chromium: computes on WebGPU, starts empty, leaves nothing behind. The browser is
 * started in the first test and closed in the last.
 */
import { readdirSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  launchChromium,
  type LaunchedChromium,
  servePages,
  SoftwareGpuError,
} from "../src/chromium.ts";
import { emptyFolder } from "./helpers.ts";

const temporary = emptyFolder();
const chromium = suite<{ running?: LaunchedChromium; before?: string | undefined }>(
  "launchChromium",
  {},
);

chromium.before(async (context) => {
  context.before = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
  context.running = await launchChromium();
});

chromium.after(async (context) => {
  await context.running?.close();
  if (context.before === undefined) Reflect.deleteProperty(process.env, "TMPDIR");
  else process.env["TMPDIR"] = context.before;
});

function browserOf(context: { running?: LaunchedChromium }): LaunchedChromium["browser"] {
  if (context.running === undefined) throw new Error("the browser was not started");
  return context.running.browser;
}

chromium("a page computes on the software adapter", async (context) => {
  const code =
    "@group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute " +
    "@workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] = " +
    "f32(id.x) * f32(id.x); }";
  const script = `
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice();
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const data = device.createBuffer({ size: 1024, usage: STORAGE | COPY_SRC });
    const staging = device.createBuffer({ size: 1024, usage: MAP_READ | COPY_DST });
    const module = device.createShaderModule({ code: ${JSON.stringify(code)} });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [{ binding: 0, resource: { buffer: data } }];
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(4);
    pass.end();
    encoder.copyBufferToBuffer(data, 0, staging, 0, 1024);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const values = [...new Float32Array(staging.getMappedRange())];
    window.answer = { architecture: adapter.info.architecture, values };
  `;
  await using pages = await servePages({
    "/": {
      type: "text/html",
      body: `<!doctype html><script type="module" src="/main.js"></script>`,
    },
    "/main.js": { type: "text/javascript", body: script },
  });
  const page = await browserOf(context).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(pages.url);
  const handle = await page.waitForFunction("window.answer", undefined, { timeout: 60_000 });
  const answer = (await handle.jsonValue()) as { architecture: string; values: number[] };
  assert.is(answer.architecture, "swiftshader");
  assert.equal(
    answer.values,
    Array.from({ length: 256 }, (_, i) => i * i),
  );
  assert.equal(problems, []);
  await page.close();
});

chromium("answers unknown paths with 404 and closes twice without harm", async () => {
  const pages = await servePages({ "/a": { type: "text/plain", body: "ä" } });
  const good = await fetch(`${pages.url}/a`);
  assert.is(good.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.is(await good.text(), "ä");
  assert.is((await fetch(`${pages.url}/toString`)).status, 404);
  await pages.close();
  await pages.close();
});

chromium("leaves no profile behind", async ({ running }) => {
  assert.is.not(
    readdirSync(temporary).filter((name) => name.startsWith("playwright")).length,
    0,
    "the profile lies in the temporary folder while the browser runs",
  );
  await running?.close();
  await running?.close();
  assert.equal(
    readdirSync(temporary).filter((name) => name.startsWith("playwright")),
    [],
  );
});

chromium("refuses other platforms by name", async () => {
  const error = await launchChromium({ platform: "linux", arch: "arm64" }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, SoftwareGpuError);
  assert.match((error as SoftwareGpuError).message, /^launchChromium: .*got linux on arm64/);
});

chromium.run();
