/**
 * Checks who may import whom inside `packages/tenure/src` (type imports and `import()` included),
 * that no files import each other in a circle, and that the package needs nothing at run time.
 * Prints one table of what the source amounts to. Run by `npm run check:layers`; owns nothing.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/**
 * What a layer's files may import besides their own layer. `types`: only by `import type`. This
 * table is the architecture: change it knowingly.
 */
export const LAYERS: Record<string, { imports: readonly string[]; types?: readonly string[] }> = {
  base: { imports: [] },
  ownership: { imports: ["base"] },
  graph: { imports: ["base"] },
  kernels: { imports: ["base"] },
  ops: { imports: ["base", "kernels"] },
  planner: { imports: ["base", "graph"] },
  device: { imports: ["base"], types: ["kernels"] },
  runtime: { imports: ["base", "ownership", "graph", "kernels", "ops", "planner", "device"] },
  tensor: { imports: ["base", "ownership", "graph", "ops", "runtime"] },
  autograd: { imports: ["base", "ownership", "graph", "ops", "runtime", "tensor"] },
  nn: { imports: ["base", "ownership", "ops", "tensor", "autograd"] },
  optim: { imports: ["base", "ownership", "ops", "tensor", "autograd"] },
  data: { imports: ["base", "ownership", "tensor", "autograd"] },
};
/** Files beside the folders: the entry points. They may import anything, nobody may import them. */
const ROOT = "(entry points)";
/** Wires the layers together. Every entry point imports it, the folders' `index.ts` included. */
const WIRING = "compose.ts";
/** The only file that may name these packages, and only inside `import()`. */
const DOOR = "device/acquire.ts";
const BEHIND_THE_DOOR = new Set(["webgpu", "tenure-software-gpu"]);

/** One import of a file. */
interface Import {
  readonly target: string;
  readonly kind: "value" | "type" | "dynamic";
}

export interface LayerReport {
  /** One line per breach. */
  readonly breaches: string[];
  /** Groups of files inside one folder that refer to each other's types: allowed, counted. */
  readonly typeCycles: string[][];
  readonly rows: readonly { layer: string; files: number; lines: number; exports: number }[];
}

/** Checks a source tree: path (with `/`, relative to `src`) → text. */
export function checkLayers(
  files: ReadonlyMap<string, string>,
  manifest: { dependencies?: Record<string, string> } = {},
): LayerReport {
  const breaches = Object.keys(manifest.dependencies ?? {}).map(
    (name) => `package.json: depends on ${name}, but the package has no runtime dependencies`,
  );
  const totals = new Map<
    string,
    { layer: string; files: number; lines: number; exports: number }
  >();
  const valueEdges = new Map<string, string[]>();
  const allEdges = new Map<string, string[]>();
  for (const [file, text] of files) {
    const layer = layerOf(file);
    const { imports, named, exports } = scan(file, text);
    const row = totals.get(layer) ?? { layer, files: 0, lines: 0, exports: 0 };
    totals.set(layer, {
      layer,
      files: row.files + 1,
      lines: row.lines + text.trimEnd().split("\n").length,
      exports: row.exports + exports,
    });
    if (layer !== ROOT && LAYERS[layer] === undefined)
      breaches.push(`${file}: folder ${layer} is not in the table of tools/layers.ts`);
    if (file !== DOOR)
      for (const name of named) breaches.push(`${file}: names ${name}, which only ${DOOR} may`);
    for (const { target, kind } of imports) {
      if (!target.startsWith(".")) {
        const problem = externalBreach(file, target, kind);
        if (problem !== undefined) breaches.push(`${file}: imports ${target}, ${problem}`);
        continue;
      }
      const path = posix.normalize(posix.join(posix.dirname(file), target));
      if (!files.has(path)) {
        breaches.push(`${file}: imports ${target}, which does not exist in src`);
        continue;
      }
      allEdges.set(file, [...(allEdges.get(file) ?? []), path]);
      if (kind !== "type") valueEdges.set(file, [...(valueEdges.get(file) ?? []), path]);
      const to = layerOf(path);
      const rule = LAYERS[layer];
      if (path === WIRING && file.endsWith("index.ts")) continue;
      if (layer === ROOT || to === layer || rule === undefined || rule.imports.includes(to))
        continue;
      if (rule.types?.includes(to) !== true)
        breaches.push(`${file}: imports ${path}, which layer ${layer} may not`);
      else if (kind !== "type")
        breaches.push(
          `${file}: imports ${path}, of which layer ${layer} may import only types, with \`import type\``,
        );
    }
  }
  for (const cycle of cycles(valueEdges))
    breaches.push(`${cycle.join(" → ")} → ${cycle[0] ?? ""}: import each other in a circle`);
  const typeCycles: string[][] = [];
  for (const cycle of cycles(allEdges)) {
    if (new Set(cycle.map(layerOf)).size > 1)
      breaches.push(`${cycle.join(", ")}: refer to each other across folders`);
    else typeCycles.push(cycle);
  }
  const order = [...Object.keys(LAYERS), ROOT];
  return {
    breaches,
    typeCycles,
    rows: [...totals.values()].sort((a, b) => order.indexOf(a.layer) - order.indexOf(b.layer)),
  };
}

function layerOf(file: string): string {
  return file.includes("/") ? (file.split("/")[0] ?? "") : ROOT;
}

/** Why a file may not import something from outside the source, if it may not. */
function externalBreach(file: string, target: string, kind: Import["kind"]): string | undefined {
  if (BEHIND_THE_DOOR.has(target))
    return kind === "value" && file === DOOR
      ? "which must be dynamic: `await import(…)`"
      : undefined; // elsewhere it is a breach by its name
  if (!target.startsWith("node:")) return "but the package has no runtime dependencies";
  return kind === "value"
    ? "which browsers do not have; use `import type` or `await import(…)`"
    : undefined;
}

/** Reads what a file imports, which guarded packages it names, and how many names it exports. */
function scan(file: string, text: string): { imports: Import[]; named: string[]; exports: number } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const imports: Import[] = [];
  const named: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      imports.push({
        target: node.moduleSpecifier.text,
        kind: node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? "type" : "value",
      });
    } else if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      imports.push({ target: node.moduleSpecifier.text, kind: node.isTypeOnly ? "type" : "value" });
    } else if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    ) {
      imports.push({ target: node.argument.literal.text, kind: "type" });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteralLike(argument))
        imports.push({ target: argument.text, kind: "dynamic" });
    }
    if (ts.isStringLiteralLike(node) && BEHIND_THE_DOOR.has(node.text)) named.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return {
    imports,
    named,
    exports: source.statements.reduce((sum, statement) => sum + exportedNames(statement), 0),
  };
}

/** How many names a top-level statement exports. `export *` counts as one. */
function exportedNames(statement: ts.Statement): number {
  if (ts.isExportDeclaration(statement))
    return statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause)
      ? statement.exportClause.elements.length
      : 1;
  if (ts.isExportAssignment(statement)) return 1;
  if (
    !ts.canHaveModifiers(statement) ||
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true
  )
    return 0;
  return ts.isVariableStatement(statement) ? statement.declarationList.declarations.length : 1;
}

/**
 * Groups of two and more files that reach each other, and files that import themselves (Tarjan's
 * strongly connected components), each in import order.
 */
function cycles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = index.size;
    index.set(file, own);
    let lowest = own;
    stack.push(file);
    for (const next of edges.get(file) ?? []) {
      if (!index.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next))
        lowest = Math.min(lowest, low.get(next) ?? index.get(next) ?? own);
      low.set(file, lowest);
    }
    low.set(file, lowest);
    if (lowest === own) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1 || edges.get(file)?.includes(file) === true) found.push(group);
    }
    return lowest;
  };
  for (const file of edges.keys()) if (!index.has(file)) visit(file);
  return found;
}

/** Reads all TypeScript files below a folder. */
export function readTree(root: string, folder = ""): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) for (const [name, text] of readTree(root, path)) files.set(name, text);
    else if (entry.name.endsWith(".ts")) files.set(path, readFileSync(join(root, path), "utf8"));
  }
  return files;
}

function main(): void {
  const home = fileURLToPath(new URL("../packages/tenure", import.meta.url));
  const source = join(home, "src");
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  const { breaches, typeCycles, rows } = checkLayers(
    existsSync(source) ? readTree(source) : new Map(),
    manifest,
  );
  const sum = (key: "files" | "lines" | "exports"): number =>
    rows.reduce((total, row) => total + row[key], 0);
  const line = (name: string, ...figures: (number | string)[]): string =>
    name.padEnd(16) + figures.map((figure) => String(figure).padStart(9)).join("");
  console.log(
    [
      line("layer", "files", "lines", "exports"),
      ...rows.map((row) => line(row.layer, row.files, row.lines, row.exports)),
      line("all", sum("files"), sum("lines"), sum("exports")),
    ].join("\n"),
  );
  console.log(
    `type-only circles inside a folder: ${typeCycles.length}${typeCycles.map((cycle) => `\n  ${cycle.join(", ")}`).join("")}`,
  );
  for (const breach of breaches) console.error(breach);
  console.log(breaches.length === 0 ? "layers hold" : `${breaches.length} breaches of the layers`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
