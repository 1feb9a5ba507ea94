/**
 * A program while it is recorded: ops in issue order, uploads, the storages they mention, and the
 * signature by which a flush finds its plan. Written by the recorder, run by an execution. Owns no
 * storage: mentioning one does not keep it alive.
 */
import { at } from "../base/access.ts";
import type { Bytes } from "../base/bytes.ts";
import { Signature } from "../graph/signature.ts";
import type { Phase } from "../graph/program.ts";
import type { View } from "../kernels/kernel.ts";
import type { AnyOp } from "../ops/op.ts";
import { Dropped } from "./dropped.ts";
import type { Storage } from "./storage.ts";

/**
 * Where a program stands among those recorded at one time: see lanes.ts.
 */
export type Lane = "main" | "step" | "after";

/** A view of a storage: an op's operand. */
export interface Operand extends View {
  readonly storage: Storage;
}

/** One recorded op. */
export interface RecordedOp {
  readonly op: AnyOp;
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
  readonly attrs: unknown;
  /** Where the op's per-call scalars begin among the program's, and how many they are. */
  readonly scalarStart: number;
  readonly scalarCount: number;
  /** Where its words begin in the program's signature. */
  readonly signatureStart: number;
  readonly phase: Phase;
  readonly layer: string;
}

/** Host bytes to be placed in a storage before the first op. */
export interface Upload {
  readonly storage: Storage;
  /** The storage's index in the program. */
  readonly local: number;
  readonly data: Bytes;
}

/** How much was recorded at some moment. */
export interface ProgramMark {
  readonly ops: number;
  readonly uploads: number;
  readonly locals: number;
  readonly scalars: number;
  readonly undo: number;
  readonly signature: number;
  readonly pendingBytes: number;
}

/** Everything recorded since the last flush. */
export class OpenProgram {
  serial: number;
  lane: Lane = "main";
  readonly ops: RecordedOp[] = [];
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
  readonly signature: Signature = new Signature();
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

  constructor(serial: number, others: ReadonlyMap<number, OpenProgram> = new Map()) {
    this.serial = serial;
    this.#others = others;
  }

  /** Whether nothing was recorded. */
  get isEmpty(): boolean {
    return this.ops.length === 0 && this.uploads.length === 0;
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
    for (; this.#indexedOps < this.ops.length; this.#indexedOps++)
      for (const output of at(this.ops, this.#indexedOps).outputs) this.#writes.add(output.storage);
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
    for (const { outputs } of this.ops)
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

  #forgetWrites(): void {
    if (this.#writes.size > 0) this.#writes.clear(); // clearing an empty set takes its time
    this.#indexedOps = 0;
    this.#indexedUploads = 0;
  }

  /** Makes it an empty program with another serial number. */
  reset(serial: number, lane: Lane = "main"): void {
    this.serial = serial;
    this.lane = lane;
    if (this.awaited.size > 0) this.awaited.clear();
    if (this.#displaced.size > 0) this.#displaced.clear();
    this.#forgetWrites();
    this.ops.length = 0;
    this.uploads.length = 0;
    this.locals.length = 0;
    this.scalars.length = 0;
    this.undo.length = 0;
    this.dropped.clear();
    this.signature.clear();
    this.pendingBytes = 0;
  }
}
