/**
 * The audit of the books: counters, lists and owners must agree. Called by tests and through
 * `memory.verify()`. Changes nothing.
 */
import { internal } from "../base/errors.ts";
import { type Handle, type Owner, handles } from "./handle.ts";
import { type LifetimeStatistics, statistics } from "./statistics.ts";

/**
 * Checks the books: the counters against each other, against the list of live handles, and against
 * the list of every scope. @throws an internal error
 */
export function verify(): void {
  const counts = new Map<LifetimeStatistics, number>(),
    perScope = new Map<Owner, Handle[]>();
  for (const handle of listed()) {
    counts.set(handle.statistics, (counts.get(handle.statistics) ?? 0) + 1);
    if (handle.scope === null) continue;
    const members = perScope.get(handle.scope);
    if (members === undefined) perScope.set(handle.scope, [handle]);
    else members.push(handle);
  }
  const { tensor, container } = statistics();
  verifyCounters("tensors", tensor, counts.get(tensor) ?? 0);
  verifyCounters("containers", container, counts.get(container) ?? 0);
  for (const [scope, members] of perScope) verifyScope(scope, members);
}

/** The live handles, each checked on the way. */
function* listed(): Generator<Handle> {
  let older: Handle | null = null;
  for (let h = handles().oldest; h !== null; older = h, h = h.newerLive) {
    if (!h.isLive || h.olderLive !== older)
      throw internal(`the list of live handles is broken at ${h.describe()}`);
    if (h.scope?.disposed === true)
      throw internal(`${h.describe()} is owned by ${h.scope.describe()}, which has ended`);
    yield h;
  }
}

function verifyCounters(kind: string, counters: LifetimeStatistics, count: number): void {
  const rest = statistics().unaccounted(counters);
  if (rest !== 0)
    throw internal(`created ${kind} differ from live, disposed and reclaimed ones by ${rest}`);
  if (count !== counters.threadTotalLiveCount)
    throw internal(
      `${counters.threadTotalLiveCount} ${kind} are counted as live, ${count} are listed`,
    );
}

function verifyScope(scope: Owner, members: readonly Handle[]): void {
  const own = new Set(scope.handles());
  if (
    own.size !== scope.count ||
    members.length !== scope.count ||
    !members.every((h) => own.has(h))
  )
    throw internal(
      `${scope.describe()} counts ${scope.count} entries, lists ${own.size}, ` +
        `and ${members.length} name it as their owner`,
    );
  const bytes = members.reduce((n, h) => n + h.bytes, 0);
  if (bytes !== scope.bytes)
    throw internal(`${scope.describe()} counts ${scope.bytes} bytes, its entries have ${bytes}`);
}
