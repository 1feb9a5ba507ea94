/**
 * Scope reach: which functions may run while a scope that the program opens is open, found by
 * following its calls from where scopes are opened. A call of who knows what may be one of any
 * function. So of a function whose callers cannot be seen it is known that they have no scope. Used
 * by `scope-context.ts` alone.
 */
import ts from "typescript";
import type { Owner, ScopeSettings } from "../../owner.ts";
import { callsNamed, isTestFile } from "../program/call-index.ts";
import { isCommonExport, nameOf, overridesForeign } from "../program/call-sites.ts";
import { isExported } from "../program/exported.ts";
import { functionHanded, type Callee } from "../program/callee.ts";
import type { Facts } from "../program/facts.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { islandOf, type Island } from "../program/islands.ts";
import { isMadeByLibrary } from "../fresh/is-fresh.ts";
import { endsScope, opensScope } from "./open-scopes.ts";
import type { Session } from "../session.ts";
import { functionsNamed, functionsOf } from "../program/possible-callees.ts";
import { isStranger } from "./strangers.ts";
import { hasBody, unwrap, type CallLike, type FunctionWithBody } from "../program/syntax.ts";

/** Whether a function that a node is in may run inside a scope which the program opens. */
export function mayRunInScope(session: Session, node: ts.Node): boolean {
  const file = node.getSourceFile();
  const island = islandOf(session, file);
  const found = isTestFile(file) ? reachWithTests : reachOfSources;
  const { all, functions } = session.oracle.facts.of(island, found);
  if (all) return true;
  let outer: ts.Node | undefined;
  for (let fn = enclosingFunction(node); fn; fn = enclosingFunction(fn)) {
    if (functions.has(fn) || ts.isAccessor(fn)) return true; // reads are not followed
    outer = fn;
  }
  return outer !== undefined && isMemberForOthers(session.oracle.facts, outer);
}

/** A member of a class or an object that the file exports: code outside the program may call it. */
function isMemberForOthers(facts: Facts, fn: ts.Node): boolean {
  if (ts.isClassLike(fn.parent)) return isExported(facts, fn);
  const member = ts.findAncestor(fn, ts.isObjectLiteralExpression);
  const holder = member && ts.findAncestor(member, ts.isVariableDeclaration);
  return member !== undefined && (holder ? isExported(facts, holder) : isGivenAway(member));
}
const isGivenAway = (node: ts.Node): boolean =>
  ts.findAncestor(node, (n) => ts.isExportAssignment(n) || isCommonExport(n)) !== undefined;

/** The functions that a walk came to, or that it may have come to all. */
interface Reach {
  readonly all: boolean;
  readonly functions: ReadonlySet<ts.Node>;
}

const reachWithTests = (island: Island): Reach => reachOf(island.session, island.files);
const reachOfSources = ({ session, files }: Island): Reach =>
  reachOf(session, new Set([...files].filter((file) => !isTestFile(file))));

function reachOf(session: Session, files: ReadonlySet<ts.SourceFile>): Reach {
  const walk = new Walk(session, files);
  for (const owner of session.settings.owners) {
    for (const scope of owner.scopes) walk.opened(owner, scope);
    for (const by of owner.runsInScope) walk.given(owner, by);
  }
  walk.ofForeigners();
  return walk;
}

class Walk implements Reach {
  all = false;
  readonly functions = new Set<ts.Node>();
  readonly #session: Session;
  readonly #givers = new Set<ts.CallExpression>();

  readonly #files: ReadonlySet<ts.SourceFile>;

  constructor(session: Session, files: ReadonlySet<ts.SourceFile>) {
    this.#session = session;
    this.#files = files;
  }

  /** Follows what runs in the scopes of one kind. */
  opened(owner: Owner, scope: ScopeSettings): void {
    if ("callee" in scope) return this.given(owner, scope.callee);
    const spec = "using" in scope ? scope.using : scope.begin;
    for (const call of this.#named(spec)) {
      if ("begin" in scope) this.#begun(call, scope.end);
      else if (opensScope(this.#session, call)) this.#held(call);
    }
  }

  /** Follows the functions that are given to one of the library. */
  given(owner: Owner, spec: Owner["runsInScope"][number]): void {
    const { oracle } = this.#session;
    for (const call of this.#named(spec)) {
      const callee = oracle.callee(call);
      if (!callee.declaration || oracle.is(callee, [spec], owner))
        this.#handed(call.arguments ?? []);
    }
  }

  /** Follows what others may call in a scope of theirs: overridden methods, what they are given. */
  ofForeigners(): void {
    const { oracle } = this.#session;
    for (const file of this.#files) {
      if (this.all) return;
      for (const node of oracle.facts.classes(file)) this.#methods(node);
      for (const call of oracle.facts.nodes<CallLike>(file, ...callKinds)) {
        const functions = (call.arguments ?? []).filter((a) => functionHanded(oracle, a));
        if (functions.length > 0 && this.#mayOpen(call))
          this.#handed(functions.filter((a) => this.#session.callback(call, a) === "unknown"));
      }
    }
  }

  /** Whether a call reaches code outside the program that may open scopes. */
  #mayOpen(call: CallLike): boolean {
    const { body, builtin, declaration } = this.#session.oracle.callee(call);
    if (body || builtin) return false;
    const isOurs = declaration && !declaration.getSourceFile().isDeclarationFile;
    if (isOurs) return (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Ambient) !== 0;
    return !isStranger(this.#session, call);
  }

  /** The methods that calls do not name: `[Symbol.iterator]`, those of a base of the library. */
  #methods(node: ts.ClassLikeDeclaration): void {
    for (const member of node.members) {
      if (!hasBody(member) || ts.isConstructorDeclaration(member)) continue;
      const isUnnamed = member.name && ts.isComputedPropertyName(member.name);
      if (isUnnamed || (node.heritageClauses && overridesForeign(this.#session.oracle, member)))
        this.#add(member);
    }
  }

  #named(spec: Owner["runsInScope"][number]): CallLike[] {
    const names = typeof spec === "string" ? [spec] : [spec.name].flat();
    return names
      .flatMap((name) => callsNamed(this.#session.oracle, name))
      .filter((call) => !this.all && this.#files.has(call.getSourceFile()));
  }

  /** A scope begun and ended: all of the function that does both. */
  #begun(call: CallLike, end: string): void {
    const fn = enclosingFunction(call);
    const isEnded = callsNamed(this.#session.oracle, end).some((c) => enclosingFunction(c) === fn);
    if (hasBody(fn) && isEnded) this.#visit(fn.body);
    else this.all = true;
  }

  /** A scope with a name: the rest of its block, or until it is ended. */
  #held(call: CallLike): void {
    const statement = ts.findAncestor(call, ts.isVariableStatement);
    const block = statement?.parent as ts.Block | undefined;
    const [declaration] = statement?.declarationList.declarations ?? [];
    const fn = enclosingFunction(call);
    const isYielded = hasBody(fn) && fn.asteriskToken !== undefined; // open where others go on
    const holds = declaration && unwrap(declaration.initializer ?? call) === call;
    if (!statement || !block || !holds || isYielded) {
      this.all = true;
      return;
    }
    for (const next of block.statements.slice(block.statements.indexOf(statement) + 1)) {
      this.#visit(next);
      if (endsScope(this.#session, next, declaration)) return;
    }
  }

  #handed(functions: readonly ts.Expression[]): void {
    for (const given of functions) {
      const fn = functionHanded(this.#session.oracle, given);
      if (fn) this.#add(fn);
      else if (this.#isFunction(given)) this.#possible(declarationOf(this.#session, given));
    }
  }

  /** Whether a function may run what it is given there, should that turn out to be a function. */
  #mayRun(given: ts.Expression, { declaration, library, member }: Callee, index: number): boolean {
    const { oracle } = this.#session;
    if (functionHanded(oracle, given)) return true;
    if (library ?? member) return false; // its functions without types: those it runs are known
    const parameters = (declaration as Partial<ts.SignatureDeclaration> | undefined)?.parameters;
    const parameter = parameters?.[index];
    if (!parameter || parameter.dotDotDotToken || !ts.isIdentifier(parameter.name)) return true;
    return oracle.mayBeFunction(parameter.name);
  }

  #isFunction(node: ts.Expression): boolean {
    const bare = unwrap(node);
    const isName = ts.isIdentifier(bare) || ts.isPropertyAccessExpression(bare);
    return isName && this.#session.oracle.mayBeFunction(bare);
  }

  #add(fn: FunctionWithBody): void {
    if (this.all || this.functions.has(fn)) return;
    this.functions.add(fn);
    if (ts.isConstructorDeclaration(fn)) this.#fields(fn.parent);
    this.#visit(fn.body);
    if (ts.isMethodDeclaration(fn)) this.#namesakes(nameOf(fn) ?? "");
  }

  #fields(node: ts.ClassLikeDeclaration): void {
    for (const member of node.members)
      if (ts.isPropertyDeclaration(member) && member.initializer) this.#visit(member.initializer);
  }

  /** The methods that a call of a method by its name may run: those that override it. */
  #namesakes(name: string): void {
    const { facts } = this.#session.oracle;
    for (const file of this.#files)
      for (const other of facts.of(file, methodsByName).get(name) ?? []) this.#add(other);
  }

  #visit(node: ts.Node): void {
    if (this.all || ts.isTypeNode(node)) return;
    if (hasBody(node)) return this.#add(node);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) this.#call(node);
    else if (ts.isTaggedTemplateExpression(node)) this.all = true;
    ts.forEachChild(node, (child) => this.#visit(child));
  }

  #call(call: CallLike): void {
    const callee = this.#session.oracle.callee(call);
    const { body, declaration } = callee;
    if (body) this.#add(body);
    else if (declaration && ts.isClassLike(declaration)) this.#fields(declaration);
    else if (!declaration && !this.#isForeign(callee)) this.#called(call);
    else if (!this.#isForeign(callee)) this.#possible(declaration);
    this.#handed((call.arguments ?? []).filter((given, i) => this.#mayRun(given, callee, i)));
  }

  /** Follows what a call of something without a type may run: what the program gives its name. */
  #called(call: CallLike): void {
    const callee = unwrap(call.expression);
    const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
    if (!ts.isIdentifier(name)) {
      this.all = true;
      return;
    }
    this.#known(functionsNamed(this.#session.oracle, name.text));
  }

  /** Follows what a declaration without a body may stand for, where that is known. */
  #possible(declaration: ts.Declaration | undefined): void {
    const { owners } = this.#session.settings;
    // what is given to the library's functions is followed there
    if (owners.some((owner) => isMadeByLibrary(this.#session, { declaration }, owner))) return;
    const giver = declaration && this.#giver(declaration);
    if (giver) this.#given(giver);
    else this.#known(declaration && functionsOf(this.#session.oracle, declaration));
  }

  #known(functions: readonly FunctionWithBody[] | undefined): void {
    for (const fn of functions ?? []) this.#add(fn);
    if (!functions) this.all = true;
  }

  /** The call of code outside the program that gives a variable its value, or a part of it. */
  #giver(declaration: ts.Declaration): ts.CallExpression | undefined {
    const variable = ts.findAncestor(declaration, (n) => !isPartOfPattern(n));
    if (!variable || !ts.isVariableDeclaration(variable) || !variable.initializer) return undefined;
    const made = unwrap(variable.initializer);
    const call = ts.isAwaitExpression(made) ? unwrap(made.expression) : made;
    if (!ts.isCallExpression(call)) return undefined;
    const callee = this.#session.oracle.callee(call);
    return !callee.body && (!callee.declaration || this.#isForeign(callee)) ? call : undefined;
  }

  /** Such a call knows of no function but those it is given. */
  #given(call: ts.CallExpression): void {
    if (this.#givers.has(call)) return;
    this.#givers.add(call);
    const callee = unwrap(call.expression);
    if (ts.isPropertyAccessExpression(callee) && callee.name.text === "bind") this.all = true;
    else this.#handed(call.arguments);
  }

  /** Whether a call reaches code outside the program, which knows of no function of it. */
  #isForeign({ declaration, builtin, library }: Callee): boolean {
    return (
      builtin || library !== undefined || declaration?.getSourceFile().isDeclarationFile === true
    );
  }
}

const isPartOfPattern = (node: ts.Node): boolean =>
  ts.isBindingElement(node) || ts.isObjectBindingPattern(node) || ts.isArrayBindingPattern(node);

const declarationOf = ({ oracle }: Session, given: ts.Expression): ts.Declaration | undefined => {
  const bare = unwrap(given);
  const name = ts.isPropertyAccessExpression(bare) ? bare.name : bare;
  return ts.isIdentifier(name) ? oracle.declarationAt(name) : undefined;
};

const callKinds = [ts.SyntaxKind.CallExpression, ts.SyntaxKind.NewExpression] as const;

/** The methods of the classes of a file. */
function methodsByName(
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly FunctionWithBody[]> {
  const found = new Map<string, FunctionWithBody[]>();
  for (const fn of facts.functions(file)) {
    if (!ts.isMethodDeclaration(fn) || !ts.isClassLike(fn.parent)) continue;
    const name = nameOf(fn) ?? "";
    found.set(name, [...(found.get(name) ?? []), fn]);
  }
  return found;
}
