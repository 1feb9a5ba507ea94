/**
 * A program while it is recorded: ops in issue order, uploads, the storages they mention, and the
 * signature by which a flush finds its plan. What follows a script is written down as ops and words
 * only when somebody looks at them. Written by the recorder, run by an execution. Owns no storage:
 * mentioning one does not keep it alive.
 */
import { at } from "../base/access.ts";
import type { Bytes } from "../base/bytes.ts";
import { Signature } from "../graph/signature.ts";
import type { AnyOp } from "../ops/op.ts";
import { Dropped } from "./dropped.ts";
import type { Operand, RecordedOp } from "./recorded-op.ts";
import { type ProgramMark, type Script, type ScriptView, isSameOp } from "./script.ts";
import type { Storage } from "./storage.ts";

/** Where a program stands among those recorded at one time: see lanes.ts. */
export type Lane = "main" | "step" | "after";

/** Host bytes to be placed in a storage before the first op. */
export interface Upload {
  readonly storage: Storage;
  /** The storage's index in the program. */
  readonly local: number;
  readonly data: Bytes;
}

/** Everything recorded since the last flush. */
export class OpenProgram {
  serial: number;
  lane: Lane = "main";
  readonly uploads: Upload[] = [];
  /** Storages by local index, in order of first mention. */
  readonly locals: Storage[] = [];
  /** Per-call scalars of all ops, one after the other. */
  readonly scalars: number[] = [];
  /**
   * What takes back, newest last, what the host remembers of recording this program: see
   * `whenDiscarded` in runtime.ts.
   */
  readonly undo: (() => void)[] = [];
  /** What it has dropped, and gets back when it is discarded. */
  readonly dropped: Dropped = new Dropped();
  /** Bytes of storages mentioned but not resident: what the program may allocate at most. */
  pendingBytes = 0;
  /** Storages whose bytes were asked for and come with the next flush. */
  readonly awaited = new Set<Storage>();
  /** All programs recorded or run now, by serial number. */
  readonly #others: ReadonlyMap<number, OpenProgram>;
  /** Indices of storages that another program has mentioned since. */
  readonly #displaced = new Map<Storage, number>();
  /** Storages that the first `#indexed` ops, and as many uploads as there are, write. */
  readonly #writes = new Set<Storage>();
  #indexedOps = 0;
  #indexedUploads = 0;
  #indexedScript = false;
  readonly #ops: RecordedOp[] = [];
  readonly #signature = new Signature();
  /** What the program follows behind its own ops, and how many ops of it are recorded. */
  #script: Script | null = null;
  #done = 0;
  /** The facts of ownership that complete the signature, once it is sealed. */
  readonly #facts: number[] = [];
  #sealed: Script | null = null;

  constructor(serial: number, others: ReadonlyMap<number, OpenProgram> = new Map()) {
    this.serial = serial;
    this.#others = others;
  }

  /** Whether nothing was recorded. */
  get isEmpty(): boolean {
    return this.opCount === 0 && this.uploads.length === 0;
  }

  /** The ops; those that follow a script are written out. */
  get ops(): RecordedOp[] {
    if (this.#script !== null) this.unfold();
    return this.#ops;
  }

  /** How many they are. */
  get opCount(): number {
    return this.#ops.length + this.#done;
  }

  /** What the program is, word by word; that of a script is written out. */
  get signature(): Signature {
    if (this.#script !== null) this.unfold();
    return this.#signature;
  }

  /** The index of a storage, given to it at its first mention. */
  local(storage: Storage): number {
    if (storage.programSerial === this.serial) return storage.programIndex;
    const known = this.#displaced.get(storage);
    this.#stamp(storage, known ?? this.locals.length);
    if (known !== undefined) {
      this.#displaced.delete(storage);
      return known;
    }
    this.locals.push(storage);
    if (storage.buffer === null) this.pendingBytes += storage.bytes;
    return storage.programIndex;
  }

  /** Writes the program's index into a storage; another program that needs its own keeps it. */
  #stamp(storage: Storage, index: number): void {
    const { programSerial, programIndex } = storage;
    const other = programSerial === 0 ? undefined : this.#others.get(programSerial);
    if (other !== undefined) other.#displaced.set(storage, programIndex);
    storage.programSerial = this.serial;
    storage.programIndex = index;
  }

  /** Makes all storages hold their index in this program. */
  claimIndices(): void {
    if (this.#displaced.size === 0) return;
    for (const [storage, index] of this.#displaced) this.#stamp(storage, index);
    this.#displaced.clear();
  }

  /** Whether the program reads or writes the storage. */
  uses(storage: Storage): boolean {
    return storage.programSerial === this.serial || this.#displaced.has(storage);
  }

  /** Whether the program reads or writes the storage, or may need what it has dropped. */
  mentions(storage: Storage): boolean {
    return this.uses(storage) || this.dropped.has(storage);
  }

  /** Whether the program reads or writes the storage, or brings its bytes to the host. */
  touches(storage: Storage): boolean {
    return this.uses(storage) || this.awaited.has(storage);
  }

  /** Whether an op or an upload of the program writes the storage. */
  writes(storage: Storage): boolean {
    const script = this.#whole;
    const ops = script === null ? this.ops : this.#ops;
    for (; this.#indexedOps < ops.length; this.#indexedOps++)
      for (const output of at(ops, this.#indexedOps).outputs) this.#writes.add(output.storage);
    if (script !== null && !this.#indexedScript)
      for (const local of script.written) this.#writes.add(at(this.locals, local));
    this.#indexedScript = script !== null;
    for (; this.#indexedUploads < this.uploads.length; this.#indexedUploads++)
      this.#writes.add(at(this.uploads, this.#indexedUploads).storage);
    return this.#writes.has(storage);
  }

  /** Whether the program must run before a later one, `next`. */
  precedes(next: OpenProgram): boolean {
    for (const storage of this.locals)
      if (next.writes(storage) || (next.touches(storage) && this.writes(storage))) return true;
    for (const storage of this.awaited) if (next.writes(storage)) return true;
    return false;
  }

  /** Storages somebody owns that the program's ops write. */
  written(): Storage[] {
    const written: Storage[] = [];
    const script = this.#whole;
    for (const local of script?.written ?? []) {
      const storage = at(this.locals, local);
      if (storage.refs > 0) written.push(storage);
    }
    for (const { outputs } of script === null ? this.ops : this.#ops)
      for (const { storage } of outputs) if (storage.refs > 0) written.push(storage);
    return written;
  }

  /** Where the program stands, to go back to. */
  mark(): ProgramMark {
    return {
      ops: this.ops.length,
      uploads: this.uploads.length,
      locals: this.locals.length,
      scalars: this.scalars.length,
      undo: this.undo.length,
      signature: this.signature.length,
      pendingBytes: this.pendingBytes,
    };
  }

  /**
   * Forgets everything recorded since `mark`. Storages mentioned only since then are no longer
   * mentioned; buffers nobody owns go home.
   */
  rollback(mark: ProgramMark): void {
    for (const { outputs } of this.ops.splice(mark.ops))
      for (const { storage } of outputs) storage.version--;
    this.uploads.length = mark.uploads;
    this.scalars.length = mark.scalars;
    this.signature.length = mark.signature;
    this.pendingBytes = mark.pendingBytes;
    this.#forgetWrites();
    this.takeBack(mark.undo);
    for (const storage of this.locals.splice(mark.locals)) {
      if (storage.programSerial === this.serial) storage.programSerial = 0;
      this.#displaced.delete(storage);
      const elsewhere = [...this.#others.values()].some((other) => other.mentions(storage));
      if (storage.refs === 0 && !elsewhere) storage.freeBuffer();
    }
  }

  /** Runs what `whenDiscarded` was given, newest first, down to the first `from`. */
  takeBack(from = 0): void {
    for (const undo of this.undo.splice(from).reverse()) undo();
  }

  /**
   * Runs `fn` with the storages' local indices as they are in this program, which was taken: others
   * may have been recorded since.
   */
  reindexed<T>(fn: () => T): T {
    const now = this.locals.map((s) => ({ serial: s.programSerial, index: s.programIndex }));
    this.locals.forEach((storage, i) => {
      storage.programSerial = this.serial;
      storage.programIndex = i;
    });
    try {
      return fn();
    } finally {
      now.forEach(({ serial, index }, i) => {
        const storage = this.locals[i];
        if (storage === undefined) return;
        storage.programSerial = serial;
        storage.programIndex = index;
      });
    }
  }

  // === Scripts ===

  /** The script that it has followed to the end, and nothing behind it. */
  get #whole(): Script | null {
    return this.#script !== null && this.#done === this.#script.ops.length ? this.#script : null;
  }

  /** Ops of the script that are recorded; -1 where the program follows none any more. */
  get followed(): number {
    return this.#script === null ? -1 : this.#done;
  }

  /**
   * Begins to follow a script with the storages it is brought. @returns false, with nothing done,
   * where the program has not begun as the script did
   */
  follow(script: Script, brought: readonly Storage[]): boolean {
    const { start, words } = script;
    const { locals, scalars } = this;
    const begunAlike =
      this.#script === null &&
      this.#ops.length === start.ops &&
      this.uploads.length === start.uploads &&
      locals.length === start.locals &&
      scalars.length === start.scalars &&
      this.#signature.length === start.signature &&
      this.#signature.begins(words, start.signature);
    if (!begunAlike) return false;
    let next = 0;
    for (let i = 0; i < script.locals.length; i++) {
      let storage = script.locals[i];
      if (storage == null) {
        storage = brought[next++];
        if (storage === undefined || this.uses(storage)) {
          this.#forgetLocals(start.locals);
          return false;
        }
        this.#stamp(storage, locals.length);
      }
      if (storage.buffer === null) this.pendingBytes += storage.bytes;
      locals.push(storage);
    }
    for (let i = 0; i < script.scalars.length; i++) scalars.push(script.scalars[i]!);
    this.#script = script;
    this.#done = 0;
    return true;
  }

  /** Records the next `count` ops of the script as they are there. */
  skip(count: number): void {
    this.#done += count;
  }

  /**
   * Records an op if it is the script's next, with its own scalars. @returns false, with nothing
   * done, where it is not
   */
  follows(
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    values: readonly number[],
  ): boolean {
    const next = this.#script?.ops[this.#done];
    if (next === undefined || next.scalarCount !== values.length) return false;
    if (!isSameOp(next, op, inputs, outputs, attrs, this.serial)) return false;
    const { scalars } = this;
    for (let i = 0; i < values.length; i++) scalars[next.scalarStart + i] = values[i]!;
    this.#done++;
    return true;
  }

  /** Writes down what it has followed, and follows no more. */
  unfold(): void {
    const script = this.#script;
    if (script === null) return;
    const { start, ops, words } = script;
    const end = ops[this.#done];
    const done = ops.slice(0, this.#done);
    this.#script = null;
    this.#done = 0;
    if (end !== undefined) {
      this.#forgetLocals(end.localsBefore);
      this.scalars.length = end.scalarStart;
    }
    const { locals } = this;
    for (let i = start.locals; i < locals.length; i++) {
      const storage = at(locals, i);
      if (!this.uses(storage)) this.#stamp(storage, i);
    }
    const last = end?.signatureStart ?? words.length;
    for (let i = start.signature; i < last; i++) this.#signature.push(words[i]!);
    if (this.#sealed !== null) this.#signFacts(this.#sealed);
    const operand = ({ local, layout, dtype }: ScriptView): Operand => ({
      storage: at(locals, local),
      layout,
      dtype,
    });
    for (const op of done) {
      const { inputs, outputs } = op;
      this.#ops.push({ ...op, inputs: inputs.map(operand), outputs: outputs.map(operand) });
    }
  }

  /** Forgets storages, those from an index on. */
  #forgetLocals(from: number): void {
    for (const storage of this.locals.splice(from)) {
      if (storage.programSerial === this.serial) storage.programSerial = 0;
      this.#displaced.delete(storage);
      if (storage.buffer === null) this.pendingBytes -= storage.bytes;
    }
  }

  /**
   * Completes the signature with what ownership says now: who is owned, who has a buffer. Once per
   * program, before it is looked up.
   */
  seal(): void {
    const script = this.#whole;
    if (script === null) {
      const { signature } = this; // first: it may forget storages
      for (const storage of this.locals) {
        signature.push(factsOf(storage));
        signature.push(storage.bytes);
      }
      return;
    }
    const { locals } = this;
    const facts = this.#facts;
    facts.length = 0;
    const note = (storage: Storage): void => {
      facts.push(factsOf(storage), storage.bytes);
    };
    for (let i = 0; i < script.start.locals; i++) note(at(locals, i));
    for (const local of script.brought) note(at(locals, local));
    this.#sealed = script;
  }

  /** The script that it was when it was sealed, and what ownership said then; null for none. */
  get sealedScript(): { readonly script: Script; readonly facts: readonly number[] } | null {
    return this.#sealed === null ? null : { script: this.#sealed, facts: this.#facts };
  }

  /** Writes the facts of the storages into the signature as `seal` noted them. */
  #signFacts({ start, locals }: Script): void {
    let next = 0;
    for (const [i, storage] of this.locals.entries()) {
      const isOwn = i >= start.locals && locals[i - start.locals] !== null;
      this.#signature.push(isOwn ? factsOf(storage) : at(this.#facts, next++));
      this.#signature.push(isOwn ? storage.bytes : at(this.#facts, next++));
    }
  }

  #forgetWrites(): void {
    if (this.#writes.size > 0) this.#writes.clear(); // clearing an empty set takes its time
    this.#indexedOps = 0;
    this.#indexedUploads = 0;
    this.#indexedScript = false;
  }

  /** Makes it an empty program with another serial number. */
  reset(serial: number, lane: Lane = "main"): void {
    this.serial = serial;
    this.lane = lane;
    if (this.awaited.size > 0) this.awaited.clear();
    if (this.#displaced.size > 0) this.#displaced.clear();
    this.#forgetWrites();
    this.#script = this.#sealed = null;
    this.#done = 0;
    this.#ops.length = 0;
    this.uploads.length = 0;
    this.locals.length = 0;
    this.scalars.length = 0;
    this.undo.length = 0;
    this.dropped.clear();
    this.#signature.clear();
    this.pendingBytes = 0;
  }
}

/** What ownership says of a storage, as a word: whether it is owned, whether it has a buffer. */
function factsOf({ refs, buffer }: Storage): number {
  return (refs > 0 ? 1 : 0) | (buffer === null ? 0 : 2);
}
