/**
 * Holders: classes of the program that keep owned values in fields and have a method that frees
 * them, whatever it is called. Somebody must end their instances. Used by the oracle, which asks
 * for the ownership of the fields in turn, and by the verbs about what ends an object.
 */
import ts from "typescript";
import { heirsOf, implementersOf } from "../program/class-makers.ts";
import { isLeft, meansToEnd } from "./field-deeds.ts";
import { heldFields } from "./held-fields.ts";
import type { Owner } from "../../owner.ts";
import {
  endingOfLiteral,
  isNamedType,
  literalsOf,
  namedBy,
  type NamedType,
} from "./literal-holders.ts";
import type { Oracle } from "../program/oracle.ts";
import type { Owned, Ownership } from "../program/ownership.ts";
import {
  baseOf,
  isPrivate,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  wellKnownSymbol,
} from "../program/syntax.ts";

/** Names of methods that end an object where they speak of what it holds. */
const final = ["dispose", "@@dispose", "@@asyncDispose", "destroy"];
/** Names of those that do so where they end what it holds, and leave it so. */
const closing = new RegExp(
  "^(close|free|release|clear|reset|unload|terminate|stop|finish|end([A-Z]\\w*)?|" +
    "shut_?down|tear_?down|clean_?up)$",
  "i",
);

/** Whether a name is that of a method that ends an object. */
export const isEndingName = (name: string): boolean => final.includes(name) || closing.test(name);

/** What is asked about a class, its own members and those it inherits in the program. */
interface ClassQuestions {
  /** Whether what ends objects may have any name. */
  readonly anyName: boolean;
  /** The ownership of a field, by its name node. */
  ownedAt(name: ts.Node): Owned | null;
  declarationAt(node: ts.Node): ts.Declaration | undefined;
}

/** What classes of the program hold and are ended by, each asked for once. */
export class Holders {
  readonly #endings = new Map<ts.Node, string | undefined>();
  readonly #busy = new Set<ts.Node>();
  readonly #emptying = new Map<ts.Node, boolean>();
  readonly #ask: ClassQuestions;
  readonly #oracle: Oracle;
  readonly #ownership: Ownership;

  constructor(oracle: Oracle, ownership: Ownership, owners: readonly Owner[]) {
    this.#oracle = oracle;
    this.#ask = {
      anyName: owners.some(isByProtocol),
      ownedAt: (name) => oracle.ownedAt(name),
      declarationAt: (node) => oracle.declarationAt(node),
    };
    this.#ownership = ownership;
  }

  /** The name of what ends an instance of a class that holds owned values. */
  endingNameOf(node: ts.Declaration | undefined): string | undefined {
    if (!node || node.getSourceFile().isDeclarationFile) return undefined;
    if (!(ts.isClassLike(node) || ts.isObjectLiteralExpression(node) || isNamedType(node)))
      return undefined;
    if (this.#endings.has(node)) return this.#endings.get(node);
    if (this.#busy.has(node)) {
      this.#ownership.cut();
      return undefined; // what else it holds decides
    }
    this.#busy.add(node);
    const before = this.#ownership.cuts;
    try {
      const found = ts.isClassLike(node)
        ? (endingNameOf(node, this.#ask) ?? this.#endingOfHeirs(node))
        : (this.#endingOfLiterals(node) ?? this.#endingOfImplementers(node));
      const complete = this.#ownership.cuts === before || this.#busy.size === 1;
      if (found !== undefined || complete) this.#endings.set(node, found);
      return found;
    } finally {
      this.#busy.delete(node);
    }
  }

  /**
   * `abstract class Step { dispose() {} }`: of whom a heir holds something, any may. By protocol
   * only: GPU objects of a library hold each other by their bases, and end few of them.
   */
  #endingOfHeirs(node: ts.ClassLikeDeclaration): string | undefined {
    if (!this.#ask.anyName || !hasModifier(node, ts.ModifierFlags.Abstract)) return undefined;
    const isEnd = (m: ts.ClassElement): boolean =>
      m.name !== undefined && final.includes(memberName(m.name)) && !isPrivate(m);
    if (!node.members.some(isEnd)) return undefined;
    return [...heirsOf(this.#oracle, node)]
      .map((heir) => this.endingNameOf(heir))
      .find((name) => name !== undefined);
  }

  /**
   * The name of what ends an object that a function returns, as its type or under a name. GPU
   * objects are ended by what is called so; other names mean too much.
   */
  #endingOfLiterals(node: ts.ObjectLiteralExpression | NamedType): string | undefined {
    const all = ts.isObjectLiteralExpression(node)
      ? [node]
      : literalsOf(this.#oracle, node, isEndingName);
    const counts = (owned: Owned): boolean => Array.isArray(owned.owner.types);
    const isEnding = (name: string): boolean =>
      this.#ask.anyName ? isEndingName(name) : final.includes(name);
    const [first, ...others] = all.map((literal) =>
      endingOfLiteral(literal, { ...this.#ask, isEndingName: isEnding, counts }),
    );
    return others.every((other) => other === first) ? first : undefined;
  }

  /** `interface Pass { dispose(): void }`: all classes that implement it hold something. */
  #endingOfImplementers(node: ts.ObjectLiteralExpression | NamedType): string | undefined {
    if (ts.isObjectLiteralExpression(node)) return undefined;
    const named = namedBy(node);
    if (
      !named ||
      !node.members.some((m) => m.name !== undefined && final.includes(memberName(m.name)))
    )
      return undefined;
    const [first, ...others] = implementersOf(this.#oracle, named).map((c) => this.endingNameOf(c));
    return first !== undefined && others.every((other) => other === first) ? first : undefined;
  }

  /** Whether a method of a class ends what one of its fields holds, or empties it for good. */
  endsWhatIsHeld(method: ts.Node): boolean {
    if (!ts.isMethodDeclaration(method) || !ts.isClassLike(method.parent)) return false;
    let found = this.#emptying.get(method);
    if (found === undefined)
      this.#emptying.set(method, (found = endsHeld(method, method.parent, this.#ask)));
    return found;
  }
}

/** The method that ends an object of a class: "dispose", or what the class calls it. */
function endingNameOf(node: ts.ClassLikeDeclaration, ask: ClassQuestions): string | undefined {
  const line = lineage(node, ask);
  const bodies = bodiesOf(line);
  const ends = final.flatMap((name) => bodies.get(name) ?? []);
  const others = (ask.anyName ? [...bodies] : []).filter(
    ([name, m]) => closing.test(name) && takesNothing(m),
  );
  const deeds = ask.anyName ? [...bodies].filter(([name, m]) => isDeed(name, m)) : [];
  if (ends.length + others.length + deeds.length === 0) return undefined;
  const fields = heldFields(line, ask);
  if (fields.size === 0) return undefined;
  if (ends.some(readerOf(fields, bodies))) {
    const isNamed = final.slice(0, 3).some((name) => bodies.has(name));
    return isNamed ? "dispose" : "destroy";
  }
  const found =
    others.find(([, m]) => endsSome(m, fields, bodies)) ??
    deeds.find(([, m]) => endsAll(m, fields, bodies));
  return found?.[0];
}

/** What an object may begin again after, or go on. */
const pausing = /^(clear|empty|reset|stop|pause|flush|drain|forget|suspend|sweep|trim|prune)/i;

/** A method of any other name that may turn out to end all that there is: `retire()`. */
const isDeed = (name: string, m: ts.MethodDeclaration): boolean =>
  !name.startsWith("@@") &&
  !pausing.test(name) &&
  !closing.test(name) &&
  takesNothing(m) &&
  !givesObject(m);

/** `lease() { this.count++; return { end: () => this.settle() }; }`: who gets that ends later. */
const givesObject = ({ body }: ts.MethodDeclaration): boolean =>
  body !== undefined &&
  body.statements.some(
    (s) =>
      ts.isReturnStatement(s) &&
      s.expression !== undefined &&
      ts.isObjectLiteralExpression(unwrap(s.expression)),
  );

function endsHeld(
  method: ts.MethodDeclaration,
  node: ts.ClassLikeDeclaration,
  ask: ClassQuestions,
): boolean {
  const line = lineage(node, ask);
  const run = methodsRun(method, bodiesOf(line));
  return [...heldFields(line, ask)].some(
    ([field, owned]) =>
      isLeft(run, field, false) && (meansToEnd(run, field, owned) || isLeft(run, field, true)),
  );
}

/** A class and those of the program that it extends, nearest first. */
export function lineage(
  node: ts.ClassLikeDeclaration,
  ask: Pick<ClassQuestions, "declarationAt">,
): ts.ClassLikeDeclaration[] {
  const found = [node];
  for (let base = baseOf(node); base && found.length < 6;) {
    const above = ask.declarationAt(base.expression);
    if (!above || !ts.isClassLike(above) || above.getSourceFile().isDeclarationFile) break;
    found.push(above);
    base = baseOf(above);
  }
  return found;
}

type Bodies = ReadonlyMap<string, ts.MethodDeclaration>;

/** The methods of a class by name, those of its bases where it has none of its own. */
function bodiesOf(line: readonly ts.ClassLikeDeclaration[]): Bodies {
  const found = new Map<string, ts.MethodDeclaration>();
  for (const m of line.flatMap((c) => [...c.members]))
    if (ts.isMethodDeclaration(m) && m.body && !found.has(memberName(m.name)))
      found.set(memberName(m.name), m);
  return found;
}

const takesNothing = (m: ts.MethodDeclaration): boolean =>
  !isPrivate(m) &&
  !hasModifier(m, ts.ModifierFlags.Static | ts.ModifierFlags.Protected) &&
  m.parameters.every((p) => p.initializer ?? p.questionToken);

const hasModifier = (m: ts.Declaration, flags: ts.ModifierFlags): boolean =>
  (ts.getCombinedModifierFlags(m) & flags) !== 0;

const isThis = (n: ts.Node): boolean => n.kind === ts.SyntaxKind.ThisKeyword;

/** Whether all have agreed on who ends a value: GPU objects may be left to the device. */
const isByProtocol = ({ policy, managers }: Owner): boolean =>
  policy !== "generic" || managers.length > 0;

/** An instance of a class of the program. */
const isHeld = ({ owner: { types } }: Owned): boolean => Array.isArray(types) && types.length === 0;

/** Whether methods end what a field holds that somebody must end, and leave it so. */
const endsField = (run: ReadonlySet<ts.Node>, [field, owned]: [string, Owned]): boolean =>
  (isByProtocol(owned.owner) || isHeld(owned)) &&
  isLeft(run, field, false) &&
  meansToEnd(run, field, owned);

const endsSome = (
  method: ts.MethodDeclaration,
  fields: ReadonlyMap<string, Owned>,
  bodies: Bodies,
): boolean => {
  const run = methodsRun(method, bodies);
  return [...fields].some((field) => endsField(run, field));
};

/** Whether a method ends what every field holds, which none gets later but from the constructor. */
const endsAll = (
  method: ts.MethodDeclaration,
  fields: ReadonlyMap<string, Owned>,
  bodies: Bodies,
): boolean => {
  const run = methodsRun(method, bodies);
  return [...fields].every(
    (field) =>
      endsField(run, field) && ![...bodies.values()].some((m) => someWithin(m, isGiven(field[0]))),
  );
};

/** `this.field = …`. */
const isGiven =
  (field: string) =>
  (n: ts.Node): boolean =>
    ts.isPropertyAccessExpression(n) &&
    isThis(n.expression) &&
    memberName(n.name) === field &&
    isTarget(n);

/** A method and those of the class it calls, directly or not. */
function methodsRun(method: ts.MethodDeclaration, bodies: Bodies): ReadonlySet<ts.Node> {
  const found = new Set<ts.Node>();
  const visit = (n: ts.Node): void => {
    const next = calledByThis(n, bodies);
    if (next) add(next);
    ts.forEachChild(n, visit);
  };
  const add = (m: ts.Node): void => {
    if (found.has(m)) return;
    found.add(m);
    visit(m);
  };
  add(method);
  return found;
}

function calledByThis(n: ts.Node, bodies: Bodies): ts.Node | undefined {
  if (!ts.isPropertyAccessExpression(n) && !ts.isElementAccessExpression(n)) return undefined;
  if (n.expression.kind !== ts.SyntaxKind.ThisKeyword) return undefined;
  if (ts.isPropertyAccessExpression(n)) return bodies.get(n.name.text);
  return bodies.get(`@@${wellKnownSymbol(n.argumentExpression) ?? ""}`);
}

/** Tells whether a method reads one of the fields, itself or through methods of the class. */
const readerOf =
  (fields: ReadonlyMap<string, Owned>, bodies: Bodies) =>
  (method: ts.MethodDeclaration): boolean => {
    if (isPrivate(method)) return false;
    const reads = (n: ts.Node): boolean =>
      (ts.isPropertyAccessExpression(n) &&
        n.expression.kind === ts.SyntaxKind.ThisKeyword &&
        fields.has(n.name.text)) ||
      (ts.forEachChild(n, (c) => reads(c) || undefined) ?? false);
    return [...methodsRun(method, bodies)].some(reads);
  };
