/**
 * Trails: everywhere a value may get to from where it is made, whatever the order of things: into
 * variables, fields, lists, records, through functions that return or yield it and into those it
 * is given to. Where nothing on the whole trail ends it, and nobody out of sight may, it is lost
 * for good. Each step says too much rather than too little, so one end anywhere is enough. Used by
 * `endless-values.ts`; what calls do with a value is in `trail-calls.ts`.
 */
import ts from "typescript";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { isHolder } from "../../owner.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { isCalledThrough } from "../scopes/layer-calls.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isUsingList,
  unwrap,
  wellKnownSymbol,
  within,
  type CallLike,
  type FunctionWithBody,
  isTarget,
} from "../program/syntax.ts";
import {
  callbackResult,
  callsOf,
  followArgument,
  followMethod,
  isOfObject,
} from "./trail-calls.ts";
import { isCarriedOff, mayEnd } from "./trail-closures.ts";
import { endsItself, endsPart, givesForGood, isOfLibrary } from "./trail-ends.ts";
import { inField, isDueAnEnd, isField } from "./trail-fields.ts";
import { tableMentions } from "./module-tables.ts";
import { leadsTo, nameOf, partOf, type Path } from "./trail-path.ts";
import { isOfAnother, store } from "./trail-places.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** More steps than this, and there is no telling. */
const limit = 600;

/** Expressions that have the value of what is in them. */
const handsOn: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ParenthesizedExpression,
  ts.SyntaxKind.AsExpression,
  ts.SyntaxKind.SatisfiesExpression,
  ts.SyntaxKind.NonNullExpression,
  ts.SyntaxKind.TypeAssertionExpression,
  ts.SyntaxKind.AwaitExpression,
]);

/** What only asks for a value, or leaves it standing. */
const ignores: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ExpressionStatement,
  ts.SyntaxKind.VoidExpression,
  ts.SyntaxKind.TemplateSpan,
  ts.SyntaxKind.PrefixUnaryExpression,
  ts.SyntaxKind.TypeOfExpression,
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
]);

/** One walk from where a value is made. */
export class Trail {
  readonly session: Session;
  readonly owned: Owned;
  /** The variables and fields that may hold the value, in the order found, and the way to it. */
  readonly places = new Map<ts.Declaration, Path>();
  /** Where something that has the value is put into a variable of a module. */
  readonly fills: ts.Node[] = [];
  /** Whether nobody counts but the program: users of what it exports end nothing. */
  readonly isWhole: boolean;
  /** Whether it has left all scopes on its way. */
  hasLeft = false;
  #isOver = false;
  /** Whether something goes on using it that may last as long as the program. */
  #isHeld = false;
  /** What ends the value; where all of it is asked for, nothing else stops the walk. */
  readonly #ends: ts.Node[] = [];
  #asksForEnds = false;
  #counts: (end: ts.Node) => boolean = () => true;
  /** What gives it to whoever uses the program: a function that nobody in it calls. */
  #giver: ts.Node | undefined;
  #steps = 0;
  readonly #seen = new Map<ts.Node, Set<string>>();
  readonly #queue: (() => void)[] = [];

  constructor(session: Session, owned: Owned, isWhole = false) {
    this.session = session;
    this.owned = owned;
    this.isWhole = isWhole || session.settings.untilExit === "reported";
  }

  /**
   * Whether nothing ends a value that is made at an expression, which has it under a path.
   *
   * @param counts whether an end counts
   */
  isEndless(made: ts.Expression, path: Path, counts = (_end: ts.Node): boolean => true): boolean {
    this.#counts = counts;
    this.#walk(made, path);
    const giver = this.#giver;
    const stays = (place: ts.Declaration): boolean =>
      isField(place) || (giver !== undefined && !within(place, giver));
    const places = [...this.places.keys()];
    const isDue = (place: ts.Declaration): boolean => isDueAnEnd(this.session, place);
    if (this.#isHeld && !places.some(isDue)) return false;
    return !this.#isOver && (!giver || places.some(stays));
  }

  /** All that ends such a value or gives it to who may, whatever else becomes of it. */
  endsOf(made: ts.Expression, path: Path): readonly ts.Node[] {
    this.#asksForEnds = true;
    this.#walk(made, path);
    return this.#ends;
  }

  #walk(made: ts.Expression, path: Path): void {
    this.climb(made, path);
    if (path.length > 0) this.#origin(made, path);
    for (let at = 0; at < this.#queue.length && !this.#isOver; at++) this.#queue[at]?.();
  }

  /** What a function of the program does with a value before it returns that. */
  #origin(made: ts.Expression, path: Path): void {
    const call = unwrap(made);
    if (!ts.isCallExpression(call)) return;
    const { body } = this.session.oracle.callee(call);
    for (const given of body ? returnsOf(body) : []) {
      const [part, rest] = partOf(unwrap(given), path);
      const declaration = ts.isIdentifier(part) && this.session.oracle.declarationAt(part);
      if (declaration && ts.isVariableDeclaration(declaration) && ts.isIdentifier(declaration.name))
        this.named(declaration, declaration.name, rest);
    }
  }

  /** All that the value passed through. */
  get nodes(): Iterable<ts.Node> {
    return this.#seen.keys();
  }

  /** It is given to a function. */
  enter(fn: FunctionWithBody): void {
    this.#seen.set(fn, this.#seen.get(fn) ?? new Set());
  }

  /** It is ended there, or given to who may end it. */
  end(at: ts.Node): void {
    this.#ends.push(at);
    if (this.#counts(at)) this.stop();
  }

  /** It is ended there, or there is no telling. */
  stop(): void {
    this.#isOver = !this.#asksForEnds;
  }

  /** Something goes on using it, which counts where the program need not be the whole. */
  hold(): void {
    this.#isHeld ||= !this.isWhole;
  }

  /** Remembers a place, and the shortest way from it to the value. */
  found(place: ts.Declaration, path: Path): void {
    if (path.length < (this.places.get(place)?.length ?? Infinity)) this.places.set(place, path);
  }

  /** Does a step once for each node and path. */
  later(node: ts.Node, path: Path, key: string, step: () => void): void {
    const known = this.#seen.get(node) ?? new Set();
    const name = `${key}:${path.join(".")}`;
    if (known.has(name)) return;
    this.#seen.set(node, known.add(name));
    if (path.length > 6 || this.#steps++ > limit) this.stop();
    else this.#queue.push(step);
  }

  /** Follows an expression that has the value under a path to what takes it from there. */
  climb(node: ts.Expression, path: Path): void {
    this.later(node, path, "climb", () => {
      this.#climb(node, path);
    });
  }

  #climb(node: ts.Expression, path: Path): void {
    const parent = node.parent;
    if (ts.isBinaryExpression(parent)) {
      this.#climbBinary(node, parent, path);
      return;
    }
    if (handsOn.has(parent.kind)) {
      this.climb(parent as ts.Expression, path);
      return;
    }
    switch (parent.kind) {
      case ts.SyntaxKind.ConditionalExpression:
        if ((parent as ts.ConditionalExpression).condition !== node)
          this.climb(parent as ts.Expression, path);
        return;
      case ts.SyntaxKind.ArrayLiteralExpression:
        this.climb(parent as ts.Expression, ["*", ...path]);
        return;
      case ts.SyntaxKind.SpreadElement:
        this.#spread(node, parent as ts.SpreadElement, path);
        return;
      case ts.SyntaxKind.PropertyAssignment:
        this.climb(parent.parent as ts.Expression, [
          nameOf((parent as ts.PropertyAssignment).name),
          ...path,
        ]);
        return;
      case ts.SyntaxKind.ShorthandPropertyAssignment:
        this.climb(parent.parent as ts.Expression, [node.getText(), ...path]);
        return;
      case ts.SyntaxKind.SpreadAssignment:
        this.climb(parent.parent as ts.Expression, path);
        return;
      case ts.SyntaxKind.PropertyAccessExpression:
        this.#access(parent as ts.PropertyAccessExpression, path);
        return;
      case ts.SyntaxKind.ElementAccessExpression:
        this.#element(node, parent as ts.ElementAccessExpression, path);
        return;
      case ts.SyntaxKind.CallExpression:
      case ts.SyntaxKind.NewExpression:
        followArgument(this, parent as ts.CallExpression, node, path);
        return;
      case ts.SyntaxKind.VariableDeclaration:
        this.#declared(parent as ts.VariableDeclaration, path);
        return;
      case ts.SyntaxKind.BindingElement:
      case ts.SyntaxKind.Parameter:
        this.bind((parent as ts.BindingElement | ts.ParameterDeclaration).name, path);
        return;
      case ts.SyntaxKind.PropertyDeclaration:
        inField(this, parent as ts.PropertyDeclaration, path);
        return;
      case ts.SyntaxKind.ReturnStatement:
        this.returned(enclosingFunction(parent), path);
        return;
      case ts.SyntaxKind.ArrowFunction:
        this.returned(parent, path);
        return;
      case ts.SyntaxKind.YieldExpression:
        this.#yielded(parent as ts.YieldExpression, path);
        return;
      case ts.SyntaxKind.ForOfStatement:
        this.#iterated(node, parent as ts.ForOfStatement, path);
        return;
      default:
        if (!ignores.has(parent.kind)) this.stop();
    }
  }

  #climbBinary(node: ts.Expression, parent: ts.BinaryExpression, path: Path): void {
    const { operatorToken, left, right } = parent;
    switch (operatorToken.kind) {
      case ts.SyntaxKind.CommaToken:
      case ts.SyntaxKind.AmpersandAmpersandToken:
        if (right === node) this.climb(parent, path);
        return;
      case ts.SyntaxKind.BarBarToken:
      case ts.SyntaxKind.QuestionQuestionToken:
        this.climb(parent, path);
        return;
      case ts.SyntaxKind.EqualsToken:
      case ts.SyntaxKind.BarBarEqualsToken:
      case ts.SyntaxKind.AmpersandAmpersandEqualsToken:
      case ts.SyntaxKind.QuestionQuestionEqualsToken:
        if (left === node) return;
        store(this, left, path);
        this.climb(parent, path);
        return;
      default: // a comparison and its like
    }
  }

  #spread(node: ts.Expression, parent: ts.SpreadElement, path: Path): void {
    const { parent: into } = parent;
    const inner = this.iterated(node, path);
    if (!inner) return;
    if (ts.isArrayLiteralExpression(into)) this.climb(into, ["*", ...inner]);
    else if (ts.isCallExpression(into) || ts.isNewExpression(into))
      followArgument(this, into, parent, inner);
    else this.stop();
  }

  /** The path from what turns over an expression give; none where they do not give the value. */
  iterated(list: ts.Expression, path: Path): Path | undefined {
    if (path[0] !== "*") return undefined;
    return this.session.oracle.typeName(list) === "Map" ? path : path.slice(1);
  }

  #access(access: ts.PropertyAccessExpression, path: Path): void {
    let top: ts.Expression = access;
    while (ts.isParenthesizedExpression(top.parent) || ts.isNonNullExpression(top.parent))
      top = top.parent;
    const call = top.parent;
    if (ts.isCallExpression(call) && call.expression === top)
      followMethod(this, call, access, path);
    else if (path.length === 0) {
      if (endsPart(this, top)) this.end(call);
      else if (this.#givesAway(access)) this.end(access);
    } else if (leadsTo(access.name.text, path) && !/^(length|size)$/.test(access.name.text))
      this.climb(access, path.slice(1));
  }

  /** `list.push(owner.part)`, `onEnd(owner.dispose)`: who gets a part may end the whole by it. */
  #givesAway(access: ts.PropertyAccessExpression): boolean {
    const { oracle } = this.session;
    if (mayEnd(access.name.text)) return true;
    return oracle.ownedAt(access) !== null && !onlyLooksAt(this.session.transfer(access).effect);
  }

  #element(node: ts.Expression, access: ts.ElementAccessExpression, path: Path): void {
    const { expression, argumentExpression: key, parent } = access;
    if (expression !== node) return;
    if (wellKnownSymbol(key) !== undefined) {
      const isCalled = ts.isCallExpression(parent) && parent.expression === access;
      const isWhole = path.length === 0 || path[0] === "*";
      if (isWhole || !isCalled || this.session.transfer(node).effect === "disposes")
        this.end(access);
      else if (endsItself(this, node)) this.stop();
      return;
    }
    const mayLead = !ts.isStringLiteralLike(key) || leadsTo(key.text, path);
    if (path.length > 0 && mayLead) this.climb(access, path.slice(1));
  }

  #declared({ name, parent }: ts.VariableDeclaration, path: Path): void {
    const isFreed = ts.isVariableDeclarationList(parent) && isUsingList(parent);
    const isWhole = path.length === 0 || path[0] === "*";
    if (isFreed && (isWhole || isOfLibrary(this, name))) this.end(name);
    else if (isFreed && ts.isIdentifier(name) && endsItself(this, name)) this.stop();
    else this.bind(name, path);
  }

  #iterated(node: ts.Expression, loop: ts.ForOfStatement, path: Path): void {
    if (loop.expression !== node) return;
    const inner = this.iterated(node, path);
    if (!inner) return;
    const { initializer } = loop;
    if (!ts.isVariableDeclarationList(initializer)) store(this, initializer, inner);
    else for (const turn of initializer.declarations) this.#declared(turn, inner);
  }

  #yielded(node: ts.YieldExpression, path: Path): void {
    const fn = enclosingFunction(node);
    const inner = node.asteriskToken ? path : ["*", ...path];
    if (fn && hasBody(fn) && (!fn.name || !ts.isComputedPropertyName(fn.name)))
      this.toCallers(fn, inner);
    else this.stop(); // `*[Symbol.iterator]()`: whoever goes over the object
  }

  /** A name or pattern that is given what has the value under a path. */
  bind(name: ts.BindingName, path: Path): void {
    if (ts.isIdentifier(name)) {
      this.named(name.parent as ts.Declaration, name, path);
      return;
    }
    if (path.length === 0 && isHolder(this.owned.owner, this.session.settings)) this.stop();
    for (const element of name.elements) {
      if (!ts.isBindingElement(element)) continue;
      const { propertyName, dotDotDotToken, name: inner } = element;
      if (dotDotDotToken) this.bind(inner, path);
      else if (path.length === 0) {
        if (ts.isArrayBindingPattern(name)) this.bind(inner, path); // a pair of a table
      } else if (!ts.isArrayBindingPattern(name) || path[0] === "*") {
        const key = propertyName ?? (ts.isIdentifier(inner) ? inner : undefined);
        if (ts.isArrayBindingPattern(name) || !key || leadsTo(nameOf(key), path))
          this.bind(inner, path.slice(1));
      }
    }
  }

  /** A variable or parameter has the value under a path. */
  named(declaration: ts.Declaration, name: ts.Identifier, path: Path): void {
    this.later(declaration, path, "name", () => {
      const home = ts.isParameter(declaration)
        ? declaration.parent
        : (enclosingFunction(declaration) ?? declaration.getSourceFile());
      const ids = ts.isSourceFile(home)
        ? this.isWhole && tableMentions(this.session.oracle, declaration, name, path)
        : referencesTo(this.session.oracle, declaration, name, home);
      if (!ids) this.stop(); // may last as long as the program
      if (!ids || this.#isOver) return;
      this.found(declaration, path);
      const isGiven = ids.some(isTarget);
      for (const id of ids) {
        if (isGiven && ts.isIdentifier(id) && isOfAnother(this.session, id)) continue;
        const isOff = !this.isWhole && isCarriedOff(this.session, id, home);
        if (isOff && !isDueAnEnd(this.session, declaration)) this.stop();
        this.climb(id, path);
      }
      if (
        ts.isParameter(declaration) &&
        ts.isParameterPropertyDeclaration(declaration, declaration.parent)
      )
        inField(this, declaration, path);
    });
  }

  /** What a function returns goes to whoever calls it. */
  returned(fn: ts.Node | undefined, path: Path): void {
    if (!fn || !hasBody(fn) || ts.isConstructorDeclaration(fn)) {
      this.stop();
      return;
    }
    if (fn.asteriskToken) return;
    const call = handedTo(fn);
    if (call) callbackResult(this, call, fn, path);
    else this.toCallers(fn, path);
  }

  /** All calls of a function have the value under a path. */
  toCallers(fn: FunctionWithBody, path: Path): void {
    this.later(fn, path, "callers", () => {
      if (ts.isGetAccessor(fn)) {
        inField(this, fn, path);
        return;
      }
      if (isCalledThrough(this.session, fn)) {
        this.stop(); // `model.call(x)` gives what `forward` does, and is new itself
        return;
      }
      const handed = new Set<CallLike>();
      const calls = callsOf(this, fn, handed);
      if (calls) for (const call of handed) callbackResult(this, call, fn, path);
      if (handed.size > 0 && calls?.length === 0) return;
      const isNeverCalled = calls?.length === 0;
      const isMethod = ts.isMethodDeclaration(fn) && !isOfObject(fn);
      if (isNeverCalled && isOfObject(fn)) this.#giver = fn;
      else if (this.isWhole && isNeverCalled && isMethod && givesForGood(this.session, fn))
        this.end(fn);
      else if (this.isWhole && isNeverCalled && isMethod) this.#giver = fn;
      else if (!calls || calls.length === 0) this.stop();
      else for (const call of calls) this.climb(call, path);
    });
  }
}
