/**
 * One call, and what must hold after it: a result or an error of the library that reads as errors
 * do, arguments as alive as before, the books right, nothing left behind.
 */
import { Tensor, TenureError, memory, newDisposeScope } from "tenure";
import * as nn from "tenure/nn";
import { CallersError, Environment, type Make } from "./environment.ts";

/** A call that can be made again and again. */
export interface Invocation {
  readonly receiver: Make | undefined;
  readonly args: readonly Make[];
  /** It ends what it is given. */
  readonly takes: boolean;
  call(receiver: unknown, args: readonly unknown[]): unknown;
}

/** What became of a call. */
export interface Outcome {
  readonly threw: boolean;
  readonly error: unknown;
  /** The arguments themselves could not be made. */
  readonly unmade: boolean;
  readonly problems: readonly string[];
}

/** A call may compute so many milliseconds, whatever else the machine does. */
const computing = 2000;
/** A promise may take so many milliseconds to settle. */
const patience = 20_000;

/** Makes one call, frees everything, and looks at what is left. */
export async function perform(invocation: Invocation): Promise<Outcome> {
  const before = books();
  const outcome = {
    threw: false,
    error: undefined as unknown,
    unmade: false,
    problems: [] as string[],
  };
  const scope = newDisposeScope("call");
  const started = process.cpuUsage();
  await scope.run(async () => {
    const env = new Environment();
    let made: { receiver: unknown; args: unknown[] };
    try {
      env.receiver = await invocation.receiver?.(env);
      made = { receiver: env.receiver, args: invocation.args.map((m) => m(env)) };
    } catch (error) {
      Object.assign(outcome, { threw: true, error, unmade: true });
      free(env, scope, outcome.problems);
      return;
    }
    env.seal();
    try {
      const result = await settled(invocation.call(made.receiver, made.args), outcome.problems);
      checkAlive(env, invocation, outcome.problems);
      await freeResult(result, scope, new Set([made.receiver, ...made.args]));
    } catch (error) {
      outcome.threw = true;
      outcome.error = error;
      checkAlive(env, invocation, outcome.problems);
    }
    free(env, scope, outcome.problems);
  });
  scope.dispose();
  const { user, system } = process.cpuUsage(started);
  if (user + system > 1000 * computing) outcome.problems.push("took more than 2 s");
  compare(before, outcome.problems);
  return outcome;
}

function checkAlive(env: Environment, { takes }: Invocation, problems: string[]): void {
  const lost = takes ? undefined : env.lost();
  if (lost !== undefined) problems.push(`an argument was lost: ${lost.toString()}`);
}

function free(env: Environment, scope: { readonly disposed: boolean }, problems: string[]): void {
  if (scope.disposed) return;
  for (const error of env.end()) {
    const wrong = wrongError(error);
    if (wrong !== undefined) problems.push(`at the end: ${wrong}`);
  }
}

async function settled(result: unknown, problems: string[]): Promise<unknown> {
  if (!isThenable(result)) return result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => {
      problems.push("the promise did not settle");
      resolve(undefined);
    }, patience);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Ends what a call gave back: containers, scopes, iterators, also inside lists and objects. */
async function freeResult(
  result: unknown,
  scope: object,
  given: ReadonlySet<unknown>,
  depth = 0,
): Promise<void> {
  if (typeof result !== "object" || result === null || depth > 3) return;
  if (result === scope || given.has(result)) return;
  const thing = result as Partial<Disposable> & { next?: unknown; return?: () => unknown };
  if (typeof thing[Symbol.dispose] === "function") thing[Symbol.dispose]?.();
  else if (typeof thing.next === "function") {
    await (thing.next as () => unknown)();
    await thing.return?.();
  } else if (depth === 0 || Array.isArray(result))
    for (const inner of Object.values(result).slice(0, 100))
      await freeResult(inner, scope, given, depth + 1);
}

interface Books {
  readonly live: number;
  readonly storages: number;
  readonly prototypes: string;
}

function books(): Books {
  const { threadTotalLiveCount, storages } = memory.stats();
  return { live: threadTotalLiveCount, storages, prototypes: prototypes() };
}

/** How many names the prototypes have that everything shares. */
function prototypes(): string {
  return [Object, Array, Function, Map, Promise, Error]
    .map(({ prototype }) => Reflect.ownKeys(prototype as object).length)
    .join();
}

function compare(before: Books, problems: string[]): void {
  const after = books();
  if (after.live !== before.live) problems.push(`${after.live - before.live} handles are left`);
  else if (after.storages !== before.storages)
    problems.push(`${after.storages - before.storages} storages are left`);
  if (after.prototypes !== before.prototypes) problems.push("a prototype was polluted");
  try {
    memory.verify();
  } catch (error) {
    problems.push(String(error));
  }
}

/** What is wrong with an error; undefined for one as it should be. */
export function wrongError(error: unknown): string | undefined {
  if (error instanceof CallersError) return undefined;
  if (!(error instanceof Error)) return `threw a ${typeof error}`;
  // A class that is called as a function refuses by itself.
  if (error.message.startsWith("Class constructor")) return undefined;
  // What the file system says comes through as it is.
  if ("code" in error && "syscall" in error) return undefined;
  if (!(error instanceof TenureError)) return shortened(`${error.name}: ${error.message}`);
  const { message } = error;
  if (message.includes("internal:") || message.includes("[object "))
    return `says ${shortened(message)}`;
  if (message.length > 1000) return `says too much: ${shortened(message)}`;
  if (!message.startsWith(`${error.op}: `)) return `does not name its op: ${shortened(message)}`;
  if ("expected" in error && !/: expected [^]+, got [^]+; [^]+$/.test(message))
    return `does not say what to do: ${shortened(message)}`;
  return undefined;
}

/** These speak under another name, each for a reason. */
const otherNames: Readonly<Record<string, RegExp>> = {
  "defineOp()": /^own$/, // the name that the caller gave
  "nn.functional.reduceLoss": /^/, // the name that the caller passes
  "scheduler.plan": /^relu$/, // the op that does not fit
  "data.collated().load": /^stackSamples$/, // where no other function stacks them
  "data.collated().batch": /^(stackSamples|DataLoader)$/,
};

/**
 * Whether an error begins with what was called: the function, or the class of a method. A layer
 * speaks under the names of what it is made of.
 */
export function wrongName(callee: string, error: unknown): string | undefined {
  if (!(error instanceof TenureError)) return undefined;
  const { op } = error,
    parts = callee.split("."),
    name = parts.at(-1) ?? "",
    owner = parts.find((part) => /^[A-Z]/.test(part));
  const own = [name, owner, `${owner}.${name}`, callee, parts.slice(-2).join(".")];
  if (own.includes(op) || own.includes(`${op}()`)) return undefined;
  if (callee.startsWith(`data.${op}().`) || otherNames[callee]?.test(op)) return undefined;
  if (op === "iterator") return undefined; // a tensor where a list belongs is walked along
  const madeOf = op in nn || op in nn.functional || op in Tensor.prototype;
  if (/^nn\.\w+\.(call|forward)$/.test(callee) && madeOf) return undefined;
  return `${callee} says ${shortened(error.message)}`;
}

function shortened(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
