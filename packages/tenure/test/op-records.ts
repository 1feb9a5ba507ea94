/**
 * Every built-in op, for tests and generated tables: what the files of src/ops export, and the
 * records that those name. Nothing registers itself, so nothing can be forgotten here.
 */
import type { AnyOp } from "../src/ops/op.ts";
import { modules } from "./op-files.ts";

const isRecord = (value: unknown): value is AnyOp =>
  typeof value === "object" && value !== null && "infer" in value && "facts" in value;

function addRecords(found: Set<AnyOp>, value: unknown): void {
  if (isRecord(value)) {
    if (found.has(value)) return;
    for (const other of [value.inplace, ...(value.gradientOps ?? [])]) addRecords(found, other);
    found.add(value);
  } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const part of Object.values(value)) if (isRecord(part)) addRecords(found, part);
  }
}

function collect(): readonly AnyOp[] {
  const found = new Set<AnyOp>();
  for (const exported of modules)
    for (const value of Object.values(exported)) addRecords(found, value);
  return [...found];
}

const records = collect();

/** Every built-in op. */
export function allOps(): readonly AnyOp[] {
  return records;
}
