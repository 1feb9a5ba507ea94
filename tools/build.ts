/**
 * Builds the package in the working directory: `node --import tsx ../../tools/build.ts`, run by
 * `npm run build` in each published package, and so before each `npm pack`. TypeScript makes
 * JavaScript, declarations and maps in `dist`, which it owns; what it needs at run time (the
 * lowering of `using`) is a file of the package, or comes once from tslib, copied, so that no
 * package depends on it. Constants that nobody uses can be left out by bundlers, each by
 * itself.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";

const require = createRequire(import.meta.url);
const { sideEffects } = JSON.parse(readFileSync("package.json", "utf8")) as {
  sideEffects?: boolean | readonly string[];
};

rmSync("dist", { recursive: true, force: true });
const compiler = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
// The consumer tests pack what `npm run check` has checked already.
const unchecked = process.env["TENURE_BUILD"] === "unchecked" ? ["--noCheck"] : [];
execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json", ...unchecked], {
  stdio: "inherit",
});

/** What lowers `using` in this package, without `await`; tslib otherwise. */
const OWN = "base/using.js";
const hasOwn = existsSync(join("dist", OWN));
const HELPERS = hasOwn ? OWN : "tslib.js";

let helped = false;
for (const path of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  if (!path.endsWith(".js")) continue;
  const file = join("dist", path);
  const text = readFileSync(file, "utf8");
  const own = withPureConstants(path, withNames(withOwnHelpers(path, text)));
  if (own === text) continue;
  writeFileSync(file, own);
  helped ||= own.includes(HELPERS);
}
if (helped && !hasOwn) {
  const tslib = dirname(require.resolve("tslib/package.json"));
  copyFileSync(join(tslib, "tslib.es6.mjs"), join("dist", HELPERS));
}

/**
 * Classes that say their name in messages and reports keep it when a bundler renames them. Only
 * those that extend another can: errors, modules, optimizers, schedules.
 */
function withNames(text: string): string {
  return text.replace(
    /^(export )?class (\w+) extends (\w+) \{$/gm,
    (head, _export, name: string) => `${head} static name = "${name}";`,
  );
}

/**
 * Constants of modules come from calls without an effect, such as the record of an op from its
 * builder: bundlers leave out those that nobody uses, though not their whole file. Only where
 * package.json says that a file has no effect.
 */
function withPureConstants(path: string, text: string): string {
  const name = `./dist/${path.replaceAll("\\", "/")}`;
  const listed = typeof sideEffects === "object" && sideEffects.includes(name);
  if (sideEffects === undefined || sideEffects === true || listed) return text;
  return text.replace(/^((?:export )?const \w+ = )(?=(?:new )?[\w.]+\()/gm, "$1/* @__PURE__ */ ");
}

/**
 * Without tslib as a package, and without the helper that TypeScript writes into files with an
 * `import(variable)`: such variables name packages here. Lines stay where the maps say.
 */
function withOwnHelpers(path: string, text: string): string {
  const toHelpers = relative(dirname(path), HELPERS).replaceAll("\\", "/");
  const own = text
    .replace(/ from "tslib";$/m, ` from "${toHelpers.startsWith(".") ? "" : "./"}${toHelpers}";`)
    .replace(/^var __rewriteRelativeImportExtension = [^]*?^};$/m, (all) =>
      "\n".repeat(all.split("\n").length - 1),
    )
    .replace(/__rewriteRelativeImportExtension\(((?:\/\*[^*]*\*\/ )*\w+)\)/g, "$1");
  if (hasOwn && /\b__addDisposableResource\(.*, true\)/.test(own))
    throw new Error(`${path}: ${OWN} does not know \`await using\``);
  if (/\bthis && this\.__|__rewriteRelativeImportExtension/.test(own))
    throw new Error(`${path}: a helper of TypeScript is left`);
  return own;
}
