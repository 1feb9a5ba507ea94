/**
 * Names: every name in every preset exists in the package it speaks of, and the stand-in types the
 * rule tests compile against (`fixtures/tenure.d.ts`) declare nothing that the library does not
 * have. Reads declarations only; nothing runs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { suite } from "uvu";
import { presets } from "../src/index.ts";
import type { CalleeSpecifier, OwnerSettings, ScopeSettings } from "../src/owner.ts";
import { assert } from "./tester.ts";

const test = suite("names");
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const require = createRequire(import.meta.url);

// ---- what a preset says ----

const nameOf = (c: CalleeSpecifier): string[] => (typeof c === "string" ? [c] : [c.name].flat());
function scopeNames(scope: ScopeSettings): string[] {
  if ("begin" in scope) return [scope.begin, scope.end];
  return nameOf("using" in scope ? scope.using : scope.callee);
}

/** Every name of the package that the settings of an owner mention. */
function namesIn(owner: OwnerSettings): string[] {
  const callees = [
    ...[owner.dispose?.functions, owner.fresh, owner.borrows, owner.keep?.functions, owner.holders],
    ...[owner.lasting, owner.untyped?.makes, owner.untyped?.lists, owner.untyped?.marks],
    ...[owner.untyped?.runs, owner.untyped?.encloses],
    ...[owner.runsInScope, owner.runsInline, owner.takes?.map((t) => t.callee)],
  ].flatMap((list) => list ?? []);
  return [
    ...(Array.isArray(owner.types) ? owner.types.flatMap((t) => t.name) : []),
    ...callees.flatMap(nameOf),
    ...(owner.scopes ?? []).flatMap(scopeNames),
    ...[owner.brand, owner.freshProperties, owner.dispose?.methods, owner.keep?.methods].flat(),
    ...[owner.safeAfterDispose, owner.managers, owner.outsideScopes, owner.alias].flat(),
  ].filter((name): name is string => name !== undefined && name !== "");
}

function missing(preset: string, known: ReadonlySet<string>): string[] {
  const named = (presets[preset] ?? []).flatMap(namesIn);
  assert.ok(named.length > 3, `${preset} names something`);
  return [...new Set(named)].filter((name) => !known.has(name)).sort();
}

// ---- what the packages have ----

/** The names that declaration files declare, members included. */
function declaredNames(files: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      const name = (node as Partial<ts.NamedDeclaration>).name;
      if (name && (ts.isIdentifier(name) || ts.isStringLiteral(name))) names.add(name.text);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return names;
}

const declarationsBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((f) => f.endsWith(".d.ts"))
    .map((f) => join(folder, f));

/** What the library exports by subpath, each type with its members. */
function library(): Map<string, Map<string, ReadonlySet<string>>> {
  const folder = at("../../packages/tenure/");
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    exports: Record<string, { "tenure:source"?: string }>;
  };
  const entries = Object.entries(exports).flatMap(([path, { "tenure:source": source }]) =>
    source === undefined ? [] : [[`tenure${path.slice(1)}`, join(folder, source)] as const],
  );
  const program = ts.createProgram(
    entries.map(([, file]) => file),
    {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
      allowImportingTsExtensions: true,
      noEmit: true,
    },
  );
  const checker = program.getTypeChecker();
  return new Map(
    entries.map(([name, path]) => {
      const file = program.getSourceFile(path);
      const module = file && checker.getSymbolAtLocation(file);
      assert.ok(module, path);
      return [name, exportsOf(checker, module)];
    }),
  );
}

function exportsOf(checker: ts.TypeChecker, module: ts.Symbol): Map<string, ReadonlySet<string>> {
  return new Map(
    checker.getExportsOfModule(module).map((symbol) => {
      const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const hasMembers = real.flags & ts.SymbolFlags.Type;
      const type = hasMembers ? checker.getDeclaredTypeOfSymbol(real) : undefined;
      return [symbol.name, new Set(type?.getProperties().map((p) => p.name))] as const;
    }),
  );
}

const tenure = library();

test("the tenure preset names what the library has", () => {
  const known = new Set(
    [...tenure.values()].flatMap((names) =>
      [...names].flatMap(([name, members]) => [name, ...members]),
    ),
  );
  assert.equal(missing("tenure", known), []);
});

test("the tfjs preset names what TensorFlow.js has", () => {
  const core = dirname(require.resolve("@tensorflow/tfjs-core/package.json"));
  // of @tensorflow/tfjs-layers, -data, -converter, -node and the models: not installed here
  const elsewhere = [
    ...["decodeBmp", "decodeGif", "decodeImage", "decodeJpeg", "decodePng"],
    ...["predict", "predictOnBatch", "execute", "executeAsync", "infer", "embed"],
    ...["Layer", "Container", "LayersModel", "Sequential", "RNNCell"],
    ...[
      "forEachAsync",
      "mapAsync",
      "map",
      "getWeights",
      "read",
      "getStepTensor",
      "getTensor",
      "getVariable",
    ],
  ];
  const known = new Set([...declaredNames(declarationsBelow(join(core, "dist"))), ...elsewhere]);
  assert.equal(missing("tfjs", known), []);
});

test("the webgpu preset names what WebGPU has", () => {
  const types = dirname(require.resolve("@webgpu/types/package.json"));
  const known = declaredNames(declarationsBelow(types));
  // reads well and does no harm on objects of libraries that wrap WebGPU
  assert.equal(missing("webgpu", known), ["destroyed"]);
});

test("a name that does not exist is found", () => {
  assert.equal(missing("webgpu", new Set(["destroyed"])).includes("GPUBuffer"), true);
});

// ---- what the rule tests compile against ----

/** Exported names and members that the stand-in declares, by module. */
function standIn(): [module: string, name: string, member: string | undefined][] {
  const path = at("./fixtures/tenure.d.ts");
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  return source.statements.filter(ts.isModuleDeclaration).flatMap((module) => {
    const body = module.body && ts.isModuleBlock(module.body) ? module.body.statements : [];
    return body.flatMap((s) => declared(s).map(([n, m]) => [module.name.text, n, m] as never));
  });
}

function declared(statement: ts.Statement): [name: string, member: string | undefined][] {
  if (ts.isExportDeclaration(statement) && statement.exportClause) {
    const clause = statement.exportClause;
    return ts.isNamedExports(clause) ? clause.elements.map((e) => [e.name.text, undefined]) : [];
  }
  const isExported =
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some((m) => m.kind === ts.SyntaxKind.ExportKeyword) === true;
  if (!isExported) return [];
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map((d) => [
      (d.name as ts.Identifier).text,
      undefined,
    ]);
  const name = (statement as ts.Statement & { name?: ts.Identifier }).name?.text ?? "";
  const members =
    ts.isClassDeclaration(statement) || ts.isInterfaceDeclaration(statement)
      ? [...statement.members]
      : [];
  const memberNames = members.flatMap((m): [string, string][] =>
    m.name && ts.isIdentifier(m.name) && m.name.text !== "brand" ? [[name, m.name.text]] : [],
  );
  return [[name, undefined], ...memberNames];
}

test("the stand-in types declare nothing that the library does not have", () => {
  const declaredThere = standIn();
  assert.ok(declaredThere.length > 100);
  const invented = declaredThere.filter(([module, name, member]) => {
    const members = tenure.get(module)?.get(name);
    return !members || (member !== undefined && !members.has(member));
  });
  assert.equal(
    invented.map((row) => row.join(" ")),
    [],
  );
});

test.run();
