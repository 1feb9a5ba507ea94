/**
 * What a program from outside must satisfy before it is planned: every value is written before it
 * is read, and nothing is too large for the device. The format itself was checked by
 * `programFromJSON`. Pure.
 */
import { ArgumentError, OutOfMemoryError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { opAt, type Program, storageAt } from "../graph/program.ts";

/**
 * @throws ArgumentError for a read that comes before every write, OutOfMemoryError for a storage
 *   over `maxStorageBytes`
 */
export function validate(program: Program, maxStorageBytes: number): void {
  const { storages, ops } = program;
  for (const { id, bytes } of storages) {
    if (!(Number.isSafeInteger(bytes) && bytes > 0))
      throw new ArgumentError(
        "plan",
        `bytes of storage ${id} to be a positive integer`,
        describeValue(bytes),
        "give each storage its size",
      );
    if (bytes > maxStorageBytes)
      throw new OutOfMemoryError(
        "plan",
        `expected storages of at most ${maxStorageBytes} bytes on this device, ` +
          `got ${id} with ${bytes}; split it along a dimension`,
      );
  }
  const written = storages.map(({ role }) => role !== "activation" && role !== "output");
  for (const [i, op] of ops.entries()) {
    for (const r of op.reads) if (written[r] !== true) throw readTooEarly(program, i, r);
    for (const w of op.writes) written[w] = true;
  }
}

/** Op `i` reads a value that nothing wrote before it. */
function readTooEarly(program: Program, i: number, read: number): ArgumentError {
  const { name } = opAt(program, i);
  const { id, role } = storageAt(program, read);
  const later = program.ops.findIndex((op, k) => k >= i && op.writes.includes(read));
  if (later === -1)
    return new ArgumentError(
      "plan",
      `op ${i} ${name} to read values that exist`,
      `${role} ${id}, which nothing writes`,
      'give it the role "input" if it comes from outside',
    );
  return new ArgumentError(
    "plan",
    `op ${i} ${name} to come after what writes its inputs`,
    `a cycle: it reads ${role} ${id}, whose first writer is op ${later} ` +
      opAt(program, later).name,
    'reorder the ops, or give the storage the role "input" if it holds a value before the program',
  );
}
