/**
 * Memory of the watched device: every access of a kernel goes through a `Bound`, which complains of
 * what lies outside of the binding and of words that two invocations of one dispatch touch while
 * one of them writes. Used by `device.ts`; kernels call `load` and `store`. Buffers own their
 * bytes.
 */

/** Who is at it: each dispatch has a number, and so has each invocation of it. */
export interface Clock {
  dispatch: number;
  invocation: number;
}

/** Stands for more than one invocation. */
const several = -1;

/** Bytes, and who touched each word last. */
export class Memory {
  readonly bytes: ArrayBuffer;
  readonly words: Uint32Array;
  /**
   * By word: the last dispatch that wrote it and the invocation that did, the last that read it and
   * the invocation that did. Made when a kernel first uses the memory.
   */
  #stamps: Int32Array | undefined;

  constructor(size: number) {
    this.bytes = new ArrayBuffer(Math.ceil(size / 4) * 4);
    this.words = new Uint32Array(this.bytes);
  }

  /** Notes a read. @returns whether another invocation of the dispatch wrote the word */
  read(word: number, { dispatch, invocation }: Clock): boolean {
    const stamps = (this.#stamps ??= new Int32Array(4 * this.words.length));
    const at = 4 * word;
    const shared = stamps[at + 2] === dispatch && stamps[at + 3] !== invocation;
    stamps[at + 2] = dispatch;
    stamps[at + 3] = shared ? several : invocation;
    return stamps[at] === dispatch && stamps[at + 1] !== invocation;
  }

  /** Notes a write. @returns whether another invocation of the dispatch read or wrote the word */
  write(word: number, { dispatch, invocation }: Clock): boolean {
    const stamps = (this.#stamps ??= new Int32Array(4 * this.words.length));
    const at = 4 * word;
    const raced =
      (stamps[at] === dispatch && stamps[at + 1] !== invocation) ||
      (stamps[at + 2] === dispatch && stamps[at + 3] !== invocation);
    stamps[at] = dispatch;
    stamps[at + 1] = invocation;
    return raced;
  }
}

type Numbers = Float32Array | Uint32Array | Int32Array;

/** A range of a memory as one kernel sees it. */
export class Bound {
  readonly #memory: Memory;
  readonly #first: number;
  readonly #view: Numbers;
  readonly #clock: Clock;
  readonly #complain: (text: string) => void;

  constructor(
    memory: Memory,
    range: { readonly offset: number; readonly size: number },
    scalar: string,
    clock: Clock,
    complain: (text: string) => void,
  ) {
    const View = scalar === "f32" ? Float32Array : scalar === "i32" ? Int32Array : Uint32Array;
    this.#memory = memory;
    this.#first = range.offset / 4;
    this.#view = new View(memory.bytes, range.offset, Math.floor(range.size / 4));
    this.#clock = clock;
    this.#complain = complain;
  }

  load(at: number): number {
    const value = this.#view[at];
    if (value === undefined) {
      this.#complain(`reads element ${at} of a binding of ${this.#view.length}`);
      return 0;
    }
    if (this.#memory.read(this.#first + at, this.#clock))
      this.#complain(`reads element ${at}, which another invocation writes`);
    return value;
  }

  store(at: number, value: number): void {
    if (at >= this.#view.length) {
      this.#complain(`writes element ${at} of a binding of ${this.#view.length}`);
      return;
    }
    if (this.#memory.write(this.#first + at, this.#clock))
      this.#complain(`writes element ${at}, which another invocation reads or writes`);
    this.#view[at] = value;
  }

  /** Four numbers at once. */
  load4(at: number): number[] {
    return [0, 1, 2, 3].map((k) => this.load(4 * at + k));
  }

  store4(at: number, values: readonly number[]): void {
    for (const [k, value] of values.entries()) this.store(4 * at + k, value);
  }
}
