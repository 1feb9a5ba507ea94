/**
 * Starts a new op, `npm run new:op -- <name>`: writes the record of an elementwise op of one input
 * with its gradient, a method, and the reference it is tested by, and says what is left to do. The
 * op it writes computes x² until you say what yours does, so that everything runs at once. Other
 * kinds of ops start from the same files; CONTRIBUTING.md walks them. Owns nothing.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const home = "packages/tenure";
const records = `${home}/src/ops/elementwise.ts`;
const methods = `${home}/src/tensor/methods/math.ts`;
const references = `${home}/test/gpu/ops/cases/special-functions.ts`;

/** Reads a file of the repository. */
export type Read = (path: string) => string;

/** What a new op consists of: texts by path, relative to the repository. */
export function newOp(name: string, read: Read): Record<string, string> {
  if (!/^[a-z][A-Za-z0-9]*$/.test(name))
    throw new Error(`new-op: expected a name such as softsign or logCosh, got "${name}"`);
  const file = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    [`${home}/src/ops/${file}.ts`]: record(name),
    [references]: withReference(read(references), name),
    [records]: `${read(records)}export * from "./${file}.ts";\n`,
    [methods]: withMethod(read(methods), name),
  };
}

function record(name: string): string {
  return `/**
 * ${name}: what it is, and where its definition is from. Run by \`tensor/run.ts\`; the record owns
 * nothing.
 */
import { mul2, scale } from "./arithmetic.ts";
import { unary } from "./builders.ts";
import type { OpDef } from "./op.ts";

/** x². */
export const ${name}: OpDef = unary("${name}", {
  kind: "float",
  expr: "x * x",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, scale(c.run, c.input(0), 2)),
});
`;
}

/** The references of elementwise functions with one more: values, views, dtypes and gradients. */
function withReference(text: string, name: string): string {
  const head = "export const moreUnary: Readonly<Record<string, Reference>> = {\n";
  if (!text.includes(head) || text.includes(`  ${name}: {`))
    throw new Error(`new-op: ${references} has no place for ${name}, or has it already`);
  const row = `  ${name}: { kind: "float", float: (x) => x * x, rel: 1e-6, smooth: true },\n`;
  return text.replace(head, head + row);
}

/** The methods of elementwise functions with one more. */
function withMethod(text: string, name: string): string {
  const before = / {2}\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n {2}relu\(\): this \{/.exec(text)?.[0];
  if (before === undefined || text.includes(`  ${name}(`))
    throw new Error(`new-op: ${methods} has no place for ${name}, or has it already`);
  const body = `    return call(E.${name}, [this], undefined);\n`;
  const method = `  /** x², elementwise. */\n  ${name}(): this {\n${body}  }\n\n`;
  return text.replace(before, method + before);
}

function start(name: string): void {
  const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
  const files = newOp(name, (path) => readFileSync(join(root, path), "utf8"));
  const made = Object.keys(files).filter((path) => !existsSync(join(root, path)));
  if (made.length === 0) throw new Error(`new-op: there are files for ${name} already`);
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(join(root, path), text);
    console.log(`${made.includes(path) ? "wrote" : "extended"} ${path}`);
  }
  const paths = Object.keys(files).map((path) => join(root, path));
  execFileSync("npx", ["prettier", "--write", "--log-level", "warn", ...paths], { cwd: root });
  console.log(`Say what ${name} computes in its record, its method and its reference.
Then give it a row in tools/features/table.txt, run \`npm run features\`, and try it:
  npm test -- test/gpu/ops ${name}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name] = process.argv.slice(2);
  if (name === undefined) console.error("usage: npm run new:op -- <name>");
  else start(name);
}
