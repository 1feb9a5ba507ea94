/**
 * All calls: for everything that users can name, one call that works, found by trying what the
 * types allow or taken from the recipes; then that call with one thing at a time replaced.
 */
import type ts from "typescript";
import * as core from "tenure";
import * as data from "tenure/data";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import * as scheduler from "tenure/scheduler";
import * as testing from "tenure/testing";
import { Candidates } from "./candidates.ts";
import { type Callee, type Declarations, type Parameter } from "./declarations.ts";
import type { Make } from "./environment.ts";
import { type Hostile, hostiles } from "./hostile.ts";
import { type Invocation, perform } from "./judge.ts";
import type { Recipe, Recipes } from "./recipes.ts";

const modules: Readonly<Record<string, unknown>> = {
  tenure: core,
  "tenure/data": data,
  "tenure/nn": nn,
  "tenure/optim": optim,
  "tenure/scheduler": scheduler,
  "tenure/testing": testing,
};

/** So many combinations are tried for a call that works. */
const attempts = 1500;

/** A callee with a call that works. */
export interface Working extends Invocation {
  readonly callee: Callee;
  readonly parameters: readonly Parameter[];
}

/** One hostile call. */
export interface Case {
  readonly label: string;
  readonly hostile: string;
  readonly name: string;
  readonly invocation: Invocation;
}

/** Finds working calls and makes hostile ones of them. */
export class Trial {
  readonly #declarations: Declarations;
  readonly #candidates: Candidates;
  readonly #instances = new Map<ts.Symbol, readonly Make[]>();
  readonly #working = new Map<Callee, Working>();
  readonly #recipes: Recipes;

  constructor(declarations: Declarations, recipes: Recipes) {
    this.#declarations = declarations;
    this.#recipes = recipes;
    this.#candidates = new Candidates(declarations.checker, (symbol) => this.#instancesOf(symbol));
  }

  /** Finds a call for each callee. @returns those that work, and why each of the others does not */
  async find(): Promise<{ working: Working[]; missing: string[] }> {
    const missing: string[] = [];
    const callees = this.#declarations.callees.filter((callee) => !isError(callee));
    for (const callee of [...callees].sort((a, b) => rank(a) - rank(b))) {
      const found = await this.#search(callee);
      if (this.#recipes.refusing.has(callee.name)) continue;
      if (typeof found === "string") missing.push(`${callee.name}: ${found}`);
      else this.#working.set(callee, found);
      if (callee.kind === "constructor" && typeof found !== "string") this.#remember(callee, found);
    }
    return { working: [...this.#working.values()], missing };
  }

  /** Every hostile call. */
  *cases(working: readonly Working[]): Generator<Case> {
    for (const one of working) {
      yield* this.#onDisposed(one);
      for (let i = 0; i < one.parameters.length; i++) yield* this.#atParameter(one, i);
    }
  }

  #remember(callee: Callee, found: Working): void {
    const symbol = [...this.#declarations.classes.values()].find(
      ({ name }) => name === callee.name,
    );
    if (symbol === undefined) return;
    this.#instances.set(symbol.symbol, [
      (env) => {
        const thing = found.call(
          undefined,
          found.args.map((make) => make(env)),
        );
        return isDisposable(thing) ? env.keep(thing) : thing;
      },
    ]);
  }

  #instancesOf(symbol: ts.Symbol): readonly Make[] {
    const recipe = this.#recipes.instances[symbol.name];
    return recipe !== undefined ? [recipe] : (this.#instances.get(symbol) ?? []);
  }

  async #search(callee: Callee): Promise<Working | string> {
    const recipe = this.#recipeOf(callee);
    let why = "no candidates";
    for (const parameters of callee.signatures) {
      const required = parameters.filter(({ optional, rest }) => !optional || (rest && recipe));
      const receivers =
        recipe?.receiver !== undefined ? [recipe.receiver] : this.#receivers(callee);
      if (onReceiver(callee) && receivers.length === 0) {
        why = "no instance";
        continue;
      }
      const lists =
        recipe?.args !== undefined
          ? recipe.args.map((make) => [make])
          : required.map(({ type }) => this.#candidates.of(type));
      const shape = onReceiver(callee) ? [receivers, ...lists] : lists;
      for (const indices of combinations(shape.map(({ length }) => length))) {
        const makes = indices.map((k, i) => shape[i]?.[k] ?? (() => undefined));
        const working = this.#invocation(callee, parameters, makes);
        const outcome = await perform(working);
        if (!outcome.threw) return working;
        why = String(outcome.error).slice(0, 200);
      }
    }
    return why;
  }

  /** A recipe for the callee, for `call` that of `forward`, or one for all classes of an entry. */
  #recipeOf({ name }: Callee): Recipe | undefined {
    const { calls } = this.#recipes;
    const [, entry, method = ""] = /^(nn|optim)\.\w+\.(\w+)$/.exec(name) ?? [];
    return (
      calls[name] ?? calls[name.replace(/\.call$/, ".forward")] ?? calls[`${entry}.*.${method}`]
    );
  }

  #receivers({ owner, of }: Callee): readonly Make[] {
    const giver = of && this.#working.get(of);
    if (giver !== undefined) return [resultOf(giver)];
    if (owner === undefined) return [];
    const type = this.#declarations.checker.getDeclaredTypeOfSymbol(owner);
    const own = this.#instancesOf(owner);
    return own.length > 0 ? own : this.#candidates.of(type);
  }

  #invocation(callee: Callee, parameters: readonly Parameter[], makes: readonly Make[]): Working {
    const method = onReceiver(callee);
    return {
      callee,
      parameters,
      receiver: method ? makes[0] : undefined,
      args: method ? makes.slice(1) : makes,
      takes: callee.takes,
      call: caller(callee),
    };
  }

  *#onDisposed(one: Working): Generator<Case> {
    const { receiver, callee } = one;
    if (receiver === undefined) return;
    const make: Make = (env) => {
      const thing = receiver(env);
      if (isDisposable(thing)) thing[Symbol.dispose]();
      return thing;
    };
    const invocation = { ...one, receiver: make, takes: true };
    yield { name: callee.name, label: `${callee.name} after dispose`, hostile: "", invocation };
  }

  *#atParameter(one: Working, at: number): Generator<Case> {
    const parameter = one.parameters[at];
    if (parameter === undefined) return;
    const { name } = one.callee,
      valid = one.args[at];
    const replace = (make: (hostile: Hostile) => Make, where: string): Case[] =>
      hostiles.map((hostile) => ({
        name,
        label: `${name}(${where})`,
        hostile: hostile.name,
        invocation: { ...one, args: replaced(one.args, at, make(hostile)) },
      }));
    yield* replace((hostile) => (env) => hostile.make(env), parameter.name);
    for (const option of this.#candidates.options(parameter.type))
      yield* replace(
        (hostile) => (env) => ({ ...(valid?.(env) as object), [option]: hostile.make(env) }),
        `${parameter.name}.${option}`,
      );
    if (this.#candidates.isList(parameter.type) && !parameter.rest && valid !== undefined)
      yield* replace(
        (hostile) => (env) => {
          const list: unknown = valid(env);
          const others: readonly unknown[] = Array.isArray(list) ? list.slice(0, -1) : [];
          return [...others, hostile.make(env)];
        },
        `${parameter.name}[]`,
      );
  }
}

function replaced(args: readonly Make[], at: number, make: Make): Make[] {
  const length = Math.max(args.length, at + 1);
  return Array.from({ length }, (_, i) => (i === at ? make : (args[i] ?? (() => undefined))));
}

/** Whether something is called on an instance, or is itself what another call gave. */
function onReceiver({ owner, of }: Callee): boolean {
  return owner !== undefined || of !== undefined;
}

/** Makes what a working call gives. */
function resultOf(giver: Working): Make {
  return async (env) => {
    const holder = await giver.receiver?.(env);
    const result = await giver.call(
      holder,
      giver.args.map((make) => make(env)),
    );
    return isDisposable(result) ? env.keep(result) : result;
  };
}

/** How a callee is called. */
function caller({ kind, entry, path, owner, of }: Callee): Invocation["call"] {
  const key = path.at(-1) ?? "";
  if (kind === "result")
    return (receiver, args) => (receiver as (...list: readonly unknown[]) => unknown)(...args);
  if (owner !== undefined || of !== undefined)
    return (receiver, args) => {
      const target = receiver as Record<string | symbol, unknown>;
      if (kind === "getter") return target[key];
      if (kind === "setter") {
        target[key] = args[0];
        return undefined;
      }
      return (target[key] as (...list: readonly unknown[]) => unknown)(...args);
    };
  const holder = path
    .slice(0, -1)
    .reduce<unknown>(
      (at, name) => (at as Record<string | symbol, unknown>)[name],
      modules[entry],
    ) as Record<string | symbol, unknown>;
  if (kind === "constructor")
    return (_, args) => Reflect.construct(holder[key] as new () => object, args) as unknown;
  return (_, args) =>
    (holder[key] as (...list: readonly unknown[]) => unknown).call(holder, ...args);
}

/** Constructors before what needs instances; containers after what they contain; results last. */
function rank({ kind, entry, of }: Callee): number {
  if (of !== undefined) return 4 + rank(of);
  return kind === "constructor" ? (entry === "tenure/nn" ? 0 : 1) : kind === "function" ? 2 : 3;
}

/** The classes of errors are thrown by the library, and made by nobody else. */
function isError({ name }: Callee): boolean {
  return /(^|\.)\w+Error(\.|$)/.test(name);
}

function isDisposable(value: unknown): value is Disposable {
  const held = (typeof value === "object" || typeof value === "function") && value !== null;
  return held && Symbol.dispose in value;
}

/** Index lists with the smallest sums first. */
function* combinations(lengths: readonly number[]): Generator<readonly number[]> {
  const most = lengths.reduce((sum, n) => sum + n - 1, 0);
  let left = attempts;
  for (let sum = 0; sum <= most; sum++)
    for (const list of withSum(lengths, sum)) {
      if (left-- <= 0) return;
      yield list;
    }
}

function* withSum(lengths: readonly number[], sum: number): Generator<readonly number[]> {
  const [first, ...rest] = lengths;
  if (first === undefined) {
    if (sum === 0) yield [];
    return;
  }
  for (let k = Math.min(first - 1, sum); k >= 0; k--)
    for (const list of withSum(rest, sum - k)) yield [k, ...list];
}
