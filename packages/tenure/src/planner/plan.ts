/**
 * A plan as users hold it: what runs, with a report, a text, a format of its own, and `verify`.
 * Made by pipeline.ts. Owns no memory.
 */
import { type ProgramJSON, storageAt } from "../graph/program.ts";
import { type ComparePlacements, reportOf } from "./plan-figures.ts";
import { type PlanReport, explainReport } from "./plan-report.ts";
import { type PlanParts, RunnablePlan } from "./runnable-plan.ts";
import type { Step } from "./steps.ts";
import { verifyPlan } from "./verify.ts";

/** The plan's own format, version 1. */
export interface PlanJSON {
  version: 1;
  program: ProgramJSON;
  slots: { bytes: number; entry: string | null; exit: string | null; late?: true }[];
  steps: Step[];
  report: PlanReport;
}

/** The steps that run a program in some slots of memory, and what is known of them. */
export class Plan extends RunnablePlan {
  readonly #compare: ComparePlacements;

  /** @internal Made by the planner. */
  constructor(parts: PlanParts, compare: ComparePlacements) {
    super(parts);
    this.#compare = compare;
  }

  /** Its figures, some of which are computed on each call. */
  report(): PlanReport {
    return reportOf(this, this.#compare);
  }

  /** The report as an engineer would paste it into a pull request. */
  explain(): string {
    return explainReport(this.report(), this.program, this.slots.length, this.budgetBytes);
  }

  /** Everything in the plan's own format, for tools and for comparison. */
  toJSON(): PlanJSON {
    const id = (s: number): string | null => (s === -1 ? null : storageAt(this.program, s).id);
    return {
      version: 1,
      program: this.program.toJSON(),
      slots: this.slots.map(({ bytes, entry, exit, late }) => ({
        bytes,
        entry: id(entry),
        exit: id(exit),
        ...(late === true ? { late } : {}),
      })),
      steps: [...this.steps],
      report: this.report(),
    };
  }

  /**
   * Executes the plan symbolically against the program, trusting nothing the passes computed.
   * @throws Error (internal) at the first breach
   */
  verify(): void {
    verifyPlan(this);
  }
}
