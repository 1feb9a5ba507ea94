/**
 * Programs about WebGPU as people write them, in plain JavaScript and in TypeScript, with the lines
 * that `strict` must report, and no others. The programs are in `fixtures/gpu-programs`.
 */
import { readFileSync } from "node:fs";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("GPU programs");
const settings = { presets: ["webgpu"], untilExit: "reported" };
const { rules } = plugin.configs.recommended;

for (const file of ["scripts.js", "typed.ts"]) {
  const path = new URL(`fixtures/gpu-programs/${file}`, import.meta.url);
  const [, ...programs] = readFileSync(path, "utf8").split(/^\/\/ ---- /m);
  for (const program of programs) {
    const [title = "", ...rest] = program.split("\n");
    test(`${file}: ${title}`, () => {
      const code = rest.join("\n");
      const isScript = file.endsWith(".js");
      const found = lines(
        isScript
          ? lint(code, { rules, settings, file: `${projectDir}script.js` })
          : lint(code + gpuTypes, { rules, settings }),
      );
      const marked = rest.flatMap((line, i) => (line.includes("// !") ? [i + 1] : []));
      const reported = [...new Set(found.map((line) => parseInt(line, 10)))];
      assert.equal(reported, marked, found.join("\n"));
    });
  }
}

test.run();
