/** Stacks out of a minified bundle lead to the lines that somebody wrote, on disk and by URL. */
import { execFileSync } from "node:child_process";
import { ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { TraceData } from "tenure";
import { withSources } from "../src/sources.ts";

const test = suite("sources");
const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "tenure-sources-"));
test.after(() => {
  rmSync(folder, { recursive: true });
});

const program = `import { init, memory, newDisposeScope, zeros } from "tenure";
await init({ device: "null" });
memory.track("full");
function leak(): void {
  using _ = newDisposeScope("leaky");
  zeros([1024]).detachFromScope();
}
leak();
process.stdout.write(JSON.stringify(memory.chromeTrace().tenure));
`;

/** Bundles the program with a source map beside it, and runs it. */
function traced(): TraceData {
  const app = join(folder, "app.ts");
  writeFileSync(app, program);
  esbuild.buildSync({
    entryPoints: [app],
    outfile: join(folder, "assets/app.mjs"),
    bundle: true,
    minify: true,
    sourcemap: "linked",
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["tenure:source"],
    external: ["webgpu", "tenure-software-gpu"],
    nodePaths: [join(root, "node_modules")],
    logLevel: "error",
  });
  const env = { ...process.env, NODE_OPTIONS: "" };
  const file = join(folder, "assets/app.mjs");
  return JSON.parse(execFileSync(process.execPath, [file], { env, encoding: "utf8" })) as TraceData;
}

test("a bundle's stacks name lines of sources, on disk and below the served folder", () => {
  const trace = traced();
  const made = trace.events.find(([kind, , , bytes]) => kind === "create" && bytes === 4096);
  const index = made?.[6] ?? -1;
  assert.match(trace.stacks[index]?.place ?? "", /app\.mjs:\d+:\d+$/);
  const expected = (found: TraceData): void => {
    const { place = "", frames = [] } = found.stacks[index] ?? {};
    assert.match(place, /app\.ts:6:3$/);
    assert.is(frames.length, 2); // leak, and its caller; those inside tenure are gone
    assert.match(frames[1] ?? "", /app\.ts:8:1\)?$/);
    assert.ok(found.texts.some((text) => /^detached at \S*app\.ts:\d+:\d+$/.test(text)));
    assert.ok(
      found.texts.some((text) => /scope "leaky" \(opened at \S*app\.ts:\d+:\d+\)/.test(text)),
    );
  };
  expected(withSources(trace, null));

  const text = JSON.stringify(trace).replaceAll(join(folder, "/"), "https://example.org/");
  const served = JSON.parse(text.replaceAll("file://https:", "https:")) as TraceData;
  expected(withSources(served, folder));
  assert.equal(withSources(served, null), served);
});

test("without a map, or with a broken one, places stay", () => {
  const file = join(folder, "broken.mjs");
  writeFileSync(file, "boom();\n//# sourceMappingURL=broken.mjs.map\n");
  writeFileSync(`${file}.map`, "{");
  const place = `${file}:1:1`;
  const trace = naming(place);
  assert.equal(withSources(trace, null), trace);
});

/** A trace with a text and a stack that name a place. */
function naming(place: string): TraceData {
  const stacks = [{ place, frames: [`at boom (${place})`] }];
  const nothing = { dropped: 0, scopes: [], figures: [], plans: [], events: [], device: null };
  return { version: 1, level: "full", texts: [place], stacks, ...nothing };
}

test("a trace cannot make the inspector wait, or read without end", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const sparse = join(folder, "sparse.mjs");
  ftruncateSync(openSync(sparse, "w"), 2 ** 40);
  const linked = join(folder, "linked.mjs");
  writeFileSync(linked, "//# sourceMappingURL=file:///dev/zero\n");
  const foreign = join(folder, "foreign.mjs");
  const map = { version: 3, sources: ["file://elsewhere/a.ts"], names: [], mappings: "AAAA" };
  const inline = Buffer.from(JSON.stringify(map)).toString("base64");
  writeFileSync(foreign, `//# sourceMappingURL=data:application/json;base64,${inline}\n`);
  for (const file of ["/dev/zero", "/proc/kmsg", pipe, folder, sparse, linked, foreign]) {
    const trace = naming(`${file}:1:1`);
    assert.equal(withSources(trace, null), trace, file);
  }
  for (const text of ["/".repeat(300_000), "/:1".repeat(100_000), ":1".repeat(100_000)]) {
    const trace = naming(text);
    assert.equal(withSources(trace, null), trace);
  }
});

test.run();
