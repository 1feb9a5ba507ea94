/**
 * `compile`: a function that, once it has done the same thing twice, is not run again. Its ops are
 * recorded from a recording instead, which skips checks, handles, the tape and the backward pass.
 * Everything after that is as ever: the same program is planned, fused, flushed and run, in the
 * same place among others, inside a scheduler's step or not. Called by users. A compiled function
 * owns no tensor: parameters are their module's, results the caller's.
 *
 *     call ─► key ─► recording that fits ─► record its ops again
 *              └── none ──► run the function, watched ─► equal to the last time? then next time
 */
import "../compose.ts";
import { AsyncScopeError, DisposedError, TenureError } from "../base/errors.ts";
import { type OptionTable, checkFunction, off, readOptions } from "../base/options.ts";
import { phase } from "../ownership/log.ts";
import { ignoreRejection, isThenable } from "../ownership/owned.ts";
import { scoped } from "../ownership/scoped.ts";
import { countRepeat, repeatableOn } from "../tensor/dispatch.ts";
import { tensorState } from "../tensor/tensor-state.ts";
import { Capture } from "./capture.ts";
import { Arguments, type Given } from "./given.ts";
import { Repeats, Repetition } from "./at-once.ts";
import { type Recording, difference } from "./recording.ts";
import { misfit } from "./replay.ts";

/** Options of `compile`. */
export interface CompileOptions {
  /** What reports and messages call it; the function's own name if not given. */
  readonly name?: string;
  /**
   * Runs the function every time, and throws where a repetition would have done something else: for
   * tests, and when results look wrong. False by default.
   */
  readonly check?: boolean;
}

const compileOptions = { name: { type: "text" }, check: off } satisfies OptionTable<CompileOptions>;

/** What a compiled function has done so far. */
export interface CompileReport {
  readonly calls: number;
  /** Calls that were repeated from a recording. */
  readonly replays: number;
  /** Replays among them that recorded all their ops at once. */
  readonly atOnce: number;
  /** Replays that recorded op by op, by the reason. */
  readonly piecemeal: ReadonlyMap<string, number>;
  /** Recordings that calls are repeated from. */
  readonly recordings: number;
  /** Calls that ran the function, by the reason. */
  readonly reasons: ReadonlyMap<string, number>;
  /** The reason of the last call that ran the function, or null before the first. */
  readonly lastReason: string | null;
}

/** A function made by `compile`. */
export interface Compiled<A extends readonly unknown[], R> extends Disposable {
  (...args: A): R;
  /** What it has done so far. */
  report(): CompileReport;
  /** Forgets the recordings. It cannot be called any more; a second call does nothing. */
  dispose(): void;
}

/** Why a second call with arguments like those of the first is looked at. */
const once = "it was called once like this";

/** Recordings for one key at most; the one longest out of use goes first. */
const recordingsPerKey = 4;
/** Keys at most. */
const keysKept = 64;

/** A recording, and what it was made under. */
interface Known {
  recording: Recording;
  repetition: Repetition;
  /** Whether a second call did the same. */
  confirmed: boolean;
  device: object;
  changes: number;
  /** Arguments whose storage was the same in all calls: perhaps it is also used from outside. */
  fixed: readonly number[];
}

/**
 * A function that does what `fn` does, without running it once it did the same thing in two calls
 * with arguments of the same shapes, dtypes and plain values: its ops are then recorded again on
 * the tensors of the call. Results are fresh tensors of the caller's scope, without a graph: call
 * `backward()` inside. Parameters and other tensors that `fn` uses are updated in place, random ops
 * draw fresh numbers, optimizers and schedules make their steps with their rates of the moment.
 *
 * What does not happen again are the effects `fn` has outside this library (`console.log`, a
 * counter), and what it decides by values that are no arguments: pass what changes as an argument,
 * numbers that change often in a tensor. `check: true` finds what was forgotten. A call that cannot
 * be repeated runs `fn`, and says why in `report()` and under `TENURE_DEBUG=cache`.
 * @example
 * ```ts
 * using model = new Linear(4, 1);
 * using optimizer = new SGD(model.parameters(), { lr: 0.1 });
 * using train = compile((x: Tensor, y: Tensor) => {
 *   optimizer.zeroGrad();
 *   const loss = model.call(x).sub(y).square().mean();
 *   loss.backward();
 *   optimizer.step();
 *   return loss;
 * });
 * using x = ones([8, 4]);
 * using y = zeros([8, 1]);
 * for (let step = 0; step < 10; step++) train(x, y).dispose();
 * console.log(train.report().replays); // → 8
 * ```
 * @throws ArgumentError for anything but a function; AsyncScopeError, when called, for an `fn` that
 *   returns a promise; with `check`, TenureError naming what differs
 */
export function compile<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  options?: CompileOptions,
): Compiled<A, R> {
  checkFunction("compile", fn, "pass (x, y) => …");
  const { name = fn.name === "" ? "compiled function" : fn.name, check } = readOptions(
    "compile",
    options,
    compileOptions,
  );
  const own = new CompiledFunction(fn, name, check);
  const dispose = (): void => {
    own.dispose();
  };
  return Object.assign((...args: A): R => own.call(args), {
    report: () => own.report(),
    dispose,
    [Symbol.dispose]: dispose,
  });
}

/** A function and its recordings. */
class CompiledFunction<A extends readonly unknown[], R> {
  readonly #fn: (...args: A) => R;
  readonly #name: string;
  readonly #check: boolean;
  readonly #arguments = new Arguments();
  readonly #known = new Map<string, Known[]>();
  readonly #reasons = new Map<string, number>();
  #lastReason: string | null = null;
  readonly #repeats = new Repeats();
  #calls = 0;
  #replays = 0;
  #disposed = false;

  constructor(fn: (...args: A) => R, name: string, check: boolean) {
    this.#fn = fn;
    this.#name = name;
    this.#check = check;
  }

  report(): CompileReport {
    const all = [...this.#known.values()].flat();
    return {
      calls: this.#calls,
      replays: this.#replays,
      atOnce: this.#repeats.atOnce,
      piecemeal: new Map(this.#repeats.piecemeal),
      recordings: all.filter(({ confirmed }) => confirmed).length,
      reasons: new Map(this.#reasons),
      lastReason: this.#lastReason,
    };
  }

  dispose(): void {
    this.#disposed = true;
    this.#known.clear();
  }

  call(args: A): R {
    if (this.#disposed)
      throw new DisposedError(
        this.#name,
        "expected a live compiled function, got one that was disposed; compile it again",
        { created: undefined, disposed: undefined },
        { tensor: "compiled function", scope: undefined },
      );
    const { tape, observer, moduleObserver } = tensorState();
    if (tape.watcher !== null) return this.#run(args); // a part of what calls it
    this.#calls++;
    const device = repeatableOn();
    if (device === null)
      return this.#plain(args, "there is no device yet, or ops run one by one or are only traced");
    if (observer !== null || moduleObserver !== null)
      return this.#plain(args, "somebody looks at every op");
    const given = this.#arguments.read(args);
    const found = this.#fitting(given, device);
    if (typeof found === "string") return this.#record(args, given, device, found);
    if (this.#check)
      return scoped(() => this.#record(args, given, device, "it is checked", found), this.#name);
    this.#replays++;
    countRepeat(this.#name, null);
    const again = (): unknown => found.repetition.run(given);
    return scoped(() => phase(this.#name, again), this.#name) as R;
  }

  /** The recording for a call, or why there is none. */
  #fitting(given: Given, device: object): Known | string {
    if (given.refusal !== null) return given.refusal;
    const list = this.#known.get(given.key);
    if (list === undefined)
      return this.#known.size === 0
        ? "it is called for the first time"
        : "no call had arguments of these shapes, dtypes and values";
    let reason = once;
    for (const known of list) {
      if (!known.confirmed) continue;
      const why = unfit(known, given, device);
      if (why === null) return known;
      reason = why;
    }
    return reason;
  }

  #count(reason: string): void {
    this.#lastReason = reason;
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    countRepeat(this.#name, reason);
  }

  /** Runs the function, which has no `this`. */
  #run(args: A): R {
    const fn = this.#fn;
    return fn(...args);
  }

  /** Runs the function as if it were not compiled. */
  #plain(args: A, reason: string): R {
    this.#count(reason);
    return scoped(() => synchronous(this.#name, this.#run(args)), this.#name);
  }

  /** Runs the function, and sees what it does. `checked`: what it should do. */
  #record(args: A, given: Given, device: object, reason: string, checked?: Known): R {
    const capture = new Capture(given);
    let result: R;
    try {
      result = scoped((scope) => {
        const value = capture.watch(() => synchronous(this.#name, this.#run(args)));
        capture.returned(value, scope);
        return value;
      }, this.#name);
    } catch (error) {
      this.#count("it threw");
      throw error;
    }
    const recording = capture.recording();
    const why = capture.refusal;
    if (checked !== undefined) this.#compare(recording, checked, why);
    const other = recording === null ? why : this.#keep(given.key, recording, device);
    this.#count(why ?? (reason === once ? (other ?? once) : reason));
    return result;
  }

  /** @throws TenureError where a repetition would have done something else */
  #compare(now: Recording | null, { recording }: Known, why: string | null): void {
    const different = now === null ? why : difference(now, recording);
    if (different === null) return;
    throw new TenureError(
      this.#name,
      `expected to do what it did in earlier calls, but ${different}; ` +
        "pass what changes as an argument, or do not compile it",
    );
  }

  /**
   * Keeps a recording: it confirms one that is equal, or waits to be confirmed. @returns how it
   * differs from the one before it, if it does
   */
  #keep(key: string, recording: Recording, device: object): string | null {
    const { changes } = tensorState().tape;
    const list = this.#known.get(key) ?? [];
    this.#known.delete(key);
    this.#known.set(key, list);
    const last = list.at(-1);
    const same = list.findIndex(
      (known) =>
        (known.confirmed || known === last) && difference(recording, known.recording) === null,
    );
    const before = list[same];
    if (before === undefined) {
      if (last?.confirmed === false) list.pop();
      const repetition = new Repetition(recording, this.#repeats);
      const fixed = recording.argumentIds;
      list.push({ recording, repetition, confirmed: false, device, changes, fixed });
      if (list.length > recordingsPerKey) list.shift();
      for (const oldest of this.#known.keys()) {
        if (this.#known.size <= keysKept) break;
        this.#known.delete(oldest);
      }
      return last === undefined ? null : difference(recording, last.recording);
    }
    list.splice(same, 1);
    const fixed = before.fixed.map((id, i) => (id === recording.argumentIds[i] ? id : 0));
    const repetition = new Repetition(recording, this.#repeats);
    list.push({ recording, repetition, confirmed: true, device, changes, fixed });
    return null;
  }
}

/** Why a recording does not fit a call; null when it does. */
function unfit(known: Known, given: Given, device: object): string | null {
  if (known.device !== device) return "the device is another";
  if (known.changes !== tensorState().tape.changes)
    return (
      "a module changed its mode or went, a tensor changed its requiresGrad, a scaler its scale, " +
      "an optimizer got a group, or a hook came or went"
    );
  for (const [i, id] of known.fixed.entries())
    if (id !== 0 && given.handles[i]?.storage.id !== id)
      return "an argument is another tensor for the first time";
  return misfit(known.recording, given);
}

/** @throws AsyncScopeError for a promise */
function synchronous<T>(name: string, result: T): T {
  if (!isThenable(result)) return result;
  ignoreRejection(result);
  throw new AsyncScopeError(
    name,
    "expected a synchronous function, got one that returns a promise; " +
      "return the tensors, and await what you read of them outside",
  );
}
