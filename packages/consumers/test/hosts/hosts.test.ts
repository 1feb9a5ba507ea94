/**
 * One program, everywhere: the packed package with `using` lowered by TypeScript and by esbuild in
 * Node, and with native `using` in Chromium, where ten thousand interleaved tasks run as well. The
 * browser is started in the first test that needs it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { type LaunchedChromium, launchChromium, servePages } from "tenure-software-gpu/chromium";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pattern } from "../../../tenure/test/helpers.ts";
import type { TaskResult } from "../../../tenure/test/null/ownership/tasks.ts";
import { pack, Project } from "../../packed.ts";
import { type PageFile, type Weighed, bundled, programs } from "../../weigh.ts";

const here = import.meta.dirname;
const tsc = join(createRequire(import.meta.url).resolve("typescript"), "../tsc.js");

const expected = [
  "1 owned, current true, false",
  "current none",
  "second first; one < two < body",
  "tensor float32 [1]",
  "tensor float32 [1]",
  "false",
  "true",
  "deferred",
  "[object Float32Array]",
  "after wait true",
  "holder graph graph",
  "gradient true",
  "0 live",
].join("\n");

const test = suite("hosts and lowerings");
const project = new Project();
const { folder } = project;
let chromium: LaunchedChromium | undefined;

test.before(async () => {
  project.install("tenure", await pack("tenure"));
  project.write("program.ts", readFileSync(join(here, "program.ts"), "utf8"));
  project.write(
    "main.ts",
    'import { program } from "./program.js";\nconsole.log(await program());\n',
  );
});
test.after(async () => {
  await chromium?.close();
  project[Symbol.dispose]();
});

async function inNode(file: string): Promise<string> {
  return (await project.run(process.execPath, [file])).trimEnd();
}

test("the packed package, types included, with `using` lowered by tsc for es2022", async () => {
  const compilerOptions = {
    target: "es2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["es2023", "esnext.disposable", "dom"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    outDir: "out",
  };
  project.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  await project.run(process.execPath, [tsc, "-p", folder]);
  for (const file of ["out/program.js", "node_modules/tenure/dist/base/using.js"]) {
    const text = readFileSync(join(folder, file), "utf8");
    assert.match(text, "__addDisposableResource");
    assert.not.match(text, /^\s*using \w/m);
  }
  assert.is(await inNode("out/main.js"), expected);
});

for (const [what, source] of [
  ["the packed package", false],
  ["the source", true],
] as const) {
  test(`${what}, bundled and lowered by esbuild for node20, with all that is needed`, async () => {
    const entry = source ? join(here, "program.ts") : join(folder, "program.ts");
    const outfile = join(folder, source ? "source.mjs" : "packed.mjs");
    await esbuild.build({
      stdin: {
        contents: `import { program } from ${JSON.stringify(entry)}; console.log(await program());`,
        resolveDir: folder,
        loader: "ts",
      },
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      outfile,
      conditions: source ? ["tenure:source"] : [],
      external: ["webgpu", "tenure-software-gpu"],
      logLevel: "silent",
    });
    const text = readFileSync(outfile, "utf8");
    assert.match(text, "__callDispose");
    assert.not.match(text, /^\s*(await )?using \w+ = /m);
    assert.is(await inNode(outfile), expected);
  });
}

/**
 * A page with `browser.ts`, its `using` untouched, on top of the packed package or of the source.
 */
async function withPage<T>(
  source: boolean,
  use: (call: (name: string) => Promise<unknown>, text: string) => Promise<T>,
): Promise<T> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(here, "browser.ts")],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "esnext",
    write: false,
    conditions: source ? ["tenure:source"] : [],
    external: ["webgpu", "tenure-software-gpu"],
    logLevel: "silent",
    ...(source ? {} : { alias: { tenure: join(folder, "node_modules/tenure/dist/index.js") } }),
  });
  const text = outputFiles[0]!.text;
  chromium ??= await launchChromium();
  await using pages = await servePages({
    "/": { type: "text/html", body: "<!doctype html><script type=module src=/main.js></script>" },
    "/main.js": { type: "text/javascript", body: text },
  });
  const page = await chromium.browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => {
    errors.push(String(error));
  });
  await page.goto(`${pages.url}/`);
  await page.waitForFunction("globalThis.stack !== undefined");
  const result = await use((name) => page.evaluate(`${name}()`), text);
  await page.close();
  assert.equal(errors, []);
  return result;
}

test("native using in Chromium, on the source untouched and on the packed package", async () => {
  await withPage(true, async (call, text) => {
    assert.match(text, /using temporaries = newDisposeScope\d*\(/); // the library's own
    assert.match(text, /await using s = newDisposeScope\d*\(\)/);
    assert.not.match(text, "__callDispose");
    assert.is(await call("program"), expected);
    assert.is(await call("stack"), "stack scope, true, true");
  });
  await withPage(false, async (call, text) => {
    assert.match(text, "__addDisposableResource"); // the library's, lowered by tsc
    assert.match(text, /await using s = newDisposeScope\d*\(\)/);
    assert.is(await call("program"), expected);
  });
});

test("Chromium, with no async context: async bodies refused, raw awaits suspended", async () => {
  const [warning, ...rest] = await withPage(
    true,
    async (call) => (await call("limits")) as string[],
  );
  assert.match(
    warning!,
    pattern`^AsyncScopeError: scopedAsync: expected a host with an async
      context.*scope\.wait\(promise\).*scope\.go\(function\* …\)`,
  );
  assert.match(
    rest[0]!,
    /an await was reached while scope "native" \(opened at http.*main\.js:\d+:\d+\) was open/,
  );
  assert.is(rest[1], "suspended true, owns 1");
});

test("10,000 interleaved tasks in Chromium: not one tensor mis-owned", async () => {
  const result = await withPage(
    true,
    async (call) => (await call("tasks")) as TaskResult & { warnings: string[] },
  );
  assert.equal([result.bad, result.warnings, result.live], [[], [], 0]);
  assert.ok(
    result.tasks >= 10_000 && result.checks > 100_000 && result.rejected > 500,
    JSON.stringify(result),
  );
});

/** Files that a page has fetched once a module of it has run. */
async function fetchedFor(path: string, files: readonly PageFile[]): Promise<string[]> {
  chromium ??= await launchChromium();
  const scripts = files.map((file) => {
    const body = new TextDecoder().decode(file.contents);
    return [`/${file.path}`, { type: "text/javascript", body }] as const;
  });
  await using pages = await servePages({
    "/": { type: "text/html", body: "<!doctype html>" },
    ...Object.fromEntries(scripts),
  });
  const page = await chromium.browser.newPage();
  await page.goto(`${pages.url}/`);
  const fetched = await page.evaluate(`import("/${path}").then(() =>
    performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname.slice(1)))`);
  await page.close();
  return (fetched as string[]).filter((file) => file.startsWith("out/")).sort();
}

test("a page fetches the parts of the library that its program needs, and no more", async () => {
  for (const name of ["a tensor", "an MLP's step", "a CNN's step"] as const) {
    const { program, parts, onSoftware = [] }: Weighed = programs[name];
    const file = name.replaceAll(/\W/g, "-");
    const { all, with: loaded } = await bundled(project, file, program);
    const needed = loaded([...parts, ...onSoftware]).map(({ path }) => path);
    assert.equal(await fetchedFor(`out/${file}.js`, all), needed.sort(), name);
    assert.ok(needed.length < all.length);
  }
});

/** What a service worker, in several files as bundlers split it, says of `init`. */
async function inServiceWorker(name: string, imports: string): Promise<unknown> {
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `${imports}
        import { init, ones } from "tenure";
        const answer = async () => {
          await init({ device: "null" });
          using x = ones([2]);
          return (await x.data()).length;
        };
        addEventListener("message", ({ source }) => {
          answer().then((n) => source.postMessage(n), (error) => source.postMessage(String(error)));
        });`,
      resolveDir: folder,
    },
    outdir: folder,
    entryNames: name,
    bundle: true,
    splitting: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    write: false,
    external: ["webgpu", "tenure-software-gpu"],
    logLevel: "silent",
  });
  const scripts = outputFiles.map(({ path, text }) => {
    return [path.slice(folder.length), { type: "text/javascript", body: text }] as const;
  });
  chromium ??= await launchChromium();
  await using pages = await servePages({
    "/": { type: "text/html", body: "<!doctype html>" },
    ...Object.fromEntries(scripts),
  });
  const page = await chromium.browser.newPage();
  await page.goto(`${pages.url}/`);
  const said = await page.evaluate(`new Promise((resolve, reject) => {
    navigator.serviceWorker.onmessage = ({ data }) => resolve(data);
    navigator.serviceWorker.register("/${name}.js", { type: "module" });
    navigator.serviceWorker.ready.then(({ active }) => active.postMessage(0), reject);
  })`);
  await page.close();
  return said;
}

test("a service worker, which may not load anything later, brings the engine", async () => {
  assert.match(
    String(await inServiceWorker("later", "")),
    /^DeviceLostError: init: expected to load the part .* import "tenure\/engine", which brings/,
  );
  assert.is(await inServiceWorker("now", 'import "tenure/engine";'), 2);
});

test.run();
