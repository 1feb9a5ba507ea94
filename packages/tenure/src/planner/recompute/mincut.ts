/**
 * What to keep for the backward pass at the least bytes when some ops may run again: a minimum cut
 * between what is resident anyway and what the backward pass reads, over the values of the forward
 * pass (as torch.compile partitions joint graphs). Pure.
 */
import { at } from "../../base/access.ts";
import { opAt, storageAt } from "../../graph/program.ts";
import type { Context } from "../schedule.ts";
import { FlowNetwork } from "./flow.ts";
import { onlyWriter } from "./rematerialise.ts";

/**
 * @param candidates storages that may be dropped at all
 * @param mayRun whether an op may run again
 * @param free storages kept for another reason: keeping them costs nothing here
 * @returns the candidates to keep
 */
export function cheapestKept(
  { program, deadline }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  mayRun: (op: number) => boolean,
  free: ReadonlySet<number> = new Set(),
): Set<number> {
  const writer = onlyWriter(program, order);
  const list = [...candidates];
  const index = new Int32Array(program.storages.length).fill(-1);
  list.forEach((s, k) => (index[s] = k));
  // Nodes: 0 source, 1 sink, then two per candidate: where its value is made, and where it is
  // available to the backward pass.
  const net = new FlowNetwork(2 + 2 * list.length);
  const made = (k: number): number => 2 + 2 * k;
  const there = (k: number): number => 3 + 2 * k;
  const wanted = new Uint8Array(program.storages.length);
  for (const i of order) {
    const { phase, reads } = opAt(program, i);
    if (phase !== "forward") for (const r of reads) wanted[r] = 1;
  }
  list.forEach((s, k) => {
    const op = writer(s);
    net.add(made(k), there(k), free.has(s) ? 0 : storageAt(program, s).bytes);
    if (wanted[s] === 1) net.add(there(k), 1, Infinity);
    if (!mayRun(op)) {
      net.add(0, made(k), Infinity);
      return;
    }
    for (const r of opAt(program, op).reads) {
      const from = at(index, r);
      const { role, bytes } = storageAt(program, r);
      // Inputs that stay resident for the backward pass anyway cost nothing; others would have to
      // be kept longer: their bytes.
      if (from !== -1) net.add(there(from), made(k), Infinity);
      else if (wanted[r] === 0 && role === "activation") net.add(0, made(k), bytes);
    }
  });
  net.run(deadline);
  const cut = list.filter((_, k) => net.reached(made(k)) && !net.reached(there(k)));
  return new Set([...cut, ...free]);
}
