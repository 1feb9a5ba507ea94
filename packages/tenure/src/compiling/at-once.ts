/**
 * Repeats a recording at once: its ops are recorded by their count, along a script that an earlier
 * repetition left, and only what differs from call to call is done: storages that come along,
 * gradients, random numbers, the steps of optimizers. Where a call does not begin as the script
 * did, or an optimizer does something else, ops are recorded one by one, and the reason is noted.
 * Called by compiled.ts. Owns no tensor; the storages in a script are dead.
 */
import {
  type OpenProgram,
  type ProgramMark,
  type Script,
  type Storage,
  bringAlong,
  follow,
  followable,
  growthWhile,
  isOpenProgram,
  labels,
  lastStorage,
  pendingReads,
  scriptOf,
  skipOps,
  storagesPassed,
} from "../tensor/dispatch.ts";
import type { Given } from "./given.ts";
import type { Act, Recording } from "./recording.ts";
import { Replay } from "./replay.ts";

type OpAct = Extract<Act, { kind: "op" }>;

/** Scripts made in a row that nothing followed: from then on, one is made now and then. */
const scriptsInVain = 16;
const nowAndThen = 64;

/** Scripts kept per recording, for programs that begin in some ways in turns. */
const scriptsKept = 3;

/** What is done in one go. */
interface Part {
  /** Ops of the script that it records. */
  readonly count: number;
  /** The first act behind it. */
  readonly next: number;
  /** Something that is done as ever; null for ops. */
  readonly act: Act | null;
  readonly phase: OpAct["phase"];
  readonly layer: string;
  /** Places that its ops write and others may hold, once for each time. */
  readonly writes: readonly number[];
  /** Where random numbers go: place among the program's scalars, and number of the draw. */
  readonly draws: readonly (readonly [at: number, draw: number])[];
}

/** A recording with its script. */
interface Whole {
  readonly script: Script;
  /** What the script is brought: a place, or the storage itself. */
  readonly sources: readonly (number | Storage)[];
  /** Places that the program knows before the script begins, with their index there. */
  readonly before: readonly (readonly [local: number, place: number])[];
  /** Index in the program by place, of what lives only inside. */
  readonly own: ReadonlyMap<number, number>;
  /** Bytes of storages at most, beyond those before. */
  readonly mostBytes: number;
  readonly parts: readonly Part[];
}

/** How a function was repeated. */
export class Repeats {
  /** Repetitions at once, and the others by the reason. */
  atOnce = 0;
  readonly piecemeal: Map<string, number> = new Map<string, number>();
}

/** A recording that is repeated. */
export class Repetition {
  readonly #recording: Recording;
  /** Places from outside that its ops update. */
  readonly #updated: readonly number[];
  /** The one used last comes first. */
  #wholes: Whole[] = [];
  /** Repetitions op by op in a row. */
  #inVain = 0;
  #last: OpenProgram | null = null;
  readonly #repeats: Repeats;

  constructor(recording: Recording, repeats: Repeats) {
    this.#recording = recording;
    this.#updated = updatedBy(recording);
    this.#repeats = repeats;
  }

  /** Does it again for a call that it fits. @returns what the function would have */
  run(given: Given): unknown {
    const replay = new Replay(this.#recording, given);
    bringAlong(given.handles.map(({ storage }) => storage));
    const program = followable();
    if (typeof program === "string") {
      this.#note(program);
      return this.#opByOp(replay);
    }
    const found = this.#begun(program, replay);
    if (typeof found !== "string") return this.#atOnce(program, found, replay);
    this.#note(found);
    this.#inVain++;
    if (this.#inVain > scriptsInVain && this.#inVain % nowAndThen !== 0)
      return this.#opByOp(replay);
    return this.#piecemeal(program, replay);
  }

  #opByOp(replay: Replay): unknown {
    return replay.run(() => {
      for (const act of this.#recording.acts) replay.do(act);
    });
  }

  #note(why: string): void {
    const { piecemeal } = this.#repeats;
    piecemeal.set(why, (piecemeal.get(why) ?? 0) + 1);
  }

  /** Begins to follow one of the scripts. @returns which, or why that cannot be */
  #begun(program: OpenProgram, replay: Replay): Whole | string {
    if (this.#last !== program && this.#last !== null && isOpenProgram(this.#last))
      return "another task repeats it at the same time";
    for (const place of this.#updated) {
      const storage = replay.known(place);
      if (storage !== undefined && pendingReads(storage) > 0)
        return "somebody reads what it updates";
    }
    let why = "no repetition has shown yet how programs begin";
    for (const [i, whole] of this.#wholes.entries()) {
      const misfit = this.#follow(program, whole, replay);
      if (misfit === null) {
        if (i > 0) this.#wholes = [whole, ...this.#wholes.filter((other) => other !== whole)];
        return whole;
      }
      why = misfit;
    }
    return why;
  }

  /** Begins to follow a script. @returns why that cannot be */
  #follow(program: OpenProgram, whole: Whole, replay: Replay): string | null {
    for (const [local, place] of whole.before)
      if (program.locals[local] !== replay.known(place))
        return "other tensors are in use before it";
    const brought: Storage[] = [];
    for (const source of whole.sources)
      if (typeof source === "number") brought.push(replay.storage(source));
      else if (source.refs === 0 || source.trouble() !== null) return "an optimizer lost a state";
      else brought.push(source);
    return follow(program, whole.script, brought);
  }

  #atOnce(program: OpenProgram, whole: Whole, replay: Replay): unknown {
    this.#last = program;
    storagesPassed(whole.own.size, whole.mostBytes);
    let isDone = false;
    try {
      return replay.run(() => {
        isDone = this.#perform(program, whole, replay);
      });
    } finally {
      if (isDone) {
        this.#repeats.atOnce++;
        this.#inVain = 0;
      } else {
        this.#note("an optimizer does something else than before");
        // what of its storages is in use now is not dead
        this.#wholes = this.#wholes.filter((other) => other !== whole);
      }
    }
  }

  /** @returns whether it followed the script to the end */
  #perform(program: OpenProgram, whole: Whole, replay: Replay): boolean {
    let done = 0;
    const now = labels();
    for (const { count, next, act, phase, layer, writes, draws } of whole.parts) {
      done += count;
      if (act === null) {
        skipOps(program, count);
        for (const place of writes) replay.storage(place).version++;
        for (const [at, draw] of draws) {
          const numbers = replay.draws[draw] ?? [];
          for (let i = 0; i < numbers.length; i++) program.scalars[at + i] = numbers[i]!;
        }
      } else {
        now.phase = phase;
        now.layer = layer;
        replay.do(act);
      }
      if (program.followed === done) continue;
      this.#leave(program, whole, replay, next);
      return false;
    }
    return true;
  }

  /** Goes on without the script from an act on. */
  #leave(program: OpenProgram, { own }: Whole, replay: Replay, next: number): void {
    program.unfold();
    const rest = this.#recording.acts.slice(next);
    for (const act of rest)
      for (const { place } of act.kind === "op" ? act.inputs : []) {
        const storage = program.locals[own.get(place) ?? Infinity];
        if (replay.known(place) === undefined && storage !== undefined)
          replay.revive(place, storage);
      }
    for (const act of rest) replay.do(act);
  }

  /** Records op by op, and makes a script of what that leaves. */
  #piecemeal(program: OpenProgram, replay: Replay): unknown {
    const start = program.mark();
    const { serial } = program;
    const before = lastStorage();
    const ends: number[] = [];
    let mostBytes = 0;
    const result = replay.run(() => {
      mostBytes = growthWhile(() => {
        for (const act of this.#recording.acts) {
          replay.do(act);
          ends.push(program.opCount);
        }
      });
    });
    const isSame = followable() === program && program.serial === serial;
    this.#last = program;
    if (!isSame || program.uploads.length !== start.uploads) return result;
    const seen = { replay, start, ends, before, mostBytes };
    const whole = wholeOf(this.#recording, program, seen);
    if (whole !== null) this.#wholes = [whole, ...this.#wholes.slice(0, scriptsKept - 1)];
    return result;
  }
}

/** What a repetition op by op was like. */
interface Seen {
  readonly replay: Replay;
  readonly start: ProgramMark;
  /** Ops that the program held after each act. */
  readonly ends: readonly number[];
  /** Number of the last storage before it. */
  readonly before: number;
  readonly mostBytes: number;
}

/** The script of what was recorded last; null where it is not of one piece. */
function wholeOf(recording: Recording, program: OpenProgram, seen: Seen): Whole | null {
  const { replay, start, before, mostBytes } = seen;
  const kept = new Set(recording.results.map(({ place }) => place));
  for (const act of recording.acts)
    if (act.kind === "gradient" && act.grad !== null) kept.add(act.grad.place);
  const placeOf = new Map<Storage, number>();
  for (const i of recording.places.keys()) {
    const storage = replay.known(i);
    if (storage !== undefined) placeOf.set(storage, i);
  }
  let isWhole = true;
  const isOwn = (storage: Storage): boolean => {
    const place = placeOf.get(storage);
    const own = place !== undefined && recording.places[place]?.kind === "made" && !kept.has(place);
    // made by an optimizer, or still owned by somebody: not the same in the next call
    if (place === undefined ? storage.id > before : own && storage.refs > 0) isWhole = false;
    return own;
  };
  const script = scriptOf(program, start, isOwn);
  const parts = partsOf(recording.acts, script, seen.ends);
  if (!isWhole || parts === null) return null;
  const places = program.locals.map((storage) => placeOf.get(storage));
  return {
    script,
    sources: script.brought.flatMap((local) => places[local] ?? program.locals[local] ?? []),
    before: places
      .slice(0, start.locals)
      .flatMap((place, local) => (place === undefined ? [] : [[local, place] as const])),
    own: new Map(
      script.locals.flatMap((storage, i) =>
        storage === null ? [] : [[places[start.locals + i] ?? -1, start.locals + i] as const],
      ),
    ),
    mostBytes,
    parts,
  };
}

/** Places from outside that ops update in place. */
function updatedBy({ acts, places }: Recording): number[] {
  const updated = new Set<number>();
  for (const act of acts) {
    if (act.kind !== "op") continue;
    for (const i of act.op.facts.inplaceOf ?? []) {
      const place = act.inputs[i]?.place;
      if (place !== undefined && places[place]?.kind !== "made") updated.add(place);
    }
  }
  return [...updated];
}

/** Acts in parts; null where one recorded what it does not say. */
function partsOf(acts: readonly Act[], script: Script, ends: readonly number[]): Part[] | null {
  const { start, ops, brought, written } = script;
  const parts: Part[] = [];
  let run: { count: number; writes: number[]; draws: (readonly [number, number])[] } | null = null;
  let phase: OpAct["phase"] = "forward";
  let layer = "";
  let done = 0;
  const close = (next: number): void => {
    if (run !== null) parts.push({ ...run, next, act: null, phase, layer });
    run = null;
  };
  for (const [i, act] of acts.entries()) {
    const count = (ends[i] ?? 0) - start.ops - done;
    if (act.kind !== "op") {
      close(i);
      if (act.kind !== "again" && count !== 0) return null;
      parts.push({ count, next: i + 1, act, phase, layer, writes: [], draws: [] });
    } else {
      const op = ops[done];
      if (count !== 1 || op === undefined) return null; // it kept a copy for a read
      ({ phase, layer } = act);
      run ??= { count: 0, writes: [], draws: [] };
      run.count++;
      for (const [k, { place }] of act.outputs.entries())
        if (written.includes(op.outputs[k]?.local ?? -1)) run.writes.push(place);
      if (act.draw !== -1) run.draws.push([op.scalarStart, act.draw]);
    }
    done += count;
  }
  close(acts.length);
  return brought.length > 0 && done === ops.length ? parts : null;
}
