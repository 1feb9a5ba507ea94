// node: --expose-gc
/** Evidence: for every live byte, who owns it, where it was made, and why it is still there. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  type Drift,
  type Tensor,
  TenureError,
  memory,
  newDisposeScope,
  ones,
  scopedAsync,
  sync,
  zeros,
} from "tenure";
import { assertNoLeaks } from "tenure/testing";
import { eventLog } from "../../../src/ownership/log.ts";
import { pattern } from "../../helpers.ts";
import { rejectionOf, setup, sleep, takeWarnings, thrownBy, tick } from "./harness.ts";

const test = suite("evidence");
test.before(setup);
test.before.each(() => {
  memory.track("full");
});
test.after.each(() => {
  memory.track("sampled");
  assert.equal(takeWarnings(), []);
  memory.verify();
});

/** `evidence.test.ts:line` of a line of this file that contains a mark. */
function lineOf(mark: string): RegExp {
  const lines = readFileSync(fileURLToPath(import.meta.url), "utf8").split("\n");
  const line = lines.findIndex((l) => l.includes(`// ${mark}`)) + 1;
  return new RegExp(`evidence\\.test\\.ts:${line}:`);
}

// === Levels ===

test("track: off, scope, sampled, full; anything else is refused", () => {
  const sites = (): (string | undefined)[] => {
    using s = newDisposeScope();
    const t = zeros([1]);
    t.dispose();
    return [
      s.site,
      ...Object.values(
        (thrownBy(() => t.add(1)) as unknown as { sites: Record<string, string | undefined> })
          .sites,
      ),
    ];
  };
  memory.track("off");
  assert.equal(sites(), [undefined, undefined, undefined]);
  memory.track("scope");
  assert.equal(
    sites().map((s) => s !== undefined),
    [true, false, false],
  );
  memory.track("sampled");
  assert.equal(
    sites().map((s) => s !== undefined),
    [true, true, true],
  );
  memory.track("full");
  for (const site of sites()) assert.match(site!, /evidence\.test\.ts:\d+:\d+$/);
  assert.throws(
    () => {
      memory.track("loud" as "off");
    },
    (e: Error) => e instanceof ArgumentError && e.message.includes('"loud"'),
  );
});

test("a program that froze Error has its lines named, too", () => {
  const { Error: error } = globalThis;
  globalThis.Error = Object.freeze(class extends error {}) as unknown as ErrorConstructor;
  try {
    using _t = zeros([1]);
    assert.match(String(memory.live({ groupBy: "site" })[0]?.key), /evidence\.test\.ts:\d+:\d+$/);
  } finally {
    globalThis.Error = error;
  }
});

test("sampled: always one per 512 KB, and small programs see everything", () => {
  memory.track("sampled");
  using s = newDisposeScope();
  for (let i = 0; i < 5000; i++) zeros([1]).dispose(); // more than may be spent at once
  for (let i = 0; i < 32; i++) zeros([16 * 1024]);
  const recorded = memory.live().filter((r) => r.key !== "(site not recorded)");
  assert.is(
    recorded.reduce((n, r) => n + r.count, 0),
    4,
  );
  assert.is(s.count, 32);
});

// === Live, mark, since ===

test("live: by site, by scope, by shape, largest first", () => {
  using s = newDisposeScope("rows");
  const make = (): Tensor => zeros([1000]); // made here
  const big = [make(), make()],
    kept = s.detach(zeros([10], { name: "k" }));
  const bySite = memory.live();
  assert.match(bySite[0]!.key, lineOf("made here"));
  assert.equal(
    [bySite[0]!.count, bySite[0]!.bytes, bySite[0]!.example],
    [2, 8000, "tensor float32 [1000]"],
  );
  assert.ok(
    memory
      .live({ groupBy: "scope" })
      .some((r) => r.key.startsWith('scope "rows"') || r.key.startsWith('in scope "rows"')),
  );
  assert.ok(memory.live({ groupBy: "shape" }).some((r) => r.key === 'tensor "k" float32 [10]'));
  assert.throws(
    () => memory.live({ groupBy: "color" as "site" }),
    (e: Error) => e instanceof ArgumentError,
  );
  assert.is(big.length, 2);
  kept.dispose();
});

test("mark and since: what was made in between and lives", () => {
  using _ = newDisposeScope();
  const old = zeros([1]);
  const m = memory.mark();
  zeros([5]).dispose();
  const t = zeros([7]);
  old.dispose();
  const d = memory.since(m);
  assert.equal([d.live, d.bytes, d.finalized, d.rows.length, d.rows[0]!.bytes], [0, 24, 0, 1, 28]);
  assert.match(
    String(d),
    pattern`^\+0 tensors, \+24 bytes, 0 reclaimed by the garbage collector\n {2}1 × tensor
      float32 \[7\], 28 bytes, made at .*evidence\.test\.ts`,
  );
  t.dispose();
});

test("assertNoLeaks: passes, names what leaked, and works for async functions", async () => {
  memory.track("scope");
  assert.is(
    assertNoLeaks(() => {
      using _ = newDisposeScope();
      zeros([1]);
      return 7;
    }),
    7,
  );
  let leaked!: Tensor;
  const error = thrownBy(() =>
    memory.assertNoLeaks(() => {
      leaked = zeros([3]); /* leaks */
    }),
  );
  assert.instance(error, TenureError);
  assert.match(
    error.message,
    pattern`\+1 tensors, \+12 bytes.*\n {2}1 × tensor float32 \[3\], 12 bytes, made at
      .*evidence\.test\.ts`,
  );
  leaked.dispose();
  assert.is(
    await memory.assertNoLeaks(async () =>
      scopedAsync(async () => {
        zeros([1]);
        await sleep(1);
        return 8;
      }),
    ),
    8,
  );
  const later = await rejectionOf(
    memory.assertNoLeaks(async () => {
      await tick();
      leaked = zeros([4]);
    }),
  );
  assert.match(later.message, /\[4\]/);
  leaked.dispose();
  assert.throws(
    () =>
      memory.assertNoLeaks(() => {
        throw new Error("body");
      }),
    /^body$/,
  );
  using s = newDisposeScope();
  s.defer(() => undefined);
  assert.is(zeros([1]).isDisposed, false);
});

// === Why ===

test("why: owner, aliases, graph, gradient, module, pending read, nobody", async () => {
  const texts = (t: Tensor): string[] => memory.why(t).map((r) => `${r.kind}: ${r.text}`);
  using w = ones([2], { requiresGrad: true, name: "w" });
  const scope = newDisposeScope("owner"); // opened here
  const x = zeros([2], { name: "x" });
  assert.equal(
    memory.why(x).map((r) => r.kind),
    ["scope"],
  );
  assert.match(texts(x)[0]!, /tensor "x" float32 \[2\], in scope "owner" \(opened at .*\)/);
  assert.match(texts(x)[0]!, lineOf("opened here"));
  const alias = scope.detach(x.alias()); // detached here
  assert.equal(
    memory.why(x).map((r) => r.kind),
    ["scope", "alias"],
  );
  assert.match(texts(x)[1]!, /an alias detached at/);
  assert.match(texts(x)[1]!, lineOf("detached here"));
  assert.match(texts(alias)[0]!, /^holder: .*whoever holds it must dispose it$/);
  const y = scope.detach(w.mul(x));
  scope.dispose();
  assert.equal(
    memory
      .why(x)
      .map((r) => r.kind)
      .sort(),
    ["alias", "graph"],
  ); // the tensor is dead, its bytes are not
  assert.ok(
    texts(x).some((t) =>
      /saved by mul for the backward pass of tensor float32 \[2\], detached at/.test(t),
    ),
  );
  const reading = alias.data();
  assert.ok(texts(alias).includes("read: 1 pending read"));
  await reading;
  {
    using _ = newDisposeScope();
    y.sum().backward();
  }
  alias.dispose();
  y.dispose();
  assert.equal(memory.why(x), []);
  using g = w.grad!;
  assert.ok(
    texts(g).some((t) => t === 'gradient: the gradient of tensor "w" float32 [2]'),
    texts(g).join("\n"),
  );
  assert.throws(
    () => memory.why({}),
    (e: Error) => e instanceof ArgumentError,
  );
});

// === Watch ===

test("watch: a loop that leaks is told with its line, what leaks, and how it escaped", () => {
  const drifts: Drift[] = [],
    cache: Tensor[] = [];
  {
    using _ = memory.watch((d) => {
      drifts.push(d);
    });
    for (let i = 0; i < 40; i++) {
      using s = newDisposeScope("step"); // loop here
      const t = zeros([25]); // leak here
      zeros([1]);
      cache.push(s.detach(t), s.detach(t.add(1))); // escape here
    }
  }
  assert.is(drifts.length, 3); // after 8, 17 and 34 generations: ever more seldom
  const d = drifts[0]!;
  assert.match(d.site, lineOf("loop here"));
  assert.equal(
    [d.name, d.perGeneration, d.generations, d.bytesPerGeneration, d.rows.length],
    ["step", 2, 8, 200, 2],
  );
  assert.ok(
    d.rows.some((r) => lineOf("leak here").test(r.made)) &&
      d.rows.every(
        (r) =>
          lineOf("escape here").test(r.escaped) &&
          r.escaped.startsWith("detached at") &&
          r.count === 8,
      ),
  );
  assert.match(
    String(d),
    pattern`^"step" at .*evidence\.test\.ts:\d+:\d+ leaks 2 tensors per generation \(200
      bytes\), over 8 generations\n {2}8 × tensor float32 \[25\], made at .*, detached at`,
  );
  for (const t of cache) t.dispose();
});

test("watch: a loop that is flat, or is cleaned up from time to time, is not told", () => {
  const drifts: Drift[] = [],
    cache: Tensor[] = [];
  using _ = memory.watch((d) => {
    drifts.push(d);
  });
  for (let i = 0; i < 100; i++) {
    using s = newDisposeScope();
    cache.push(s.detach(zeros([1])));
    if (cache.length === 5) for (const t of cache.splice(0)) t.dispose();
  }
  assert.equal(drifts, []);
  for (const t of cache) t.dispose();
});

// === Scope reports ===

test("a scope's report names the lines that made the most", () => {
  using s = newDisposeScope("top");
  for (let i = 0; i < 3; i++) zeros([100]); // top site
  zeros([1]);
  s.dispose();
  const { topSites } = s.report();
  assert.equal([topSites.length, topSites[0]!.count, topSites[0]!.bytes], [2, 3, 1200]);
  assert.match(topSites[0]!.site, lineOf("top site"));
  assert.match(
    String(s.report()),
    /4 created, 0 attached, 4 disposed.*peak 1204\)\n {2}3 × at .*, 1200 bytes\n/,
  );
});

// === Timeline ===

test("timelineHTML is one page, chromeTrace the events that viewers read", async () => {
  eventLog().clear();
  {
    using _ = newDisposeScope("</script><b>&");
    const t = ones([1000]).add(1);
    await_(t);
    using inner = newDisposeScope("inner");
    zeros([10]);
    inner.dispose();
  }
  await sync();
  const html = memory.timelineHTML();
  assert.match(html, /^<!doctype html>/);
  assert.is((html.match(/<\/script>/g) ?? []).length, 2);
  assert.not.match(html, /<\/script><b>|https?:\/\/(?!www\.w3\.org\/2000\/svg)|<link|src=/);
  const inside = traceIn(html);
  assert.equal(inside, JSON.parse(JSON.stringify(memory.chromeTrace().tenure)));
  assert.ok(inside.scopes.some(([name]) => name === '"</script><b>&"'));
  assert.ok(inside.stacks.some(({ place }) => /evidence\.test\.ts:\d+:\d+$/.test(place)));

  const { traceEvents } = JSON.parse(JSON.stringify(memory.chromeTrace())) as {
    traceEvents: {
      ph: string;
      name: string;
      cat: string;
      ts: number;
      dur?: number;
      id?: number;
      tid: number;
      args?: Record<string, unknown>;
    }[];
  };
  const scopes = traceEvents.filter((e) => e.ph === "X" && e.cat === "scope");
  assert.equal(scopes.map((e) => e.name).sort(), ['"</script><b>&"', '"inner"']);
  assert.not(scopes[0]!.tid === scopes[1]!.tid);
  const begun = traceEvents.filter((e) => e.ph === "b"),
    ended = traceEvents.filter((e) => e.ph === "e");
  assert.equal(begun.map((e) => e.id).sort(), ended.map((e) => e.id).sort());
  assert.ok(begun.some((e) => e.args?.["bytes"] === 4000));
  assert.ok(traceEvents.some((e) => e.ph === "C" && Number(e.args?.["owned"]) > 0));
  assert.equal(
    traceEvents.map((e) => e.ts),
    traceEvents.map((e) => e.ts).sort((a, b) => a - b),
  );
});

/** The trace that a page shows. */
function traceIn(html: string): ReturnType<typeof memory.chromeTrace>["tenure"] {
  const [, json] = /<script type="application\/json" id="trace">(.*)<\/script>/.exec(html)!;
  return JSON.parse(json!) as ReturnType<typeof traceIn>;
}

function await_(t: Tensor): void {
  void t.data();
}

test("the log is a ring: it never grows, and says what it lost", () => {
  eventLog().clear();
  for (let i = 0; i < 40_000; i++) zeros([1]).dispose();
  assert.is(memory.chromeTrace().tenure.events.length, 2 ** 16);
  assert.match(memory.timelineHTML(), /"dropped":5\d{4},/);
  eventLog().clear();
  assert.is(traceIn(memory.timelineHTML()).events.length, 0);
});

// === Statistics ===

test("stats has TorchSharp's counters, ours, and bytes", () => {
  const s = memory.stats();
  for (const key of [
    "createdOutsideScopeCount",
    "disposedOutsideScopeCount",
    "createdInScopeCount",
    "disposedInScopeCount",
    "attachedToScopeCount",
    "detachedFromScopeCount",
    "threadTotalLiveCount",
    "moved",
    "carried",
    "orphaned",
    "finalized",
  ] as const) {
    assert.is(s[key], s.tensor[key] + s.container[key]);
  }
  for (const key of [
    "liveBytes",
    "peakBytes",
    "storages",
    "poolBytes",
    "deviceBytes",
    "devicePeakBytes",
  ] as const)
    assert.ok(s[key] >= 0, key);
  assert.match(
    String(s),
    pattern`live, .* created, .* disposed, .* reclaimed by the garbage collector; .* bytes
      owned, .* on the device \(.* free for reuse\)`,
  );
});

test.run();
