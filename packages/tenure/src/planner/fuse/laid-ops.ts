/**
 * The operands and results of ops as layouts: worked out once for each op, however many kernels the
 * fuse pass thinks of. Called by draft.ts; owned by one pass. Holds nothing but facts.
 */
import { at } from "../../base/access.ts";
import { type Layout, stridedLayout } from "../../base/layout.ts";
import { sizeOf } from "../../base/shape.ts";
import { type Access, type FuseFacts, opAt, type Program } from "../../graph/program.ts";

/** An op with its facts, laid out over its own shape. */
export interface LaidOp {
  readonly op: number;
  readonly facts: FuseFacts;
  /** Elements of a result. */
  readonly size: number;
  /** Over the op's shape; the one operand of an op that is no map over `facts.over`. */
  readonly operands: readonly Layout[];
  readonly results: readonly Layout[];
  /** For each operand, whether it is one number at every place. */
  readonly still: readonly boolean[];
}

/** The ops of a program, laid out when they are asked for. */
export class LaidOps {
  readonly program: Program;
  readonly #known: (LaidOp | undefined)[] = [];

  constructor(program: Program) {
    this.program = program;
  }

  /** An op laid out; undefined for one that says nothing of itself. */
  of(op: number): LaidOp | undefined {
    const known = this.#known[op];
    if (known !== undefined) return known;
    const { fuse: facts } = opAt(this.program, op);
    if (facts === undefined) return undefined;
    const laid = lay(op, facts);
    this.#known[op] = laid;
    return laid;
  }
}

function lay(op: number, facts: FuseFacts): LaidOp {
  const { shape, map, over = [] } = facts;
  const read = map ? shape : over;
  const operands = facts.operands.map((a) => stridedLayout(read, a.strides, a.offset));
  const results = facts.results.map((a) => stridedLayout(shape, a.strides, a.offset));
  const still = facts.operands.map((a) => isStill(a, read));
  return { op, facts, size: sizeOf(shape), operands, results, still };
}

function isStill({ strides }: Access, shape: readonly number[]): boolean {
  return strides.every((s, d) => s === 0 || at(shape, d) <= 1);
}
