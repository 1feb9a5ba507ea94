/**
 * From what was recorded to the IR that is planned: each op with what it reads and writes, and what
 * fusing it takes. Called by compile.ts on a plan-cache miss, and by tracing. Owns nothing.
 */
import { at } from "../base/access.ts";
import { internal } from "../base/errors.ts";
import { type Layout, broadcastLayout } from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import { withPhases } from "../graph/phases.ts";
import {
  type Access,
  type FuseFacts,
  Program,
  type ProgramOp,
  type ProgramStorage,
} from "../graph/program.ts";
import type { Operand, RecordedOp } from "./recorded-op.ts";
import type { Storage } from "./storage.ts";

/**
 * The IR of what was recorded. `granule`: bytes a buffer really takes for a request. A storage's
 * index in the program is its local index.
 */
export function buildProgram(
  open: { readonly locals: readonly Storage[]; readonly ops: readonly RecordedOp[] },
  granule: (bytes: number) => number,
): Program {
  const storages = open.locals.map((s): ProgramStorage => ({
    id: `s${s.programIndex}`,
    bytes: granule(Math.max(s.bytes, 4)),
    role: s.role,
    pinned: s.refs > 0,
  }));
  const ops = open.ops.map(({ op, inputs, outputs, attrs, phase, layer }): ProgramOp => {
    const inplace = op.facts.inplaceOf ?? [],
      facts = fuseFacts({ op, inputs, outputs });
    const reads = unique(inputs.map((o) => o.storage.programIndex));
    // An in-place op reads its target too, even one that overwrites all of it: a view may cover
    // only a part of the storage.
    const writes = unique(
      outputs.map((o, k) => {
        if ((inplace[k] ?? -1) === -1 && reads.includes(o.storage.programIndex))
          throw internal(`${op.name} writes an input it does not declare`);
        return o.storage.programIndex;
      }),
    );
    return {
      name: op.name,
      reads,
      writes,
      phase,
      layer,
      flops: op.flops?.(inputs, outputs, attrs) ?? at(outputs, 0).layout.size,
      recomputable: op.facts.recomputable ?? true,
      ...(facts === undefined ? {} : { fuse: facts }),
    };
  });
  return new Program(
    storages,
    withPhases(ops, (s) => at(storages, s).role),
  );
}

function unique(list: readonly number[]): number[] {
  return [...new Set(list)];
}

/** What fusing an op with others takes; undefined for an op that runs alone. */
function fuseFacts({
  op,
  inputs,
  outputs,
}: Pick<RecordedOp, "op" | "inputs" | "outputs">): FuseFacts | undefined {
  // A float16 result is rounded when it is stored, which a value in a register is not.
  if ([...inputs, ...outputs].some((o) => o.dtype === "float16")) return undefined;
  const { shape } = outputs[0]!.layout,
    access = ({ storage, dtype }: Operand, { strides, offset }: Layout): Access => ({
      storage: storage.programIndex,
      type: dtype,
      strides,
      offset,
    });
  const results = outputs.map((o) => access(o, o.layout));
  if (op.kernel === undefined) {
    if (
      op.expression === undefined ||
      outputs.some(
        (o) =>
          o.layout.shape.length !== shape.length || o.layout.shape.some((d, k) => d !== shape[k]!),
      )
    )
      return undefined;
    return {
      shape,
      map: true,
      operands: inputs.map((o) => access(o, broadcastLayout(o.layout, shape))),
      results,
      ...(op.facts.indexed === true ? { index: true } : {}),
    };
  }
  const { epilogue = false, prologue, inplaceOf } = op.facts;
  if (
    !epilogue ||
    outputs.length !== 1 ||
    inplaceOf !== undefined ||
    !outputs[0]!.layout.contiguous ||
    sizeOf(shape) === 0
  )
    return undefined;
  const computed = prologue === undefined ? undefined : inputs[prologue]!;
  const alone =
    computed !== undefined && inputs.filter((o) => o.storage === computed.storage).length === 1;
  return {
    shape,
    map: false,
    operands: alone ? [access(computed, computed.layout)] : [],
    results,
    ...(alone ? { over: computed.layout.shape } : {}),
    inputs: inputs.length,
  };
}
