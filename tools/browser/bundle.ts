/**
 * Makes a page's script of a test file: bundled with what it imports, `using` lowered, and at its
 * end the suites run one after the other. Modules of Node are left out; who calls them in a page is
 * told so. Called by `tools/test-browser.ts`. Owns nothing.
 */
import { readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { type Plugin, build, transform } from "esbuild";
import { REPOSITORY } from "../files.ts";

/** Packages that work in Node only. */
export const tools = /^(esbuild|playwright-core|typescript|tenure-software-gpu)(\/|$)/;

/** What stands for a module of Node in a page: every name of it throws when it is called. */
const absent: Plugin = {
  name: "absent",
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path }) =>
      isBuiltin(path) || tools.test(path) ? { path, namespace: "absent" } : undefined,
    );
    build.onLoad({ filter: /./, namespace: "absent" }, ({ path }) => ({
      loader: "js",
      contents: `module.exports = new Proxy({}, {
        has: () => true,
        get: (_, name) => () => {
          throw new Error("${path} is not there in a page: " + String(name));
        },
      });`,
    }));
  },
};

/** The list of op files as imports, since a page cannot read folders. */
const opFiles: Plugin = {
  name: "op files",
  setup(build) {
    build.onLoad({ filter: /[\\/]test[\\/]op-files\.ts$/ }, ({ path }) => {
      const resolveDir = join(dirname(path), "../src/ops");
      const names = readdirSync(resolveDir).sort();
      const imports = names.map((name, i) => `import * as file${i} from "./${name}";`);
      const list = names.map((_, i) => `file${i}`).join();
      return { contents: `${imports.join("\n")}\nexport const modules = [${list}];`, resolveDir };
    });
  },
};

/** Bundles one test file, given by its path in the repository: the page's script. */
export async function bundleForPage(path: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import "./${path}";
        globalThis.results = [];
        for (const run of globalThis.UVU_QUEUE[0]) globalThis.results.push(await run());
        globalThis.done = true;`,
      resolveDir: REPOSITORY,
    },
    absWorkingDir: REPOSITORY,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    keepNames: true,
    ignoreAnnotations: true, // package.json says that tests have no effect
    conditions: ["tenure:source"],
    plugins: [opFiles, absent],
    write: false,
    logLevel: "silent",
  });
  // Lowered, since the page's async context sees promises only; in a function, since esbuild lowers
  // no `await` at the top level. What the file throws while it loads ends it.
  const { code } = await transform(
    `(async () => {\n${outputFiles[0]?.text ?? ""}\n})().catch((error) => {
      globalThis.done = true;
      throw error;
    });`,
    { supported: { "async-await": false, "async-generator": false, "for-await": false } },
  );
  return code;
}

/**
 * An async context for pages until browsers have one: kept by whoever waits for a promise. A script
 * that runs before all others; async functions must be lowered for it.
 */
export const asyncContext = `
  let current = new Map();
  const bound = (fn) => {
    if (typeof fn !== "function") return fn;
    const kept = current;
    return function (...args) {
      const before = current;
      current = kept;
      try { return fn.apply(this, args); } finally { current = before; }
    };
  };
  const { then } = Promise.prototype;
  Promise.prototype.then = function (met, failed) {
    return then.call(this, bound(met), bound(failed));
  };
  for (const name of ["queueMicrotask", "setTimeout"]) {
    const original = globalThis[name];
    globalThis[name] = (fn, ...rest) => original(bound(fn), ...rest);
  }
  globalThis.AsyncContext = {
    Variable: class {
      run(value, fn, ...args) {
        const before = current;
        current = new Map(before).set(this, value);
        try { return fn(...args); } finally { current = before; }
      }
      get() { return current.get(this); }
    },
  };
`;
