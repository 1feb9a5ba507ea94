/**
 * Ends seen: what a program ends itself: the kinds of resources it binds with `using` or ends by
 * hand, and the functions whose results it ends. Where nobody agreed on a protocol, a resource is
 * only owed an end where others like it are given one. Used by `owed.ts`; read once per program.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import type { Oracle } from "../program/oracle.ts";
import { isUsing, unwrap, wellKnownSymbol, type CallLike } from "../program/syntax.ts";

/** What the sources of a program, tests left out, end. */
export interface EndsSeen {
  /** What declares the types of what is ended. */
  kinds: ReadonlySet<ts.Node>;
  /** What declares the functions and classes whose results are ended where they are made. */
  makers: ReadonlySet<ts.Node>;
  /** Those of them whose results are bound with `using`: they are made for who asks. */
  bound: ReadonlySet<ts.Node>;
}

/** Everything that a program ends. */
export const endsSeen = (oracle: Oracle): EndsSeen => oracle.facts.of(oracle, collect);

const speaksOfEnds = /\busing\b|ispose|\.(close|destroy|release|end|terminate)\(/;
const ending = /^(dispose|disposeAsync|asyncDispose|close|destroy|release|end|terminate)$/;

function collect(oracle: Oracle): EndsSeen {
  const kinds = new Set<ts.Node>();
  const makers = new Set<ts.Node>();
  const bound = new Set<ts.Node>();
  const { facts, program } = oracle;
  for (const file of facts.of(program, sourcesOf)) {
    if (isTest(program, file) || !speaksOfEnds.test(file.text)) continue;
    for (const ended of facts.of(file, endedIn)) {
      for (const kind of oracle.declarationsAt(ended)) kinds.add(kind);
      const made = makerOf(oracle, ended);
      if (!made) continue;
      makers.add(made);
      if (isUsing(ended.parent)) bound.add(made);
    }
  }
  return { kinds, makers, bound };
}

/** The names and expressions that a file ends. */
function endedIn(file: ts.SourceFile, facts: Oracle["facts"]): readonly ts.Node[] {
  const bound = facts
    .variables(file)
    .filter(isUsing)
    .map((v) => v.name);
  const asked = facts.calls(file).flatMap((call) => endedBy(call) ?? []);
  return [...bound, ...asked];
}

/** What a call ends: `x` of `x.close()`, of `x[Symbol.dispose]()` and of `stack.use(x)`. */
function endedBy({ expression, arguments: given }: ts.CallExpression): ts.Node | undefined {
  if (ts.isElementAccessExpression(expression)) {
    const symbol = wellKnownSymbol(expression.argumentExpression) ?? "";
    return /^(asyncD|d)ispose$/.test(symbol) ? named(expression.expression) : undefined;
  }
  if (!ts.isPropertyAccessExpression(expression)) return undefined;
  const { text } = expression.name;
  if (text === "use" && /stack$/i.test(expression.expression.getText()) && given[0])
    return given[0];
  return ending.test(text) ? named(expression.expression) : undefined;
}

/** A variable or a field; what a class does with itself tells nothing. */
function named(node: ts.Expression): ts.Node | undefined {
  const bare = unwrap(node);
  return ts.isIdentifier(bare) || ts.isPropertyAccessExpression(bare) ? bare : undefined;
}

/** What made a local variable that is ended, or what is given to be ended. */
function makerOf(oracle: Oracle, ended: ts.Node): ts.Node | undefined {
  const { parent } = ended;
  const declaration = ts.isVariableDeclaration(parent)
    ? parent
    : ts.isIdentifier(ended)
      ? oracle.declarationAt(ended)
      : undefined;
  const value = declaration
    ? ts.isVariableDeclaration(declaration) && declaration.initializer
    : ended;
  return value ? makerIn(oracle, unwrap(value as ts.Expression)) : undefined;
}

const makerIn = (oracle: Oracle, value: ts.Expression): ts.Node | undefined =>
  ts.isCallExpression(value) || ts.isNewExpression(value) ? madeBy(oracle, value) : undefined;

/** What declares the function or the class that a call makes something with. */
export const madeBy = (oracle: Oracle, call: CallLike): ts.Node | undefined =>
  ts.isNewExpression(call)
    ? oracle.declarationAt(call.expression)
    : oracle.callee(call).declaration;

/** Whether a file of a program is a test: tests end what programs keep. */
export function isTest(program: ts.Program, { fileName }: ts.SourceFile): boolean {
  const config: unknown = program.getCompilerOptions()["configFilePath"];
  const folder = typeof config === "string" ? config.replace(/[^/\\]*$/, "") : "";
  const path = fileName.startsWith(folder) ? fileName.slice(folder.length) : fileName;
  return aside.test(path);
}

const aside = new RegExp(
  "([._-](unit)?(test|spec)s?\\.[cm]?[jt]sx?$)|(^|[/\\\\])(__tests?__|tests?|specs?|e2e)[/\\\\]",
  "i",
);
