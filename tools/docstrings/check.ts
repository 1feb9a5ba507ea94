/**
 * What docstrings of public names must say: anything at all; shapes, where tensors come in or go
 * out; the typed errors; units of numbers that have one; and one example for each family of
 * functions. Called by the snippet test, in whose program the names are looked up; owns nothing.
 */
import ts from "typescript";
import { publicNames, type PublicName } from "./public.ts";
import { Thrown } from "./throws.ts";

/** What is missing in the docstrings of entry points, one line each: `a.ts:3 f says no shapes`. */
export function docstringProblems(
  checker: ts.TypeChecker,
  entries: readonly ts.SourceFile[],
): string[] {
  const thrown = new Thrown(checker);
  const names = publicNames(checker, entries);
  const problems = names.flatMap((each) => {
    const wrong = [
      ...lacksText(each),
      ...lacksShapes(each),
      ...lacksErrors(each, thrown),
      ...lacksUnits(each),
    ];
    return wrong.map((what) => `${placeOf(each)} ${each.name} ${what}`);
  });
  return [...problems, ...lacksExamples(names)].sort();
}

function fileOf({ declarations: [first] }: PublicName): string {
  return first?.getSourceFile().fileName ?? "";
}

function placeOf({ declarations: [first] }: PublicName): string {
  const file = first?.getSourceFile();
  if (first === undefined || file === undefined) return "?";
  const { line } = file.getLineAndCharacterOfPosition(first.getStart());
  return `${file.fileName.replace(/^.*\/(?=packages\/tenure\/src\/)/, "")}:${line + 1}`;
}

type Callable = ts.FunctionDeclaration | ts.MethodDeclaration | ts.MethodSignature;

function isCallable(node: ts.Node): node is Callable {
  return (
    ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)
  );
}

/** Functions and methods whose docstring is their own, not that of what they override. */
function callables({ declarations }: PublicName): Callable[] {
  return declarations.filter(isCallable).filter((one) => !inherits(one));
}

function inherits(node: ts.Declaration): boolean {
  return ts.isMethodDeclaration(node) && ts.getJSDocCommentsAndTags(node).length === 0;
}

function lacksText({ declarations: [first], text }: PublicName): string[] {
  if (first === undefined || text.trim() !== "") return [];
  // Names of fields that say everything are left alone.
  return ts.isPropertySignature(first) || ts.isPropertyDeclaration(first) ? [] : ["says nothing"];
}

const TENSOR = /\b(?:this|Tensor|TensorLike|SortedOf?)\b(?!\.)/;
/** Where functions compute with tensors, and do not only hold them. */
const COMPUTES = /\/src\/(?:tensor|autograd|nn\/functional)\/|\/src\/nn\/init\.ts$/;
const SHAPE = new RegExp(
  [
    /\[[^\]]*\]|→|\b0-d\b|\bscalar|\bshapes?\b|\bdimensions?\b|\bax[ei]s\b|\brank\b/,
    /elementwise|broadcast|\b(?:each|every|only|single) element|\brows?\b|\bvectors?\b/,
    /\bmatri(?:x|ces)\b|the tensor itself/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** Whether shapes are a question, and the docstring leaves it open. */
function lacksShapes(each: PublicName): string[] {
  if (SHAPE.test(each.text) || !COMPUTES.test(fileOf(each))) return [];
  const asked = callables(each).some(
    (one) =>
      returnsTensor(one) || one.parameters.some(({ type }) => mentionsTensor(type?.getText())),
  );
  return asked ? ["says no shapes"] : [];
}

const returnsTensor = (one: Callable): boolean => mentionsTensor(one.type?.getText());
const mentionsTensor = (type: string | undefined): boolean =>
  type !== undefined && TENSOR.test(type.replace(/<[^>]*>/g, ""));

/** What the walk finds and cannot happen there. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  "Tensor.clamp": ["DTypeError", "ShapeError"], // in place only; numbers have no shape
  "Tensor.clamp_": ["ShapeError"],
  "Tensor.sort": ["DTypeError"], // it gathers by its own indices
  sort: ["DTypeError"],
  concat: ["DTypeError"], // dtypes are promoted before
  clipGradNorm: ["ShapeError"], // the norm is its own
  stack: ["DTypeError"],
  "Tensor.roll": ["DTypeError"],
  "Tensor.fill_": ["ShapeError"], // numbers have no shape
  bernoulli: ["ArgumentError", "ShapeError"], // the draws have the probabilities' shape
  randperm: ["DTypeError", "ShapeError"],
  oneHot: ["ShapeError"], // it adds a dimension
  // What a slope is multiplied with has its shape.
  ...Object.fromEntries(
    ["gelu", "silu", "mish", "elu", "selu", "leakyRelu", "hardSwish", "hardSigmoid"].map(
      (name) => [`Tensor.${name}`, ["ShapeError"]] as const,
    ),
  ),
  detectAnomaly: ["ShapeError"], // what it reduces has elements
  "ConstantPad1d.forward": ["ArgumentError"], // the constructor checked the border
  "init.defaultWeight": ["ArgumentError"], // its bound is its own
};

function lacksErrors(each: PublicName, thrown: Thrown): string[] {
  const errors = new Set(
    [...callables(each), ...each.constructors].flatMap((declaration) => thrown.by(declaration)),
  );
  const never = NEVER[each.name] ?? [];
  const missing = [...errors].filter((name) => !each.text.includes(name) && !never.includes(name));
  return missing.length === 0 ? [] : [`does not name ${missing.sort().join(", ")}`];
}

const QUANTITY =
  /(?:time|duration|timeout|budget|peak|limit|capacity|interval|bandwidth|angle|rate)$/i;
const UNIT = new RegExp(
  [
    /bytes?|KiB|MiB|GiB|seconds?|milliseconds?|\bms\b|per second|flops|operations|radians/,
    /elements?|samples?|batch|positions?|pixels?|features|channels|steps?|epochs?|buffers|tensors/,
    /times|share|probability|between 0 and 1|0 to 1|learning rate|rows|axis|kernel/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** Numbers named like a quantity whose unit neither the name nor the docstring gives. */
function lacksUnits(each: PublicName): string[] {
  const numbers = each.declarations.flatMap((declaration): readonly Measured[] => {
    if (isCallable(declaration)) return inherits(declaration) ? [] : [...declaration.parameters];
    return isField(declaration) ? [declaration] : [];
  });
  const open = numbers.filter(
    ({ name, type }) =>
      /\bnumber\b/.test(type?.getText() ?? "") &&
      QUANTITY.test(name.getText()) &&
      !UNIT.test(name.getText()) &&
      !UNIT.test(each.text),
  );
  return open.map(({ name }) => `gives ${name.getText()} no unit`);
}

type Field = ts.PropertySignature | ts.PropertyDeclaration | ts.GetAccessorDeclaration;
type Measured = Field | ts.ParameterDeclaration;

function isField(node: ts.Node): node is Field {
  return ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isGetAccessor(node);
}

/** A file is a family: what is about tensors in it has at least one example. */
function lacksExamples(names: readonly PublicName[]): string[] {
  const families = new Map<string, boolean>();
  for (const each of names) {
    const [first] = each.declarations;
    const file = first?.getSourceFile().fileName.replace(/^.*\/(?=packages\/tenure\/src\/)/, "");
    if (first === undefined || file === undefined) continue;
    const counts = isFamily(file) && (ts.isClassDeclaration(first) || isCallable(first));
    if (!counts && !families.has(file)) continue;
    const has = /@example\s+```ts/.test(each.text);
    families.set(file, (families.get(file) ?? false) || has);
  }
  return [...families].flatMap(([file, has]) => (has ? [] : [`${file} has no example`]));
}

const isFamily = (file: string): boolean =>
  /src\/(?:tensor|nn|optim|data|autograd|compiling|scheduling|profiling)\//.test(file);
