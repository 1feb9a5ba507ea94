/**
 * `npm run bench -- peers`: Tenure beside TF.js, jax-js and ONNX Runtime on one adapter. Each
 * library has a process of its own; in each round the processes run in turns, so that a slow moment
 * hits all of them. Results are compared before anything is timed. The peers are installed here and
 * nowhere else: `npm ci --ignore-scripts --prefix packages/bench/peers`.
 *
 *     --adapter=swiftshader|lavapipe|system  --rows=matmul,mlp  --peers=tfjs,jax-js  --rounds=9
 *
 * `--rows` takes parts of names. The workers and their devices end with each row's rounds (first
 * steps: with each step) or with this process.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, table } from "../timing.ts";
import { type AdapterName, adapterNames, useAdapter } from "./adapter.ts";
import type { Answer, Order, PeerName } from "./orders.ts";
import { type Row, rows } from "./rows.ts";

const here = import.meta.dirname;
const packages: Readonly<Record<Exclude<PeerName, "tenure">, string>> = {
  tfjs: "@tensorflow/tfjs-backend-webgpu",
  "jax-js": "@jax-js/jax",
  onnxruntime: "onnxruntime-node",
};
const allPeers = Object.keys(packages) as (keyof typeof packages)[];
const titles: Readonly<Record<PeerName, string>> = {
  tenure: "Tenure",
  tfjs: "TF.js",
  "jax-js": "jax-js `jit`",
  onnxruntime: "ONNX Runtime",
};

/** Milliseconds of each round. */
interface Times {
  readonly ms: number[];
  readonly cpu: number[];
}

/** A library's times in a row, or why there are none. */
type Cell = Times | string;

/** One worker. */
class Worker {
  readonly #process: ChildProcess;
  adapter: string | undefined;
  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async start(peer: PeerName, adapter: AdapterName): Promise<Worker> {
    const env = {
      ...process.env,
      NODE_ENV: "production",
      MESA_SHADER_CACHE_DISABLE: "true",
      TENURE_DEVICE: "auto",
    };
    const worker = new Worker(fork(join(here, "worker.ts"), [peer, adapter], { env }));
    const { adapter: found, error } = await worker.#answer();
    if (error !== undefined) throw new Error(`peers: ${peer} ${error} before it was set up`);
    worker.adapter = found;
    return worker;
  }

  async #answer(): Promise<Answer> {
    const stop = new AbortController();
    const { signal } = stop;
    try {
      return await Promise.race([
        once(this.#process, "message", { signal }).then(([a]) => a as Answer),
        once(this.#process, "exit", { signal }).then(([code]) => ({ error: `ended with ${code}` })),
      ]);
    } finally {
      stop.abort();
    }
  }

  async ask(order: Order): Promise<Answer> {
    if (!this.#process.connected) return { error: "the process is gone" };
    this.#process.send(order);
    return this.#answer();
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill();
    await ended;
  }
}

/** What `--…` said. */
interface Settings {
  readonly adapter: AdapterName;
  readonly rows: readonly Row[];
  readonly peers: readonly PeerName[];
  readonly rounds: number;
}

function settingsOf(flags: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      adapter: { type: "string", default: "swiftshader" },
      rows: { type: "string", default: "" },
      peers: { type: "string", default: allPeers.join() },
      rounds: { type: "string", default: "9" },
    },
  });
  const adapter = adapterNames.find((a) => a === values.adapter);
  const peers = allPeers.filter((p) => values.peers.split(",").includes(p));
  const wanted = rows.filter((r) => values.rows.split(",").some((part) => r.name.includes(part)));
  const rounds = Number(values.rounds);
  if (adapter === undefined || wanted.length === 0 || !(rounds >= 1))
    throw new Error(
      `peers: expected --adapter=${adapterNames.join("|")}, --rows= of ` +
        `${rows.map((r) => r.name).join()} and --rounds=1 or more, got ${flags.join(" ")}`,
    );
  if (peers.length > 0 && !existsSync(join(here, "node_modules")))
    throw new Error(
      "peers: expected the peers to be installed, got none; run " +
        "`npm ci --ignore-scripts --prefix packages/bench/peers`",
    );
  return { adapter, rows: wanted, peers: ["tenure", ...peers], rounds };
}

/** Whether two results agree to four digits of the greatest number in them. */
function agree(a: readonly number[], b: readonly number[]): boolean {
  const scale = Math.max(...a.map(Math.abs), 1e-6);
  return a.length === b.length && a.every((x, i) => Math.abs(x - (b[i] ?? NaN)) <= 1e-4 * scale);
}

type Workers = ReadonlyMap<PeerName, Worker>;

/** Rounds of a row whose programs stay. */
async function steady(row: Row, workers: Workers, rounds: number): Promise<Map<PeerName, Cell>> {
  const cells = new Map<PeerName, Cell>();
  const times = new Map<PeerName, number>();
  let expected: readonly number[] | undefined;
  for (const [name, worker] of workers) {
    const { error, values } = await worker.ask({ what: "make", row: row.name });
    expected ??= values;
    if (values === undefined) cells.set(name, error ?? "–");
    else if (!agree(expected ?? [], values)) cells.set(name, `other result`);
    else {
      await worker.ask({ what: "run", row: row.name, times: 2 });
      const { ms = 1 } = await worker.ask({ what: "run", row: row.name, times: 2 });
      times.set(name, Math.max(1, Math.min(50, Math.round(150 / ms))));
      cells.set(name, { ms: [], cpu: [] });
    }
  }
  for (let r = 0; r < rounds; r++)
    for (const [name, count] of times) {
      const cell = cells.get(name);
      const answer = await workers.get(name)?.ask({ what: "run", row: row.name, times: count });
      if (typeof cell === "object") note(cells, name, cell, answer);
    }
  for (const name of times.keys()) await workers.get(name)?.ask({ what: "end", row: row.name });
  return cells;
}

/** Rounds of first steps: each in a fresh process. */
async function first(row: Row, settings: Settings): Promise<Map<PeerName, Cell>> {
  const cells = new Map<PeerName, Cell>();
  for (let r = 0; r < settings.rounds; r++)
    for (const name of settings.peers) {
      const cell = cells.get(name) ?? { ms: [], cpu: [] };
      if (typeof cell === "string") continue;
      const worker = await Worker.start(name, settings.adapter);
      note(cells, name, cell, await worker.ask({ what: "first", row: row.name }));
      await worker.end();
    }
  return cells;
}

/** Adds a round, or says why there is none. */
function note(
  cells: Map<PeerName, Cell>,
  name: PeerName,
  cell: Times,
  answer: Answer | undefined,
): void {
  const { error, ms, cpu } = answer ?? {};
  if (ms === undefined || cpu === undefined) cells.set(name, error ?? "–");
  else cells.set(name, { ms: [...cell.ms, ms], cpu: [...cell.cpu, cpu] });
}

const digits = (ms: number): string => (ms >= 100 ? ms.toFixed(0) : ms.toPrecision(3));

/** Median, and the quartiles. */
function text(cell: Cell | undefined): string {
  if (cell === undefined || typeof cell === "string") return cell ?? "–";
  const sorted = [...cell.ms].sort((a, b) => a - b);
  const at = (share: number): string =>
    digits(sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN);
  return `${digits(median(cell.ms))} (${at(0.25)}–${at(0.75)})`;
}

/** How many times faster than the best peer, by `of`. */
function against(cells: ReadonlyMap<PeerName, Cell>, of: "ms" | "cpu"): string {
  const medians = [...cells].flatMap(([name, cell]) =>
    typeof cell === "string" ? [] : [{ name, value: median(cell[of]) }],
  );
  const ours = medians.find((m) => m.name === "tenure");
  const [best] = medians.filter((m) => m.name !== "tenure").sort((a, b) => a.value - b.value);
  if (ours === undefined || best === undefined) return "–";
  const ratio = `${(best.value / ours.value).toFixed(2)} ×`;
  return of === "ms" ? `${ratio} ${titles[best.name]}` : ratio;
}

function versionOf(name: keyof typeof packages): string {
  const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return `${titles[name]} ${manifest.dependencies[packages[name]]}`;
}

/** The table. */
export async function run(flags: readonly string[]): Promise<string> {
  const settings = settingsOf(flags);
  const lines: string[][] = [];
  await useAdapter(settings.adapter);
  const adapters = new Set<string>();
  for (const row of settings.rows) {
    const workers = new Map<PeerName, Worker>();
    let cells: Map<PeerName, Cell>;
    try {
      if (row.first !== true)
        for (const name of settings.peers) {
          const worker = await Worker.start(name, settings.adapter);
          workers.set(name, worker);
          if (worker.adapter !== undefined) adapters.add(worker.adapter);
        }
      cells =
        row.first === true
          ? await first(row, settings)
          : await steady(row, workers, settings.rounds);
    } finally {
      for (const worker of workers.values()) await worker.end();
    }
    lines.push([
      row.about,
      ...settings.peers.map((p) => text(cells.get(p))),
      against(cells, "ms"),
      against(cells, "cpu"),
    ]);
    console.error(lines.at(-1)?.join(" | "));
  }
  const versions = settings.peers.flatMap((p) => (p === "tenure" ? [] : [versionOf(p)]));
  return [
    `${[...adapters].join(" and ") || settings.adapter}. ${versions.join(", ")}.`,
    `Milliseconds: median (quartiles) of ${settings.rounds} rounds, the libraries in turns, each ` +
      "in a process of its own. First steps are in fresh processes with no shader cache, without " +
      "the time to load the library and to find the device. CPU: the same ratio by the time of " +
      "all threads.",
    table(
      ["row", ...settings.peers.map((p) => titles[p]), "Tenure to the best peer", "by CPU time"],
      lines,
    ),
  ].join("\n\n");
}
