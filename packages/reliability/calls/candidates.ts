/**
 * Valid values for types: for each type of a parameter a short list of ways to make one, the
 * simplest first. What the types do not say (which shapes go together) is found by trying.
 */
import ts from "typescript";
import { Tensor, arange, newDisposeScope, tensor, zeros } from "tenure";
import { Linear } from "tenure/nn";
import { SGD, StepLR } from "tenure/optim";
import { type Environment, type Make, isTensor } from "./environment.ts";

/** What makes instances of a class that users can name. */
export type InstanceOf = (symbol: ts.Symbol) => readonly Make[];

const shapes: readonly Make[] = [
  (env) => env.tensor(zeros([2, 3])),
  (env) => env.tensor(zeros([3, 3])),
  (env) => env.tensor(zeros([2], { dtype: "int32" })),
  (env) => env.tensor(zeros([3])),
  (env) => env.tensor(arange(6, undefined, 1, { dtype: "int32" }).reshape(2, 3)),
  (env) => env.tensor(zeros([1, 3, 6])),
  (env) => env.tensor(zeros([1, 3, 6, 6])),
  (env) =>
    env.tensor(
      tensor([
        [true, false, true],
        [true, true, false],
      ]),
    ),
  (env) => env.tensor(zeros([2, 3, 3])),
  (env) => env.tensor(zeros([], { requiresGrad: true })),
  (env) => env.tensor(zeros([2])),
];

const numbers = [3, 1, 2, 0, 0.5, -1];

/** Classes and interfaces of which an instance is known. */
const known: Readonly<Record<string, readonly Make[]>> = {
  Tensor: shapes,
  Wrapping: shapes,
  HandleHolder: shapes,
  Module: [(env) => env.keep(new Linear(3, 3))],
  Optimizer: [(env) => env.keep(optimizer(env))],
  Scheduled: [(env) => env.keep(optimizer(env))],
  Stepping: [(env) => env.keep(optimizer(env))],
  Schedule: [(env) => new StepLR(env.keep(optimizer(env)), { stepSize: 2 })],
  DisposeScope: [(env) => env.keep(newDisposeScope("argument"))],
  Disposable: [() => ({ [Symbol.dispose]: () => undefined })],
  Uint8Array: [() => new Uint8Array(8)],
  Float32Array: [() => new Float32Array(6)],
  ArrayBuffer: [() => new ArrayBuffer(8)],
  Map: [() => new Map()],
  Set: [() => new Set()],
  Promise: [() => Promise.resolve(1)],
  PromiseLike: [() => Promise.resolve(1)],
  Date: [() => new Date(0)],
  Error: [() => new Error("given")],
};

function optimizer(env: Environment): SGD {
  return new SGD([env.tensor(zeros([3], { requiresGrad: true }))], { lr: 0.1 });
}

/** Makes values of types. */
export class Candidates {
  readonly #checker: ts.TypeChecker;
  readonly #instanceOf: InstanceOf;

  constructor(checker: ts.TypeChecker, instanceOf: InstanceOf) {
    this.#checker = checker;
    this.#instanceOf = instanceOf;
  }

  /** Ways to make a value of a type. */
  of(type: ts.Type, depth = 0): readonly Make[] {
    const { flags } = type;
    if (depth > 6) return [() => undefined];
    if (type.isUnion()) return this.#union(type, depth);
    if (type.isLiteral()) return [() => type.value];
    if (flags & ts.TypeFlags.BooleanLiteral)
      return [() => this.#checker.typeToString(type) === "true"];
    if (flags & ts.TypeFlags.NumberLike) return numbers.map((n) => () => n);
    if (flags & ts.TypeFlags.StringLike) return [() => "a"];
    if (flags & ts.TypeFlags.BooleanLike) return [() => true, () => false];
    if (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return [() => undefined];
    if (flags & ts.TypeFlags.Null) return [() => null];
    if (flags & ts.TypeFlags.TypeParameter) return this.#parameter(type, depth);
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return [() => 1, shapes[0] ?? (() => 1)];
    if (flags & ts.TypeFlags.NonPrimitive) return shapes;
    return this.#object(type, depth);
  }

  /** The names of a type's properties, when it is a bag of options. */
  options(type: ts.Type): readonly string[] {
    const bag = this.#checker.getNonNullableType(type);
    const parts = bag.isUnion() ? bag.types : [bag];
    return [...new Set(parts.flatMap((part) => (this.#isBag(part) ? namesOf(part) : [])))];
  }

  /** Whether a type has elements that can be replaced one at a time. */
  isList(type: ts.Type): boolean {
    const bare = this.#checker.getNonNullableType(type);
    return (bare.isUnion() ? bare.types : [bare]).some(
      (part) => this.#checker.isArrayType(part) || this.#checker.isTupleType(part),
    );
  }

  #isBag(type: ts.Type): boolean {
    const name = type.symbol?.name ?? "";
    return (
      (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0 &&
      !type.isClass() &&
      type.getCallSignatures().length === 0 &&
      !this.#checker.isArrayType(type) &&
      !this.#checker.isTupleType(type) &&
      known[name] === undefined &&
      !/Iter|Generator|Array/.test(name)
    );
  }

  #union(type: ts.UnionType, depth: number): readonly Make[] {
    const lists = type.types.map((part) => this.of(part, depth + 1));
    const empty = ts.TypeFlags.Undefined | ts.TypeFlags.Null;
    const real = lists.filter((_, i) => ((type.types[i]?.flags ?? 0) & empty) === 0);
    const nothing = lists.filter((list) => !real.includes(list));
    // The first of each, then the second of each, and so on.
    const deepest = Math.max(...real.map(({ length }) => length));
    const turns = Array.from({ length: deepest }, (_, k) => real.flatMap((l) => l.slice(k, k + 1)));
    return [...turns.flat(), ...nothing.flat()];
  }

  #parameter(type: ts.Type, depth: number): readonly Make[] {
    const constraint = this.#checker.getBaseConstraintOfType(type);
    return constraint === undefined ? [() => 1] : this.of(constraint, depth + 1);
  }

  #object(type: ts.Type, depth: number): readonly Make[] {
    if (this.#checker.isTupleType(type)) return this.#tuple(type as ts.TupleTypeReference, depth);
    if (this.#checker.isArrayType(type)) return this.#list(this.#element(type), depth);
    const symbol = type.symbol as ts.Symbol | undefined;
    if (symbol !== undefined) {
      const file = symbol.valueDeclaration?.getSourceFile().fileName ?? "";
      if (file.includes("/tensor/methods/")) return shapes;
      const instances = known[symbol.name] ?? this.#instanceOf(symbol);
      if (instances.length > 0) return instances;
      if (/^(Async)?(Iterable|Iterator|IterableIterator|Generator)$/.test(symbol.name))
        return this.#iterable(type, symbol.name, depth);
    }
    const [signature] = type.getCallSignatures();
    if (signature !== undefined) return this.#callback(signature, depth);
    return this.#bag(type, depth);
  }

  #element(type: ts.Type): ts.Type {
    const [element] = this.#checker.getTypeArguments(type as ts.TypeReference);
    if (element === undefined) throw new Error("an array type without an element");
    return element;
  }

  #tuple(type: ts.TupleTypeReference, depth: number): readonly Make[] {
    const items = this.#checker.getTypeArguments(type).map((item) => this.of(item, depth + 1));
    const most = Math.min(6, Math.max(1, ...items.map(({ length }) => length)));
    return Array.from(
      { length: most },
      (_, k) => (env: Environment) => items.map((l) => l[Math.min(k, l.length - 1)]?.(env)),
    );
  }

  #list(element: ts.Type, depth: number): readonly Make[] {
    const of = this.of(element, depth + 1);
    if (element.flags & ts.TypeFlags.NumberLike)
      return [[2, 3], [3], [1, 2], [0, 1], [1], [0], [2, 3, 3], []].map((list) => () => [...list]);
    return of.flatMap((make) => [
      (env: Environment) => [make(env), make(env)],
      (env: Environment) => [make(env)],
    ]);
  }

  #iterable(type: ts.Type, name: string, depth: number): readonly Make[] {
    const [element] = this.#checker.getTypeArguments(type as ts.TypeReference);
    if (element === undefined) return [];
    const lists = this.#list(element, depth).slice(0, 8);
    if (!name.endsWith("Generator")) return lists;
    return lists.map(
      (list) =>
        function* (env: Environment) {
          yield* list(env) as unknown[];
        },
    );
  }

  /** Functions that give what they should: made of their first tensor, or made anew. */
  #callback(signature: ts.Signature, depth: number): readonly Make[] {
    const result = signature.getReturnType(),
      name = (result.symbol as ts.Symbol | undefined)?.name ?? "";
    if (name.endsWith("Generator"))
      return [
        () =>
          function* () {
            yield 1;
            return 1;
          },
      ];
    const async = name === "Promise";
    const [inner = result] = async
      ? this.#checker.getTypeArguments(result as ts.TypeReference)
      : [];
    const made = this.of(inner, depth + 1).slice(0, 4);
    const wrap =
      (fn: (env: Environment, args: readonly unknown[]) => unknown): Make =>
      (env) =>
        async
          ? async (...args: unknown[]) => Promise.resolve(fn(env, args))
          : (...args: unknown[]) => fn(env, args);
    const first = made[0];
    return [
      wrap((env, args) => {
        const [t] = args.filter(isTensor);
        return t !== undefined && first?.(env) instanceof Tensor ? t.sum() : first?.(env);
      }),
      ...made.map((make) => wrap((env) => make(env))),
    ];
  }

  /** An object with its required properties. */
  #bag(type: ts.Type, depth: number): readonly Make[] {
    const index = this.#checker.getIndexInfoOfType(type, ts.IndexKind.String);
    if (index !== undefined && type.getProperties().length === 0)
      return this.of(index.type, depth + 1).map((make) => (env: Environment) => ({ a: make(env) }));
    const required = type
      .getProperties()
      .filter((p) => (p.flags & ts.SymbolFlags.Optional) === 0 && !p.name.startsWith("__"))
      .map((p) => [p.name, this.of(this.#checker.getTypeOfSymbol(p), depth + 1)] as const);
    const most = Math.min(4, Math.max(1, ...required.map(([, list]) => list.length)));
    return Array.from(
      { length: most },
      (_, k) => (env: Environment) =>
        Object.fromEntries(
          required.map(([name, list]) => [name, list[Math.min(k, list.length - 1)]?.(env)]),
        ),
    );
  }
}

function namesOf(type: ts.Type): string[] {
  return type
    .getProperties()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("__"));
}
