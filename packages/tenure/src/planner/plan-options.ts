/**
 * Options of plans and schedulers, checked and completed. Nothing else reads user options.
 */
import { ArgumentError } from "../base/errors.ts";
import { checkFlag, checkOptions, describeValue } from "../base/options.ts";
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

const known = [
  "budgetBytes",
  "prefetchBytes",
  "recompute",
  "swap",
  "placement",
  "saveHostMemory",
  "fuse",
  "maxStorageBytes",
  "rates",
];

/** @throws ArgumentError for unknown options and values that make no sense */
export function resolveOptions(op: string, options: PlanOptions): Policy {
  const bytes = (
    name: "budgetBytes" | "prefetchBytes" | "maxStorageBytes",
    least: number,
  ): number | undefined => {
    const value = options[name];
    if (value !== undefined && !(typeof value === "number" && value >= least))
      throw new ArgumentError(
        op,
        `${name} to be a number of bytes${least > 0 ? " above 0" : ""}`,
        String(value),
      );
    return value;
  };
  const one = (name: "recompute" | "swap" | "placement", values: readonly string[]): void => {
    const value = options[name];
    if (value !== undefined && !(typeof value === "string" && values.includes(value)))
      throw new ArgumentError(
        op,
        `${name} to be one of ${values.join(", ")}`,
        JSON.stringify(value) ?? "undefined",
      );
  };
  for (const key of Object.keys(options))
    if (!known.includes(key))
      throw new ArgumentError(
        op,
        `the options ${known.join(", ")}`,
        JSON.stringify(key),
        "check the spelling",
      );
  const { recompute } = options,
    rates = options.rates ?? {};
  if (typeof recompute === "object") {
    checkOptions(op, recompute, ["thresholdBytes"]);
    if (!(recompute.thresholdBytes >= 0))
      throw new ArgumentError(
        op,
        "thresholdBytes to be a number of bytes",
        String(recompute.thresholdBytes),
      );
  } else one("recompute", ["off", "auto"]);
  if (options.fuse !== undefined && typeof options.fuse !== "boolean")
    throw new ArgumentError(op, "fuse to be true or false", JSON.stringify(options.fuse));
  checkFlag(op, "saveHostMemory", options.saveHostMemory);
  checkOptions(op, rates, Object.keys(defaultRates));
  for (const [name, rate] of Object.entries(rates))
    if (!(typeof rate === "number" && rate > 0))
      throw new ArgumentError(
        op,
        `${name} to be a rate above 0`,
        describeValue(rate),
        "pass what was measured, or leave it out",
      );
  one("swap", ["off", "auto"]);
  one("placement", ["slots", "none"]);
  const budgetBytes = bytes("budgetBytes", Number.MIN_VALUE) ?? Infinity,
    limited = budgetBytes !== Infinity;
  return {
    budgetBytes,
    prefetchBytes: bytes("prefetchBytes", 0) ?? Infinity,
    recompute: recompute ?? (limited ? "auto" : "off"),
    swap: options.swap ?? (limited ? "auto" : "off"),
    placement: options.placement ?? "slots",
    saveHostMemory: options.saveHostMemory ?? false,
    maxStorageBytes: bytes("maxStorageBytes", Number.MIN_VALUE) ?? Infinity,
    rates: { ...defaultRates, ...rates },
  };
}
