/**
 * Builds the inspector's page, one text that asks nothing of the network, from
 * `packages/inspector/src/page`. `npm run page` writes it where `memory.timelineHTML()` finds it;
 * `npm run build` of the inspector writes it as a file into its `dist`: with a path as argument.
 * A test compares the first with the sources.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { format, resolveConfig } from "prettier";
import { REPOSITORY } from "./files.ts";

const home = join(REPOSITORY, "packages/inspector/src/page");
/** The module that carries the page inside `tenure`. */
export const MODULE: string = join(REPOSITORY, "packages/tenure/src/ownership/page.ts");
/** Where a page has its trace, as JSON. */
export const PLACE = "{{trace}}";
/** Characters of the page on each line of the module, as long as none is escaped. */
const wide = 86;

/** The page, with PLACE where the trace goes. */
export async function buildPage(): Promise<string> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(home, "main.ts"), join(home, "style.css")],
    outdir: home,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    legalComments: "none",
  });
  const [script = "", style = ""] = outputFiles.map(({ text }) => text.trim());
  const body = readFileSync(join(home, "body.html"), "utf8").replace(/\s+/g, " ").trim();
  const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
  return [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tenure inspector</title>`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<meta name="viewport" content="width=device-width"><style>${style}</style>${body}`,
    `<script type="application/json" id="trace">${PLACE}</script>`,
    `<script type="module">${script.replaceAll("</script", "<\\/script")}</script></html>`,
  ].join("\n");
}

/** The module with the page's halves, before and after the trace. */
export async function pageModule(): Promise<string> {
  const [before = "", after = ""] = (await buildPage()).split(PLACE);
  const literal = (text: string): string =>
    (text.match(new RegExp(`[^]{1,${wide}}`, "gu")) ?? [])
      .map((part) => JSON.stringify(part))
      .join("+");
  const source = `/**
 * The inspector's page, built from \`packages/inspector/src/page\` by \`npm run page\`: what comes
 * before a trace and what comes after it. Called by timeline-html.ts. Never edited by hand.
 */

/** Everything before the trace. */
export const before: string = ${literal(before)};

/** Everything after it. */
export const after: string = ${literal(after)};
`;
  return format(source, { ...(await resolveConfig(MODULE)), parser: "typescript" });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [file = MODULE] = process.argv.slice(2);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, file === MODULE ? await pageModule() : await buildPage());
}
