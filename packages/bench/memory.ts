/**
 * What planning does to the memory of a training step. The first tables are plans of traced programs, made without a GPU: ResNet-50 as in the SINGA paper's
 * measurement, the curve of memory against computing again, and residual networks of up to 1,000 layers. The last one trains for real under a budget.
 * "Activations" is everything but parameters and optimizer states.
 */
import { init, shutdown } from "tenure";
import { BudgetError, type Plan, type Program, plan } from "tenure/scheduler";
import { deepResidual, resnet50 } from "./memory-models.ts";
import { table } from "./timing.ts";

const mb = (bytes: number): string => (bytes / 1e6).toFixed(1), percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

/** Bytes of parameters and optimizer states, which no schedule without swaps can lower. */
const fixedBytes = ({ storages }: Program): number => storages.reduce((sum, s) => (s.role === "param" || s.role === "state" ? sum + s.bytes : sum), 0);

/** Of the forward pass, once. */
const forwardFlops = ({ ops }: Program): number => ops.reduce((sum, op) => (op.phase === "forward" ? sum + op.flops : sum), 0);

/** Of the whole step, once. */
const stepFlops = ({ ops }: Program): number => ops.reduce((sum, op) => sum + op.flops, 0);

/**
 * What a library holds that runs ops in issue order and frees each storage once the last op that mentions it has run: nothing here is shared with the planner.
 * @returns the most bytes held at one time, and the sum of all
 */
function eager({ storages, ops }: Program): { peak: number; sum: number } {
  const last = new Map<number, number>(), held = new Set<number>();
  let now = 0, peak = 0, sum = 0;
  ops.forEach((op, i) => { for (const s of [...op.reads, ...op.writes]) last.set(s, i); });
  const hold = (s: number): void => { if (!held.has(s)) { held.add(s); now += storages[s]!.bytes; sum += storages[s]!.bytes; } };
  const made = new Set<number>();
  for (const op of ops) { for (const r of op.reads) if (!made.has(r)) hold(r); for (const w of op.writes) made.add(w); } // from before the step
  for (const [i, op] of ops.entries()) {
    for (const w of op.writes) hold(w);
    peak = Math.max(peak, now);
    for (const s of new Set([...op.reads, ...op.writes])) if (last.get(s) === i && !storages[s]!.pinned) { held.delete(s); now -= storages[s]!.bytes; }
  }
  return { peak, sum };
}

/** Recomputed ops that are convolutions or matrix products: what does far more than reading its inputs. */
const heavy = ({ program, steps }: Plan): number => steps.filter((s) => s.kind === "recompute" && /conv|matmul|linear/i.test(program.ops[s.op!]!.name)).length;

/** The plan within a budget, or what least one would do. */
function within(program: Program, budgetBytes: number): Plan {
  try {
    return plan(program, { budgetBytes, swap: "off" });
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    return plan(program, { budgetBytes: error.leastBytes, swap: "off" });
  }
}

/** MB that SINGA's graph needs for the same step (its pull request 626, ResNet-50 on an RTX 2080 Ti). */
const singa: Readonly<Record<number, number>> = { 16: 3105, 32: 6517 };

function resnetTables(): string {
  const rows: string[][] = [], curve: string[][] = [];
  for (const batch of [16, 32]) {
    const start = performance.now(), program = resnet50(batch), traced = performance.now(), planned = plan(program, { recompute: "auto" }), end = performance.now();
    planned.verify();
    const { plannedBytes } = planned, { peak, sum } = eager(program), fixed = fixedBytes(program), r = planned.report();
    rows.push([String(batch), String(program.ops.length), (traced - start).toFixed(0), (end - traced).toFixed(0), mb(sum), mb(peak), mb(singa[batch]! * 1e6), mb(plannedBytes), mb(r.lowerBoundBytes),
      `−${percent(peak - plannedBytes, peak)}`, `−${percent(singa[batch]! * 1e6 - plannedBytes, singa[batch]! * 1e6)}`, String(r.recomputedOps), String(heavy(planned)), percent(r.recomputeFlops, forwardFlops(program))]);
    for (const share of batch === 16 ? [0.8, 0.6, 0.5, 0.4, 0.35, 0.3, 0.27, 0.25, 0.22, 0.2, 0.18] : [0.5, 0.3, 0.25, 0.2]) {
      const before = performance.now(), tight = within(program, fixed + share * (peak - fixed)), seconds = (performance.now() - before) / 1000;
      tight.verify();
      const { recomputeFlops, recomputedOps } = tight.report(), activations = tight.plannedBytes - fixed;
      curve.push([String(batch), mb(tight.plannedBytes), mb(activations), (activations / (peak - fixed)).toFixed(3), percent(recomputeFlops, forwardFlops(program)), percent(recomputeFlops, stepFlops(program)), String(recomputedOps), seconds.toFixed(1), tight.how]);
    }
  }
  return `## ResNet-50, 224×224, SGD with momentum\n\nMB. (a) nothing is recycled; (b) issue order, freed when the last reference goes; (c) what SINGA's graph needed. Planned with \`recompute: "auto"\` and no budget: only cheap ops run again.\n\n${
    table(["batch", "ops", "trace ms", "plan ms", "(a)", "(b)", "(c)", "planned", "lower bound", "planned / (b)", "planned / (c)", "ops again", "of them conv or matmul", "forward flops again"], rows)}\n\n## Memory against computing again\n\nResNet-50 under a budget, without swaps. The share is activations over those of (b).\n\n${
    table(["batch", "planned MB", "activations MB", "share", "more forward flops", "more flops of the step", "ops again", "plan s", "schedule"], curve)}`;
}

/** Depths of the residual networks; batch 8, 32×32, bottlenecks of 16 channels. */
const depths = [125, 250, 500, 1000];

function deepTable(): string {
  const rows: string[][] = [];
  for (const depth of depths) {
    const program = deepResidual(depth, 8), { peak } = eager(program), fixed = fixedBytes(program), base = peak - fixed, folded = plan(program, { recompute: "auto" });
    // Square-root law: activations grow as the root of the depth.
    const target = base * 0.25 * Math.sqrt(125 / depth), before = performance.now(), tight = within(program, fixed + target), seconds = (performance.now() - before) / 1000;
    tight.verify();
    const { recomputeFlops } = tight.report(), activations = tight.plannedBytes - fixed;
    rows.push([String(depth), String(program.ops.length), mb(base), mb(folded.plannedBytes - fixed), mb(activations), (activations / base).toFixed(3), (Math.log2(base / activations)).toFixed(2), percent(recomputeFlops, forwardFlops(program)), percent(recomputeFlops, stepFlops(program)), seconds.toFixed(1)]);
  }
  return `## Residual networks of up to 1,000 layers\n\nActivations in MB, batch 8, 32×32 images. Published (Chen et al. 2016): 48 to 7 GB, a share of 0.146, for about 30 % more time of the step.\n\n${
    table(["layers", "ops", "(b)", "cheap ops again", "planned", "share", "halvings", "more forward flops", "more flops of the step", "plan s"], rows)}`;
}

export async function run(): Promise<string> {
  await init({ device: "null" });
  const tables = [resnetTables(), deepTable()];
  await shutdown();
  return tables.join("\n\n");
}
