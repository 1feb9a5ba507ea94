/**
 * Times the kernels by themselves, each against a plain one-thread-per-output (softmax: per row)
 * kernel in the same process: ratios travel between machines, times do not. `run()` prints one
 * markdown table. Private; not part of any package.
 */
import type { DeviceCaps, Kernel } from "../tenure/src/kernels/kernel.ts";
import {
  type Gpu,
  bindGroupOf,
  bufferOf,
  dispatch,
  openGpu,
  randomData,
} from "../tenure/test/gpu/kernels/harness.ts";

import { type Case, writtenAs } from "./kernels/case.ts";
import { addCase, transposeCase } from "./kernels/elements.ts";
import { movingCases, poolCases } from "./kernels/moving.ts";
import { convCases, matmulCase } from "./kernels/products.ts";
import { attentionCase, flashCases, rowCases, softmaxCase, sumCase } from "./kernels/rows.ts";

/**
 * Median milliseconds of one dispatch of each kernel, in turns: enough in one pass that a sample
 * lasts some 20 ms; what takes over a second is sampled once.
 */
async function time(
  gpu: Gpu,
  kernels: readonly Kernel[],
  buffers: readonly GPUBuffer[],
): Promise<{ first: number; median: number }[]> {
  const rows: {
    first: number;
    sample: (times: number) => Promise<number>;
    times: number;
    samples: number[];
  }[] = [];
  for (const kernel of kernels) {
    const started = performance.now(),
      group = bindGroupOf(gpu, kernel, buffers);
    const sample = async (times: number): Promise<number> => {
      const start = performance.now();
      dispatch(gpu, kernel, group, times);
      await gpu.device.queue.onSubmittedWorkDone();
      return (performance.now() - start) / times;
    };
    await sample(1);
    const first = performance.now() - started,
      once = await sample(1);
    rows.push({
      first,
      sample,
      times: Math.max(1, Math.min(200, Math.round(20 / once))),
      samples: [once],
    });
  }
  for (let i = 0; i < 7; i++)
    for (const { sample, times, samples } of rows)
      if (samples[0]! <= 1000) samples.push(await sample(times));
  gpu.check();
  return rows.map(({ first, samples }) => ({
    first,
    median: samples.sort((x, y) => x - y)[samples.length >> 1]!,
  }));
}

/** Everything that is timed. */
function cases(caps: DeviceCaps): Case[] {
  return [
    matmulCase(caps, 512, 512, 512),
    matmulCase(caps, 1024, 1024, 1024),
    matmulCase(caps, 128, 256, 784),
    matmulCase(caps, 784, 256, 128, true),
    matmulCase(caps, 128, 784, 256, false, true),
    matmulCase(caps, 128, 256, 784, false, true),
    matmulCase(caps, 128, 10, 256),
    matmulCase(caps, 256, 10, 128, true),
    matmulCase(caps, 128, 256, 10, false, true),
    matmulCase(caps, 8192, 16, 64),
    matmulCase(caps, 1, 1024, 1024),
    matmulCase(caps, 1024, 1, 1024),
    ...["short 4×8", "split 16", "split 64"].map((way) => {
      const made = matmulCase(writtenAs(caps, way), 32, 32, 8192);
      return { ...made, name: `${made.name} ${way}` };
    }),
    addCase(caps, "add 4 Mi", [4 << 20], [4 << 20], "i"),
    addCase(caps, "add row [4096,1024] + [1024]", [4096, 1024], [1024], "i % 1024u"),
    addCase(caps, "add scalar 4 Mi", [4 << 20], [], "0u"),
    addCase(caps, "add 64 Ki", [1 << 16], [1 << 16], "i"),
    addCase(caps, "add odd 1 Mi + 1", [(1 << 20) + 1], [(1 << 20) + 1], "i"),
    transposeCase(caps),
    sumCase(caps, [4096, 1024], 1),
    sumCase(caps, [4096, 1024], 0),
    sumCase(caps, [128, 256], 0),
    sumCase(caps, [1, 1 << 20], 1),
    sumCase(caps, [1 << 16, 10], 0),
    softmaxCase(caps, 4096, 1024),
    softmaxCase(caps, 128, 10),
    ...rowCases(caps, 768, 64),
    ...rowCases(caps, 4096, 1024),
    attentionCase(caps, 64, 48),
    attentionCase(caps, 32, 256),
    ...flashCases(caps, 8, 256, 64),
    ...movingCases(caps),
    ...convCases(caps, [64, 1, 28, 28], [8, 1, 3, 3]),
    ...convCases(caps, [64, 8, 14, 14], [16, 8, 5, 5]),
    ...convCases(caps, [64, 8, 14, 14], [16, 8, 3, 3]),
    ...poolCases(caps),
  ];
}

/** Prints the table; `only` filters by name. */
export async function run(only = ""): Promise<string> {
  const gpu = await openGpu();
  const lines: string[] = [];
  lines.push(
    `Kernels on ${gpu.adapter} (software: ${gpu.caps.software})`,
    "",
    "| kernel | first ms | ms | rate | naive ms | × naive |",
    "| --- | --: | --: | --: | --: | --: |",
  );
  for (const c of cases(gpu.caps)) {
    if (!c.name.includes(only)) continue;
    const buffers = c.sizes.map((n, i) =>
      bufferOf(gpu, i === c.sizes.length - 1 ? n * 4 : randomData(n, i)),
    );
    const [ours, plain] = await time(
      gpu,
      [c.kernel, ...(c.naive === undefined ? [] : [c.naive])],
      buffers,
    );
    buffers.forEach((b) => {
      b.destroy();
    });
    const ratio = plain === undefined ? "–" : (plain.median / ours!.median).toFixed(1);
    lines.push(
      `| ${c.name} | ${ours!.first.toFixed(1)} | ${ours!.median.toFixed(3)} | ` +
        `${(c.work / ours!.median / 1e6).toFixed(2)} ${c.unit} | ` +
        `${plain?.median.toFixed(3) ?? "–"} | ${ratio} |`,
    );
  }
  return lines.join("\n");
}

if (process.argv[1]?.endsWith("bench/kernels.ts") === true) console.log(await run(process.argv[2]));
