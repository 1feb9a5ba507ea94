/**
 * What Tenure and jax-js add to a page, measured in the same way: the programs of weigh.ts, and the
 * same in jax-js, which is installed from the npm registry. The optimizer of jax-js is a package of
 * its own (@jax-js/optax) and is left out, to its advantage: its step of SGD is written by hand.
 * Called by main.ts; the project is removed.
 */
import { pack, Project } from "./packed.ts";
import { type Weighed, bundled, bytesOf, programs } from "./weigh.ts";

const version = "0.1.25";
const imports = (names: string): string => `import { ${names} } from "@jax-js/jax";
  await init("webgpu");
  defaultDevice("webgpu");`;
const parts = ["dist/webgpu-"];

/** The programs of weigh.ts in jax-js. */
const theirs: Readonly<Record<keyof typeof programs, Weighed>> = {
  "a tensor": {
    program: `${imports("defaultDevice, init, numpy as np")}
      await np.array([1, 2]).add(1).data();`,
    parts,
  },
  "an MLP's step": {
    program: `${imports("defaultDevice, init, jit, nn, numpy as np, valueAndGrad")}
      const loss = (w, x, y) =>
        nn.logSoftmax(np.matmul(nn.relu(np.matmul(x, w[0])), w[1])).mul(y).sum().neg();
      const weights = [np.ones([8, 16]), np.ones([16, 4])];
      const step = jit((w, x, y) => {
        const [value, grads] = valueAndGrad(loss)(w.map((one) => one.ref), x, y);
        return [value, w.map((one, i) => one.sub(grads[i].mul(0.1)))];
      });
      await step(weights, np.ones([2, 8]), nn.oneHot(np.array([1, 2]), 4))[0].data();`,
    parts,
  },
  "a CNN's step": {
    program: `${imports("defaultDevice, init, jit, lax, nn, numpy as np, valueAndGrad")}
      const loss = (w, x, y) => {
        const seen = nn.relu(lax.conv(x, w[0], [1, 1], "SAME"));
        return nn.logSoftmax(np.matmul(seen.reshape([2, 256]), w[1])).mul(y).sum().neg();
      };
      const weights = [np.ones([4, 1, 3, 3]), np.ones([256, 4])];
      const step = jit((w, x, y) => {
        const [value, grads] = valueAndGrad(loss)(w.map((one) => one.ref), x, y);
        return [value, w.map((one, i) => one.sub(grads[i].mul(0.1)))];
      });
      await step(weights, np.ones([2, 1, 8, 8]), nn.oneHot(np.array([1, 2]), 4))[0].data();`,
    parts,
  },
  everything: {
    program: 'import * as jax from "@jax-js/jax"; globalThis.everything = jax;',
    parts,
  },
};

/** Weighs both. @returns a table, and nothing wrong */
export async function runPageSizes(): Promise<{ table: string; wrong: string[] }> {
  using own = new Project();
  own.install("tenure", await pack("tenure"));
  using other = new Project();
  await other.run("npm", ["install", "--no-audit", "--no-fund", `@jax-js/jax@${version}`]);
  const jax = `jax-js ${version}`;
  const lines = [
    `| KB, gzipped | Tenure first | with what it loads | ${jax} first | with its WebGPU |`,
    "| --- | --: | --: | --: | --: |",
  ];
  for (const name of Object.keys(programs) as (keyof typeof programs)[]) {
    const cells: string[] = [];
    for (const [project, { program, parts: needed }] of [
      [own, programs[name]],
      [other, theirs[name]],
    ] as const) {
      const files = await bundled(project, name.replaceAll(/\W/g, "-"), program);
      for (const loaded of [files.first, files.with(needed)])
        cells.push((bytesOf(loaded) / 1000).toFixed(1));
    }
    lines.push(`| ${[name, ...cells].join(" | ")} |`);
  }
  return { table: lines.join("\n"), wrong: [] };
}
