/**
 * What owning a tensor costs: making its handle and wrapper, putting it into a scope or a `using`,
 * and ending it, per tracking level, against making an empty object and against a whole recorded
 * op. `run()` returns one markdown table. Times are of one machine; the ratios travel. Private; not
 * part of any package.
 */
import { type TrackLevel, init, memory, newDisposeScope, shutdown, zeros } from "tenure";
import { contiguousLayout } from "../tenure/src/base/layout.ts";
import { addScalar } from "../tenure/src/ops/arithmetic.ts";
import { f32Bits } from "../tenure/src/kernels/kernel.ts";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { currentScope } from "../tenure/src/ownership/open.ts";
import { HANDLE } from "../tenure/src/ownership/handle.ts";
import type { Storage } from "../tenure/src/runtime/storage.ts";
import { TensorHandle } from "../tenure/src/tensor/body.ts";
import { runOp } from "../tenure/src/tensor/run.ts";
import { Tensor } from "../tenure/src/tensor/tensor.ts";

const layout = contiguousLayout([2, 3]);
/** Keeps results from being optimised away. */
export const sink: { value: unknown } = { value: null };

/**
 * Nanoseconds per repetition: the mean over many jobs, collection of garbage included, and the best
 * of several such means.
 */
async function time(job: (n: number) => void, jobs: number, perJob = 1000): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < 7; round++) {
    let spent = 0;
    for (let i = 0; i < jobs; i++) {
      const begun = performance.now();
      job(perJob);
      await Promise.resolve(); // the checkpoint
      spent += performance.now() - begun;
      const { recorder } = runtime();
      recorder.recycle(recorder.take()); // recording is timed, running is not
      if (i % 20 === 19)
        await new Promise((resolve) => {
          setTimeout(resolve, 0);
        });
    }
    if (round > 0) best = Math.min(best, (spent * 1e6) / (jobs * perJob));
  }
  return best;
}

type Variant = (n: number) => void;

/** Ways to create, own and dispose `n` tensors, and what a bare object costs beside them. */
function variants(storage: Storage): Record<
  "empty" | "bare" | "inScope" | "withUsing" | "smallScopes" | "surviving",
  Variant
> & {
  end: () => void;
} {
  const made = (): Tensor =>
    new Tensor(new TensorHandle(storage, layout, "float32", null), currentScope());
  const survivors: Tensor[] = [];
  const end = (): void => {
    for (const t of survivors.splice(0)) t.dispose();
  };
  return {
    empty: (n) => {
      for (let i = 0; i < n; i++) sink.value = {};
    },
    // What a tensor is made of, owned by nobody: handle, wrapper-sized object, one reference taken
    // and given back.
    bare: (n) => {
      for (let i = 0; i < n; i++) {
        const h = new TensorHandle(storage, layout, "float32", null);
        sink.value = { handle: h };
        h.discard();
      }
    },
    inScope: (n) => {
      const s = newDisposeScope();
      for (let i = 0; i < n; i++) sink.value = made();
      s.dispose();
    },
    withUsing: (n) => {
      for (let i = 0; i < n; i++) {
        using t = made();
        sink.value = t;
      }
    },
    // In small scopes, as training steps have them: 10 tensors each.
    smallScopes: (n) => {
      for (let i = 0; i < n; i += 10) {
        using _ = newDisposeScope();
        for (let k = 0; k < 10; k++) sink.value = made();
      }
    },
    // Alive at the end of their job, disposed in the next.
    surviving: (n) => {
      end();
      for (let i = 0; i < n; i++) survivors.push(made());
    },
    end,
  };
}

/** Nanoseconds of recording an addition: without an owner, and in a scope. */
async function recording(handle: TensorHandle): Promise<[unowned: number, owned: number]> {
  const params = { dtype: "float32", reverse: false } as const,
    words = [f32Bits(1)];
  const unowned = (n: number): void => {
    for (let i = 0; i < n; i++)
      for (const out of runOp(addScalar, [handle], params, words)) out.discard();
  };
  const owned = (n: number): void => {
    const s = newDisposeScope();
    for (let i = 0; i < n; i++)
      sink.value = new Tensor(runOp(addScalar, [handle], params, words)[0]!, currentScope());
    s.dispose();
  };
  return [await time(unowned, 500, 100), await time(owned, 500, 100)];
}

/** The table of what ownership costs, on the adapter that computes nothing. */
export async function run(): Promise<string> {
  await shutdown();
  await init({ device: "null" });
  const { settings, recorder } = runtime();
  const { maxOps, maxPendingBytes } = settings;
  settings.maxOps = settings.maxPendingBytes = Infinity;
  const storage = recorder.storage(24, "activation").retain();
  using x = zeros([2, 3]);
  const way = variants(storage);

  const object = await time(way.empty, 200),
    body = await time(way.bare, 200);
  const rows: string[] = [];
  const levels = ["off", "scope", "sampled", "full"] as const satisfies readonly TrackLevel[];
  for (const level of levels) {
    memory.track(level);
    const jobs = level === "full" ? 3 : 200;
    const cells = [
      await time(way.inScope, jobs),
      await time(way.smallScopes, jobs),
      await time(way.withUsing, jobs),
      await time(way.surviving, jobs),
    ];
    rows.push(
      `| ${level} | ${cells.map((ns) => ns.toFixed(0)).join(" | ")} | ` +
        `${(cells[0]! - body).toFixed(0)} | ${(cells[0]! / object).toFixed(1)} |`,
    );
  }
  memory.track("off");
  const [alone, owned] = await recording(x[HANDLE]);
  memory.track("sampled");
  way.end();
  storage.release();
  Object.assign(settings, { maxOps, maxPendingBytes });
  await shutdown();

  return [
    "| tracking | one scope of 1,000 | scopes of 10 | `using` each | outlives its job | " +
      "beyond the bare handle | × empty object |",
    "| --- | --: | --: | --: | --: | --: | --: |",
    ...rows,
    "",
    "Nanoseconds per tensor for create + own + dispose, no op run. " +
      `Empty object ${object.toFixed(1)} ns, bare handle ${body.toFixed(0)} ns.`,
    `Recording an addition: ${alone.toFixed(0)} ns without owner, ${owned.toFixed(0)} ns in a ` +
      `scope, tracking off: ${(owned - alone).toFixed(0)} ns for ownership.`,
    `Node ${process.version}, ${process.arch}.`,
  ].join("\n");
}
