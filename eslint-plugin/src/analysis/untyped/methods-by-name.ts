/**
 * Methods by name: what `env.observe()` calls where nothing is known of `env`: the method of the
 * program that has the name, if there is one alone and the platform has none. Used by the oracle,
 * after all that types and the names of libraries tell.
 */
import ts from "typescript";
import { isTestFile, sourcesFor } from "../program/call-index.ts";
import { nameOf } from "../program/call-sites.ts";
import { functionHanded, type Callee } from "../program/callee.ts";
import type { Facts } from "../program/facts.ts";
import { grouped } from "../program/field-index.ts";
import type { Oracle } from "../program/oracle.ts";
import { mayImplement, valuesGiven } from "../program/possible-callees.ts";
import {
  calleeNameNode,
  isScript,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { assignedNames } from "./globals.ts";
import { bindingOf } from "./library-names.ts";
import { storedAt, type FieldContext } from "./untyped-fields.ts";

/** The method that a call of something without a type runs, as a callee. */
export function calledByName(
  oracle: Oracle,
  context: FieldContext,
  call: CallLike,
): Pick<Callee, "declaration" | "body" | "tags"> | undefined {
  const body = methodByName(oracle, context, call);
  return body && { declaration: body, body, tags: oracle.tags(body) };
}

/** The method that a call of something without a type runs. */
export function methodByName(
  oracle: Oracle,
  context: FieldContext,
  call: CallLike,
): FunctionWithBody | undefined {
  const { expression: target } = call;
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(target)) return undefined;
  const { name, expression: receiver } = target;
  if (receiver.kind === ts.SyntaxKind.ThisKeyword || oracle.symbolAt(name)) return undefined;
  const question = `only method ${String(isTestFile(call.getSourceFile()))} ${name.text}`;
  const method = oracle.facts.once(oracle.program, question, () =>
    onlyMethod(oracle, name.text, call),
  );
  const isOpen = (): boolean =>
    oracle.gives(receiver, "anything") ||
    (isScript(receiver.getSourceFile()) && oracle.gives(receiver, "nothing")); // `useState(null)`
  return method && isOpen() && !isForeign(context, receiver) ? method : undefined;
}

/** The method that has a name alone, of all that an asker of the program knows. */
function onlyMethod(oracle: Oracle, name: string, asker: ts.Node): FunctionWithBody | undefined {
  const { facts, program } = oracle;
  const [only, ...others] = sourcesFor(oracle, asker).flatMap(
    (file) => facts.of(file, methodsIn).get(name) ?? [],
  );
  if (!only || others.length > 0 || isOfPlatform(program, name)) return undefined;
  return valuesGiven(oracle, name).every((value) => functionHanded(oracle, value) === only)
    ? only
    : undefined;
}

/** Methods by name, those that a script assigns, too: `World.prototype.look = function () {}`. */
const methodsIn = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly FunctionWithBody[]> =>
  grouped(
    facts.functions(file).filter((fn) => mayImplement(fn) || ts.isBinaryExpression(fn.parent)),
    (fn) => nameOf(fn) ?? "",
  );

/** Whether something of the platform has a method of that name, as TypeScript declares it. */
const isOfPlatform = (program: ts.Program, name: string): boolean =>
  program
    .getSourceFiles()
    .some(
      (file) =>
        program.isSourceFileDefaultLibrary(file) &&
        (file.text.includes(`    ${name}(`) || file.text.includes(`    ${name}<`)),
    );

const furthest = 4;

/** Whether a value comes of a package or of a script of others, whose methods are their own. */
function isForeign(context: FieldContext, expression: ts.Expression, hops = 0): boolean {
  if (hops > furthest) return false; // `this.x = this.x.next()`
  let at = unwrap(expression);
  while (
    ts.isCallExpression(at) ||
    ts.isNewExpression(at) ||
    ts.isPropertyAccessExpression(at) ||
    ts.isElementAccessExpression(at)
  ) {
    if (ts.isCallExpression(at) && /^use[A-Z]/.test(calleeNameNode(at)?.text ?? "")) return false;
    if (ts.isPropertyAccessExpression(at) && at.expression.kind === ts.SyntaxKind.ThisKeyword)
      return storedAt(context, at).some(({ value }) => isForeign(context, value, hops + 1));
    at = unwrap(at.expression);
  }
  if (!ts.isIdentifier(at)) return false;
  const declaration = bindingOf(context, at);
  if (!declaration) return !context.facts.of(at.getSourceFile(), assignedNames).has(at.text);
  const holder = holderOf(declaration);
  if (!holder) return declaration.getSourceFile().isDeclarationFile && !windows.has(at.text);
  if (ts.isImportDeclaration(holder)) return isPackage(holder.moduleSpecifier);
  const { initializer: value } = holder;
  if (!value) return false;
  const isRequire =
    ts.isCallExpression(value) &&
    ts.isIdentifier(value.expression) &&
    value.expression.text === "require";
  if (isRequire) return value.arguments[0] !== undefined && isPackage(value.arguments[0]);
  return isForeign(context, value, hops + 1);
}

const windows = new Set(["window", "globalThis", "self", "global"]);

/** The import or the variable that a declaration is a part of. */
function holderOf(declaration: ts.Node): ts.ImportDeclaration | ts.VariableDeclaration | undefined {
  for (let at = declaration; !ts.isSourceFile(at) && !ts.isFunctionLike(at); at = at.parent)
    if (ts.isImportDeclaration(at) || ts.isVariableDeclaration(at)) return at;
  return undefined;
}

/** `"chart.js"`, not `"./env.js"` nor `"@/env"`. */
const isPackage = (specifier: ts.Expression): boolean =>
  ts.isStringLiteralLike(specifier) && !/^([.~#/]|@\/|src\/)/.test(specifier.text);
