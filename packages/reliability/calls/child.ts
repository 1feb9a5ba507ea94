/**
 * One process of hostile calls, started by main.ts. Writes the number of each call into a file
 * before it makes it, so that the parent knows which one ended or stopped the process, and sends
 * everything else as messages.
 */
import { mkdtempSync, openSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, memory, setWarnSink, shutdown } from "tenure";
import { Random } from "../random.ts";
import { readDeclarations } from "./declarations.ts";
import { CallersError } from "./environment.ts";
import { perform, wrongError, wrongName } from "./judge.ts";
import { makeRecipes } from "./recipes.ts";
import { type Case, Trial } from "./trial.ts";

/** How many calls: about so many altogether, or at least so many of each callee. */
export type Count = number | { readonly each: number };

/** What the parent asks for. */
export interface Order {
  readonly seed: number;
  /** About so many calls, or so many of each callee at least; all unless given. */
  readonly count: Count | undefined;
  /** The first call to make. */
  readonly from: number;
  /** Only callees whose name matches this regular expression. */
  readonly only: string | undefined;
  readonly progress: string;
}

/** What the child tells. */
export type Told =
  | { readonly kind: "found"; readonly callees: number; readonly missing: readonly string[] }
  | {
      readonly kind: "problem";
      readonly label: string;
      readonly hostile: string;
      readonly text: string;
    }
  | { readonly kind: "done"; readonly calls: number; readonly refused: number };

/** What everybody shares is set back after these. */
const sharing = /^(init|shutdown|setWarnSink|manualSeed|memory\.(setBudget|track))$/;

/** These take disposers: one that is async fails beside a scope that ends at once. */
const disposers = /\.(adopt|defer)\(/;

async function reset(): Promise<void> {
  setWarnSink(() => undefined);
  memory.track("off");
  memory.setBudget(Infinity, "report");
  await shutdown();
  await init({ device: "null" });
}

function tell(told: Told): void {
  if (process.send === undefined) console.log(JSON.stringify(told));
  else process.send(told);
}

async function work(order: Order): Promise<void> {
  process.chdir(mkdtempSync(join(tmpdir(), "calls-")));
  await reset();
  // Calls since the last turn of the event loop: Node tells of rejections between turns.
  const recent: string[] = [];
  process.on("unhandledRejection", (error) => {
    const label = [...new Set(recent)].join(" or ");
    if (!(error instanceof CallersError))
      tell({ kind: "problem", label, hostile: "", text: `unhandled: ${String(error)}` });
    else if (!recent.some((one) => disposers.test(one)))
      tell({ kind: "problem", label, hostile: "", text: "the caller's rejection is unhandled" });
  });
  const trial = new Trial(readDeclarations(), await makeRecipes());
  const { working, missing } = await trial.find();
  tell({ kind: "found", callees: working.length, missing });
  const chosen = working.filter(({ callee }) => new RegExp(order.only ?? "").test(callee.name));
  const takes = taking(order, [...trial.cases(chosen)]),
    progress = openSync(order.progress, "w");
  const done = { calls: 0, refused: 0 };
  let index = -1;
  for (const one of trial.cases(chosen)) {
    index++;
    if (!takes(one) || index < order.from) continue;
    writeSync(
      progress,
      `${index} ${done.calls} ${done.refused} ${one.label} = ${one.hostile}`.padEnd(200),
      0,
    );
    recent.push(one.label);
    done.calls++;
    if (await refused(one)) done.refused++;
    if (sharing.test(one.name)) await reset();
    if (done.calls % 20 === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      recent.splice(0, recent.length - 20); // of the turn before, whose rejections come now
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  tell({ kind: "done", ...done });
}

/** Says of each case, in their order, whether it is made. */
function taking({ count, seed }: Order, all: readonly Case[]): (one: Case) => boolean {
  const random = new Random(seed);
  if (count === undefined || typeof count === "number") {
    const share = (count ?? all.length) / all.length;
    return () => random.chance(share);
  }
  const total = new Map<string, number>(),
    seen = new Map<string, number>();
  for (const { name } of all) total.set(name, (total.get(name) ?? 0) + 1);
  return ({ name }) => {
    const at = seen.get(name) ?? 0,
      every = Math.max(1, Math.floor((total.get(name) ?? 1) / count.each));
    seen.set(name, at + 1);
    return at % every === seed % every;
  };
}

/** Makes a call and tells what is wrong; whether it was refused. */
async function refused({ name, label, hostile, invocation }: Case): Promise<boolean> {
  const { threw, error, unmade, problems } = await perform(invocation);
  const wrong = threw && !unmade ? (wrongError(error) ?? wrongName(name, error)) : undefined;
  for (const text of wrong === undefined ? problems : [wrong, ...problems])
    tell({ kind: "problem", label, hostile, text });
  return threw;
}

await work(JSON.parse(process.argv[2] ?? "") as Order);
if (process.connected) process.disconnect();
process.exit();
