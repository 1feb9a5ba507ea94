/**
 * Puts the packages that a built module imports into the module: `node --import tsx
 * ../tools/bundle.ts dist/parser.js typescript`, run by the `build` of packages that cannot leave
 * the choice of these packages to an installer. Packages named after the module stay imports. The
 * licences of what is put in lie beside it.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";

const [module = "", ...external] = process.argv.slice(2);

const { metafile } = await build({
  entryPoints: [module],
  outfile: module,
  allowOverwrite: true,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  external,
  metafile: true,
  legalComments: "inline",
  logLevel: "warning",
  banner: {
    js:
      'import { createRequire as requireFrom } from "node:module";\n' +
      "const require = requireFrom(import.meta.url);",
  },
});
rmSync(`${module}.map`, { force: true }); // it maps what the compiler wrote
writeFileSync(module.replace(/\.js$/, ".licenses.txt"), licensesOf(Object.keys(metafile.inputs)));

/** The licences of the packages that these files are from, each under the package's name. */
function licensesOf(files: readonly string[]): string {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  return [...new Set(folders)].sort().map(licenseOf).join("\n");
}

function licenseOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
  };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined)
    throw new Error(`bundle: expected a licence in ${relative(".", folder)}, got none`);
  const title = `${name} ${version}`;
  return `${title}\n${"=".repeat(title.length)}\n\n${readFileSync(join(folder, file), "utf8")}`;
}
