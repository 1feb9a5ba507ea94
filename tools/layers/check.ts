/**
 * Checks a source tree against the map in `table.ts`. Called by `tools/layers.ts`; pure functions
 * of the tree.
 */
import { posix } from "node:path";
import ts from "typescript";
import { type Import, importsOf, resolveImport } from "../imports.ts";
import { cycles } from "./cycles.ts";
import {
  ACQUIRE,
  COMMON_NAMES,
  DEVICE_PACKAGES,
  layerOf,
  LAYERS,
  LIGHT,
  POLYFILLS,
  REALM,
  ROOT,
  SAME_FAMILIES,
  WIRING,
} from "./table.ts";

/** A source tree: path (with `/`, relative to `src`) → text. */
export type SourceTree = ReadonlyMap<string, string>;

/** What a layer amounts to. */
export interface LayerRow {
  readonly layer: string;
  readonly files: number;
  readonly lines: number;
}

/** What the check found. */
export interface LayerReport {
  /** One line per breach. */
  readonly breaches: string[];
  readonly rows: readonly LayerRow[];
}

/** Checks a source tree, and what its package.json says it needs. */
export function checkLayers(
  files: SourceTree,
  manifest: { dependencies?: Record<string, string> } = {},
): LayerReport {
  const valueEdges = new Map<string, string[]>();
  const allEdges = new Map<string, string[]>();
  const disposing: string[] = [];
  const breaches = Object.keys(manifest.dependencies ?? {}).map(
    (name) => `package.json: depends on ${name}, but the package has no runtime dependencies`,
  );
  const add = (edges: Map<string, string[]>, from: string, to: string): void => {
    edges.set(from, [...(edges.get(from) ?? []), to]);
  };
  for (const [file, text] of files) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
    breaches.push(...placeBreaches(file), ...doorBreaches(file, source));
    if (hasDisposeMethod(source)) disposing.push(file);
    for (const each of importsOf(source)) {
      const path = resolveImport(file, each.target);
      breaches.push(...importBreaches(files, file, each, path));
      if (!each.target.startsWith(".") || !files.has(path)) continue;
      add(allEdges, file, path);
      if (each.kind !== "type") add(valueEdges, file, path);
    }
  }
  breaches.push(...circleBreaches(valueEdges, allEdges), ...nameBreaches([...files.keys()]));
  breaches.push(...wiringBreaches(valueEdges), ...symbolBreaches(valueEdges, disposing));
  return { breaches, rows: rowsOf(files) };
}

function placeBreaches(file: string): string[] {
  const layer = layerOf(file);
  return layer === ROOT || LAYERS[layer] !== undefined
    ? []
    : [`${file}: folder ${layer} is not in the table of tools/layers/table.ts`];
}

/** Names of guarded packages outside the file that may name them. */
function doorBreaches(file: string, source: ts.SourceFile): string[] {
  if (file === ACQUIRE) return [];
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && DEVICE_PACKAGES.has(node.text))
      found.push(`${file}: names ${node.text}, which only ${ACQUIRE} may`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Why an import, which leads to `path` where it is relative, is not allowed. */
function importBreaches(files: SourceTree, file: string, each: Import, path: string): string[] {
  const { target, kind } = each;
  if (!target.startsWith(".")) {
    const problem = externalBreach(file, target, kind);
    return problem === undefined ? [] : [`${file}: imports ${target}, ${problem}`];
  }
  if (!files.has(path)) return [`${file}: imports ${target}, which does not exist in src`];
  const layer = layerOf(file);
  const to = layerOf(path);
  const rule = LAYERS[layer];
  const only = rule?.onlyBy?.[to];
  if (only !== undefined && file !== only)
    return [`${file}: imports ${path}, which layer ${layer} imports only in ${only}`];
  if (layer === ROOT || to === layer || rule === undefined || rule.imports.includes(to)) return [];
  if (path === WIRING && kind === "value") return [];
  if (rule.types?.includes(to) !== true)
    return [`${file}: imports ${path}, which layer ${layer} may not`];
  if (kind === "type") return [];
  return [
    `${file}: imports ${path}, of which layer ${layer} may import only types, with \`import type\``,
  ];
}

/** Why a file may not import something from outside the source, if it may not. */
function externalBreach(file: string, target: string, kind: Import["kind"]): string | undefined {
  if (DEVICE_PACKAGES.has(target))
    return kind === "value" && file === ACQUIRE
      ? "which must be dynamic: `await import(…)`"
      : undefined; // elsewhere it is a breach by its name
  if (!target.startsWith("node:")) return "but the package has no runtime dependencies";
  return kind === "value"
    ? "which browsers do not have; use `import type` or `await import(…)`"
    : undefined;
}

/** Circles of imports, and those that only types close. */
function circleBreaches(
  valueEdges: ReadonlyMap<string, string[]>,
  allEdges: ReadonlyMap<string, string[]>,
): string[] {
  const circles = cycles(valueEdges);
  const already = new Set(circles.flat());
  const typed = cycles(allEdges).filter((circle) => !circle.every((file) => already.has(file)));
  return [
    ...circles.map((circle) => `${circle.join(" → ")} → ${circle[0]}: import each other`),
    ...typed.map((circle) => `${circle.join(", ")}: refer to each other's types in a circle`),
  ];
}

/**
 * What entry points hand on and reaches the instance without bringing the wiring: a bundle of it
 * alone would find no instance.
 */
function wiringBreaches(edges: ReadonlyMap<string, string[]>): string[] {
  const entries = [...edges.keys()].filter(
    (file) => file !== WIRING && (layerOf(file) === ROOT || file.endsWith("/index.ts")),
  );
  const handedOn = entries.flatMap((entry) => {
    const files = edges.get(entry) ?? [];
    return files.includes(WIRING) ? [] : files;
  });
  return [...new Set(handedOn)].flatMap((file) =>
    file in LIGHT || !reaches(edges, file, REALM) || reaches(edges, file, WIRING)
      ? []
      : [`${file}: is handed on by an entry point and reaches ${REALM}: import ${WIRING}`],
  );
}

/** Whether a file imports another, directly or not; files that need no wiring lead nowhere. */
function reaches(edges: ReadonlyMap<string, string[]>, from: string, to: string): boolean {
  const open = [from];
  const seen = new Set(open);
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (file === to) return true;
    for (const next of edges.get(file) ?? []) {
      if (seen.has(next) || next in LIGHT) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return false;
}

/** Files whose classes look for symbols that nobody may have made yet. */
function symbolBreaches(edges: ReadonlyMap<string, string[]>, disposing: string[]): string[] {
  return disposing
    .filter((file) => edges.get(file)?.includes(POLYFILLS) !== true)
    .map((file) => `${file}: has a class with a dispose method: import ${POLYFILLS}`);
}

/** Whether a class of a file has a method or field by the name of a dispose symbol. */
function hasDisposeMethod(node: ts.Node): boolean {
  const isOne =
    ts.isClassElement(node) &&
    node.name !== undefined &&
    ts.isComputedPropertyName(node.name) &&
    /^Symbol\.(async[dD]|d)ispose$/.test(node.name.expression.getText());
  return isOne || ts.forEachChild(node, (child) => hasDisposeMethod(child) || undefined) === true;
}

/** File names that mean something else in another folder. */
function nameBreaches(files: readonly string[]): string[] {
  const byName = new Map<string, string[]>();
  for (const file of files) {
    const name = posix.basename(file);
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  const found: string[] = [];
  for (const [name, paths] of byName) {
    const families = paths.map((path) =>
      SAME_FAMILIES.find((folder) => path.startsWith(`${folder}/`)),
    );
    const oneFamily = !families.includes(undefined) && new Set(families).size === paths.length;
    if (paths.length > 1 && !oneFamily && COMMON_NAMES[name] === undefined)
      found.push(`${paths.join(", ")}: the same file name for different things`);
  }
  return found;
}

function rowsOf(files: SourceTree): LayerRow[] {
  const rows = new Map<string, LayerRow>();
  for (const [file, text] of files) {
    const layer = layerOf(file);
    const row = rows.get(layer) ?? { layer, files: 0, lines: 0 };
    const lines = row.lines + text.trimEnd().split("\n").length;
    rows.set(layer, { layer, files: row.files + 1, lines });
  }
  const order = [...Object.keys(LAYERS), ROOT];
  return [...rows.values()].sort((a, b) => order.indexOf(a.layer) - order.indexOf(b.layer));
}
