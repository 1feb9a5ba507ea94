/**
 * Loss scaling for training in float16 (Micikevicius et al. 2018; torch.amp.GradScaler): small
 * gradients are multiplied away from zero and divided again in float32, and a step whose gradients
 * overflowed is skipped. Called by training loops. It owns one flag per optimizer between `unscale`
 * and `step`.
 */
import { ArgumentError, TenureError } from "../base/errors.ts";
import { checkFlag, checkOptions, describeValue } from "../base/options.ts";
import { noGrad } from "../autograd/mode.ts";
import { newDisposeScope } from "../ownership/scope.ts";
import { scoped } from "../ownership/scoped.ts";
import { labelled } from "../tensor/step.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkNumber } from "./optimizer.ts";

export interface GradScalerOptions {
  /** What losses are multiplied by at first. */
  readonly initialScale?: number;
  /** The scale grows by this factor after `growthInterval` steps without an overflow … */
  readonly growthFactor?: number;
  /** … and shrinks by this one at each overflow. */
  readonly backoffFactor?: number;
  readonly growthInterval?: number;
  /** Off, everything passes through: the same loop trains in float32. */
  readonly enabled?: boolean;
}

/** Plain numbers: what a checkpoint keeps. */
export interface GradScalerState {
  readonly scale: number;
  readonly growthTracker: number;
  readonly taken: number;
  readonly skipped: number;
}

/** What the scaler needs of an optimizer. */
interface Stepping {
  readonly parameters: readonly Tensor[];
  step(): void;
}

/**
 * ```ts
 * const scaler = new GradScaler();
 * let stepped: Promise<boolean>;
 * {
 *   using _ = newDisposeScope();
 *   const loss = autocast(() => criterion.call(model.call(x), y));
 *   optimizer.zeroGrad();
 *   scaler.scale(loss).backward();
 *   stepped = scaler.step(optimizer); // reads one flag: true when the step was taken
 * }
 * await stepped;
 * scaler.update();
 * ```
 */
export class GradScaler implements Disposable {
  readonly #options: Required<GradScalerOptions>;
  #scale: number;
  /** Steps since the scale last changed. */
  #tracker = 0;
  #taken = 0;
  #skipped = 0;
  /** Whether gradients were finite, per optimizer that was unscaled and has not stepped yet. */
  readonly #finite = new Map<Stepping, Tensor>();
  #sinceUpdate = { steps: 0, overflow: false };

  constructor(options: GradScalerOptions = {}) {
    checkOptions("GradScaler", options, [
      "initialScale",
      "growthFactor",
      "backoffFactor",
      "growthInterval",
      "enabled",
    ]);
    checkFlag("GradScaler", "enabled", options.enabled);
    const {
      initialScale = 65536,
      growthFactor = 2,
      backoffFactor = 0.5,
      growthInterval = 2000,
      enabled = true,
    } = options;
    checkNumber("GradScaler", "an initial scale", initialScale, Number.MIN_VALUE);
    checkNumber("GradScaler", "a growth factor", growthFactor, 1);
    checkNumber("GradScaler", "a backoff factor", backoffFactor, Number.MIN_VALUE, 1);
    if (!Number.isSafeInteger(growthInterval) || growthInterval < 1)
      throw new ArgumentError(
        "GradScaler",
        "a growth interval of 1 or more steps",
        describeValue(growthInterval),
        "PyTorch's default is 2000",
      );
    this.#options = { initialScale, growthFactor, backoffFactor, growthInterval, enabled };
    this.#scale = initialScale;
  }

  /** What losses are multiplied by now; 1 when switched off. */
  get currentScale(): number {
    return this.#options.enabled ? this.#scale : 1;
  }
  /** Steps whose gradients were finite, and were taken. */
  get takenSteps(): number {
    return this.#taken;
  }
  /** Steps that were left out because a gradient was infinite or NaN. */
  get skippedSteps(): number {
    return this.#skipped;
  }

  /** The loss in float32 times the scale: call `backward()` on it. */
  scale(loss: Tensor): Tensor {
    return this.#options.enabled
      ? scoped(() => loss.to("float32").mul(this.#scale), "GradScaler")
      : loss.alias();
  }

  /**
   * Divides the gradients of the optimizer's parameters by the scale, in float32, for example to
   * clip them before the step. `step` does it otherwise.
   * @throws TenureError when they were divided already
   */
  unscale(optimizer: Stepping): void {
    if (!this.#options.enabled) return;
    if (this.#finite.has(optimizer))
      throw new TenureError(
        "GradScaler",
        "expected gradients that are still scaled, got ones that unscale() has divided; call it once before step()",
      );
    using scope = newDisposeScope("unscale");
    noGrad(() => {
      let finite: Tensor | null = null;
      for (const p of optimizer.parameters) {
        if (!p.hasGrad) continue;
        labelled("apply", p.name, () => {
          const g = p.grad!.to("float32").mul(1 / this.#scale),
            good = g.isFinite().all();
          p.grad = g;
          finite = finite === null ? good : finite.logicalAnd(good);
        });
      }
      if (finite !== null) this.#finite.set(optimizer, scope.detach(finite));
    });
  }

  /**
   * Updates the parameters if all gradients are finite, which it reads back: one number. The read
   * is issued at once; the update follows when it has come, so leave the gradients alone until the
   * promise has settled.
   * @returns whether the step was taken
   */
  async step(optimizer: Stepping): Promise<boolean> {
    if (!this.#options.enabled) {
      optimizer.step();
      return true;
    }
    if (!this.#finite.has(optimizer)) this.unscale(optimizer);
    const finite = this.#finite.get(optimizer);
    this.#finite.delete(optimizer);
    const read = finite?.item();
    finite?.dispose();
    const good = read === undefined || (await read) === 1;
    this.#sinceUpdate.steps++;
    if (good) {
      this.#taken++;
      optimizer.step();
    } else {
      this.#skipped++;
      this.#sinceUpdate.overflow = true;
    }
    return good;
  }

  /**
   * Adapts the scale to what happened since the last update. Call it once per iteration, after the
   * steps have settled.
   */
  update(): void {
    const { steps, overflow } = this.#sinceUpdate,
      { growthFactor, backoffFactor, growthInterval } = this.#options;
    this.#sinceUpdate = { steps: 0, overflow: false };
    if (overflow) {
      this.#scale *= backoffFactor;
      this.#tracker = 0;
      return;
    }
    if (steps === 0 || ++this.#tracker < growthInterval) return;
    this.#scale *= growthFactor;
    this.#tracker = 0;
  }

  stateDict(): GradScalerState {
    return {
      scale: this.#scale,
      growthTracker: this.#tracker,
      taken: this.#taken,
      skipped: this.#skipped,
    };
  }

  /** @throws ArgumentError for numbers that cannot be a scaler's; then nothing has changed */
  loadStateDict(state: GradScalerState): void {
    if (typeof (state as unknown) !== "object" || (state as unknown) === null)
      throw new ArgumentError(
        "GradScaler",
        "what stateDict() gave",
        describeValue(state),
        "pass { scale, growthTracker, taken, skipped }",
      );
    checkNumber("GradScaler", "a scale", state.scale, Number.MIN_VALUE);
    for (const name of ["growthTracker", "taken", "skipped"] as const)
      if (!Number.isSafeInteger(state[name]) || state[name] < 0)
        throw new ArgumentError(
          "GradScaler",
          `a number of steps for ${name}`,
          describeValue(state[name]),
          "pass what stateDict() gave",
        );
    this.#scale = state.scale;
    this.#tracker = state.growthTracker;
    this.#taken = state.taken;
    this.#skipped = state.skipped;
  }

  /** Frees the flags of optimizers that were unscaled and never stepped. */
  dispose(): void {
    for (const flag of this.#finite.values()) flag.dispose();
    this.#finite.clear();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }
}
