/**
 * What a program from outside must satisfy before it is planned: every value is written before it
 * is read, and nothing is too large for the device. The format itself was checked by
 * `programFromJSON`. Pure.
 */
import { ArgumentError, OutOfMemoryError } from "../base/errors.ts";
import type { Program } from "../graph/program.ts";

/**
 * @throws ArgumentError for a read that comes before every write, OutOfMemoryError for a storage
 *   over `maxStorageBytes`
 */
export function validate({ storages, ops }: Program, maxStorageBytes: number): void {
  for (const { id, bytes } of storages) {
    if (!(Number.isSafeInteger(bytes) && bytes > 0))
      throw new ArgumentError(
        "plan",
        `bytes of storage ${id} to be a positive integer`,
        String(bytes),
      );
    if (bytes > maxStorageBytes)
      throw new OutOfMemoryError(
        "plan",
        `expected storages of at most ${maxStorageBytes} bytes on this device, got ${id} with ${bytes}; split it along a dimension`,
      );
  }
  const written = storages.map(({ role }) => role !== "activation" && role !== "output");
  ops.forEach(({ name, reads, writes }, i) => {
    for (const r of reads) {
      if (written[r] === true) continue;
      const later = ops.findIndex((op, k) => k >= i && op.writes.includes(r)),
        { id, role } = storages[r]!;
      if (later === -1)
        throw new ArgumentError(
          "plan",
          `op ${i} ${name} to read values that exist`,
          `${role} ${id}, which nothing writes`,
          'give it the role "input" if it comes from outside',
        );
      throw new ArgumentError(
        "plan",
        `op ${i} ${name} to come after what writes its inputs`,
        `a cycle: it reads ${role} ${id}, whose first writer is op ${later} ${ops[later]!.name}`,
        'reorder the ops, or give the storage the role "input" if it holds a value before the program',
      );
    }
    for (const w of writes) written[w] = true;
  });
}
