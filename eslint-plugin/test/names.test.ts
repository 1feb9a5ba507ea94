/**
 * Names: every name in every preset exists in the package it speaks of, and the rule tests compile
 * against all that the library declares. Reads declarations only; nothing runs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { suite } from "uvu";
import { presets } from "../src/index.ts";
import type { CalleeSpecifier, OwnerSettings, ScopeSettings } from "../src/owner.ts";
import { declarations, layDeclarations, publicModules } from "./declarations.ts";
import { assert } from "./tester.ts";

const test = suite("names");
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
    ...(owner.untyped?.records ?? []).map(({ callee, fields }) => [callee, ...fields]),
    ...[owner.runsInScope, owner.runsInline, owner.freshArguments],
    ...[owner.takes?.map((t) => t.callee)],
  ].flatMap((list) => list ?? []);
  return [
    ...(Array.isArray(owner.types) ? owner.types.flatMap((t) => t.name) : []),
    ...callees.flatMap(nameOf),
    ...(owner.scopes ?? []).flatMap(scopeNames),
    ...Object.values(owner.scopeObject ?? {}).flat(),
    ...[owner.brand, owner.freshProperties, owner.dispose?.methods, owner.keep?.methods].flat(),
    ...[
      owner.shares,
      owner.adopts,
      owner.safeAfterDispose,
      owner.managers,
      owner.overrides?.flatMap(({ method, calledBy }) => [method, ...calledBy]),
      owner.outsideScopes,
      owner.alias,
      owner.listing,
    ].flat(),
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

/** What modules export, by the name of the module, each type with its members. */
function exportsOfModules(
  entries: readonly (readonly [name: string, file: string])[],
): Map<string, Map<string, ReadonlySet<string>>> {
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

const tenure = exportsOfModules(publicModules());

test("the tenure preset names what the library has", () => {
  const known = new Set(
    [...tenure.values()].flatMap((names) =>
      [...names].flatMap(([name, members]) => [name, ...members]),
    ),
  );
  // a class between `Tensor` and what it is made of, which only its declaration names
  const inside = declaredNames([join(declarations, "dist/tensor/methods/ownership.d.ts")]);
  const stacks = declaredNames([require.resolve("typescript/lib/lib.esnext.disposable.d.ts")]);
  assert.equal(missing("tenure", new Set([...known, ...inside, ...stacks])), []);
});

test("the tfjs preset names what TensorFlow.js has", () => {
  const core = dirname(require.resolve("@tensorflow/tfjs-core/package.json"));
  // of @tensorflow/tfjs-layers, -data, -converter, -node and the models: not installed here
  const elsewhere = [
    ...["decodeBmp", "decodeGif", "decodeImage", "decodeJpeg", "decodePng"],
    ...["predict", "predictOnBatch", "evaluate", "execute", "executeAsync", "infer", "embed"],
    ...["Layer", "Container", "LayersModel", "Sequential", "RNNCell", "GraphModel"],
    ...["layers", "inputs", "outputs", "input", "output", "getLayer", "apply", "weights"],
    ...["trainableWeights", "loadWeights", "setWeights", "optimizer"],
    ...["sequential", "model", "loadLayersModel", "loadGraphModel"],
    // of releases before 1.0
    ...["Model", "FrozenModel", "loadModel", "loadFrozenModel"],
    ...["BlazeFaceModel", "BodyPix", "BodySegmenter", "FaceDetector", "FaceLandmarksDetector"],
    ...["HandDetector", "KNNClassifier", "ObjectDetection", "PoseDetector", "PoseNet"],
    ...["SemanticSegmentation", "load", "create", "createDetector", "createSegmenter"],
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

test("the onnxruntime preset names what ONNX Runtime has", () => {
  const fixture = fileURLToPath(new URL("./fixtures/onnxruntime.d.ts", import.meta.url));
  assert.equal(missing("onnxruntime", declaredNames([fixture])), []);
});

test("a name that does not exist is found", () => {
  assert.equal(missing("webgpu", new Set(["destroyed"])).includes("GPUBuffer"), true);
});

// ---- what the rule tests compile against ----

/** One line per exported name and per member that others can see. */
const rowsOf = (modules: ReturnType<typeof exportsOfModules>): string[] =>
  [...modules]
    .flatMap(([module, types]) =>
      [...types].flatMap(([type, members]) => [
        `${module} ${type}`,
        ...[...members].filter((m) => /^[a-z]\w*$/i.test(m)).map((m) => `${module} ${type}.${m}`),
      ]),
    )
    .sort();

test("the rule tests see the modules of the library with all their names", () => {
  layDeclarations();
  const built = exportsOfModules(
    publicModules().map(([name, source]) => {
      const inside = source.slice(source.indexOf("/src/") + "/src/".length);
      return [name, join(declarations, "dist", inside.replace(/\.ts$/, ".d.ts"))];
    }),
  );
  assert.ok(built.get("tenure")?.get("Tensor")?.has("moveToOuter"));
  assert.equal(rowsOf(built), rowsOf(tenure));
});

test.run();
