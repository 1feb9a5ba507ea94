/**
 * Options of plans and schedulers, checked and completed. Nothing else reads user options.
 */
import { type OptionTable, checkArgument, readOptions } from "../base/options.ts";
import { type Rates, defaultRates } from "./cost.ts";

/** What `plan` and `Scheduler` take. */
export interface PlanOptions {
  /** Most bytes resident at any time. None unless given. */
  readonly budgetBytes?: number;
  /**
   * How far ahead values are fetched from the host, in bytes of arrays touched in between; 1.5
   * times the budget unless given.
   */
  readonly prefetchBytes?: number;
  /**
   * `off`: never. `auto` (the default with a budget): as needed; without a budget, ops that cost
   * little more than reading their inputs. `{ thresholdBytes }`: memonger's plan, which keeps one
   * value whenever that many bytes lie since the last.
   */
  readonly recompute?: "off" | "auto" | { readonly thresholdBytes: number };
  /**
   * `auto` (the default with a budget): values move to the host when that is cheaper than computing
   * them again.
   */
  readonly swap?: "off" | "auto";
  /** `slots`: storages share buffers over time. `none`: each has its own. */
  readonly placement?: "slots" | "none";
  /** Host memory holds one copy of what was swapped: it is dropped when the value comes back. */
  readonly saveHostMemory?: boolean;
  /**
   * Fuses elementwise ops with each other and with reductions, matrix products and convolutions;
   * needs ops with `fuse` facts, which traced programs have.
   */
  readonly fuse?: boolean;
  /** Largest buffer the device allows. */
  readonly maxStorageBytes?: number;
  /** Measured rates of the device. */
  readonly rates?: Partial<Rates>;
}

/** Options that were checked and completed: what the passes go by. */
export interface Policy {
  readonly budgetBytes: number;
  readonly prefetchBytes: number;
  readonly recompute: "off" | "auto" | { readonly thresholdBytes: number };
  readonly swap: "off" | "auto";
  readonly placement: "slots" | "none";
  readonly saveHostMemory: boolean;
  readonly maxStorageBytes: number;
  readonly rates: Rates;
}

const bytes = { type: "number", range: "[0, Infinity]", remedy: "pass a number of bytes" } as const;
const someBytes = { ...bytes, range: "(0, Infinity]" } as const;
const automatic = { type: "choice", of: ["off", "auto"] } as const;
const rate = {
  type: "number",
  range: "(0, Infinity]",
  remedy: "pass what was measured, or leave it out",
} as const;

const rateOptions = {
  flopsPerSecond: { ...rate, default: defaultRates.flopsPerSecond },
  outBytesPerSecond: { ...rate, default: defaultRates.outBytesPerSecond },
  inBytesPerSecond: { ...rate, default: defaultRates.inBytesPerSecond },
} satisfies OptionTable<Rates>;

const recomputeOptions = {
  thresholdBytes: { ...bytes, required: true },
} satisfies OptionTable<{ thresholdBytes: number }>;

/** Rows of what `plan` and `Scheduler` take. */
export const planOptions = {
  budgetBytes: someBytes,
  prefetchBytes: bytes,
  recompute: { type: "any", check: checkRecompute },
  swap: automatic,
  placement: { type: "choice", of: ["slots", "none"] },
  saveHostMemory: { type: "flag" },
  fuse: { type: "flag" },
  maxStorageBytes: someBytes,
  rates: { type: "options", of: rateOptions },
} satisfies OptionTable<PlanOptions>;

function checkRecompute(op: string, value: unknown): void {
  const nested = typeof value === "object" && value !== null;
  checkArgument(
    op,
    "recompute",
    value,
    nested ? { type: "options", of: recomputeOptions } : automatic,
  );
}

/** @throws ArgumentError for unknown options and values that make no sense */
export function resolveOptions(op: string, options: PlanOptions): Policy {
  const given = readOptions(op, options, planOptions);
  const { budgetBytes = Infinity } = given;
  const reduction = budgetBytes === Infinity ? "off" : "auto";
  return {
    budgetBytes,
    prefetchBytes: given.prefetchBytes ?? Infinity,
    recompute: given.recompute ?? reduction,
    swap: given.swap ?? reduction,
    placement: given.placement ?? "slots",
    saveHostMemory: given.saveHostMemory ?? false,
    maxStorageBytes: given.maxStorageBytes ?? Infinity,
    rates: readOptions(op, given.rates, rateOptions),
  };
}
