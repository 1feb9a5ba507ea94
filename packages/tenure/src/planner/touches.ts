/**
 * What the ops of a program read and write, as flat arrays: walking through a schedule is what
 * planning does most. Made once for each program that is planned, as a part of its context. Pure.
 */
import { at } from "../base/access.ts";
import { opAt, type Program } from "../graph/program.ts";

/** Reads and writes of all ops, one behind the other. */
export class Touches {
  /** Where the storages of each op begin in `storages`, and at the end where they end. */
  readonly begin: Int32Array;
  /** Where those that begin a new residency do: written, not read. They come behind the others. */
  readonly born: Int32Array;
  /** Storages that the ops touch; one that is read and written stands twice. */
  readonly storages: Int32Array;
  /** Bytes of each storage. */
  readonly bytes: Float64Array;

  constructor(program: Program) {
    const { ops } = program;
    this.begin = new Int32Array(ops.length + 1);
    this.born = new Int32Array(ops.length);
    const touched: number[] = [];
    for (let i = 0; i < ops.length; i++) {
      const { reads, writes } = opAt(program, i);
      for (const r of reads) touched.push(r);
      for (const w of writes) if (reads.includes(w)) touched.push(w);
      this.born[i] = touched.length;
      for (const w of writes) if (!reads.includes(w)) touched.push(w);
      this.begin[i + 1] = touched.length;
    }
    this.storages = Int32Array.from(touched);
    this.bytes = Float64Array.from(program.storages, (_, s) => at(program.storages, s).bytes);
  }

  /** Whether an op begins a new residency of a storage. */
  bears(op: number, storage: number): boolean {
    const end = this.begin[op + 1]!;
    for (let k = this.born[op]!; k < end; k++) if (this.storages[k] === storage) return true;
    return false;
  }
}
