/**
 * Loss scaling for training in float16 (Micikevicius et al. 2018; torch.amp.GradScaler): small
 * gradients are multiplied away from zero and divided again in float32, and a step whose gradients
 * overflowed is skipped. Called by training loops. It owns one flag per optimizer between `unscale`
 * and `step`.
 */
import "../base/polyfills.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";
import { type OptionTable, checkArgument, describeValue, readOptions } from "../base/options.ts";
import { noGrad } from "../autograd/mode.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { scoped } from "../ownership/scoped.ts";
import { disposeUntilDiscarded, isLost } from "../tensor/keep.ts";
import { inStep, labelled, recordingChanged, whenStepDiscarded } from "../tensor/step.ts";
import { type Tensor, live } from "../tensor/tensor.ts";

/** Options of `GradScaler`, with PyTorch's defaults. */
export interface GradScalerOptions {
  /** What losses are multiplied by at first. */
  readonly initialScale?: number;
  /** The scale grows by this factor after `growthInterval` steps without an overflow … */
  readonly growthFactor?: number;
  /** … and shrinks by this one at each overflow. */
  readonly backoffFactor?: number;
  /** Steps without an overflow before the scale grows. */
  readonly growthInterval?: number;
  /** Off, everything passes through: the same loop trains in float32. */
  readonly enabled?: boolean;
}

const positive = { type: "number", range: "(0, Infinity)" } as const;
const scalerOptions = {
  initialScale: { ...positive, what: "an initial scale", default: 65536 },
  growthFactor: { type: "number", range: "[1, Infinity)", what: "a growth factor", default: 2 },
  backoffFactor: { type: "number", range: "(0, 1)", what: "a backoff factor", default: 0.5 },
  growthInterval: { type: "integer", range: "[1, Infinity)", default: 2000 },
  enabled: { type: "flag", default: true },
} satisfies OptionTable<GradScalerOptions>;

/** Plain numbers: what a checkpoint keeps. */
export interface GradScalerState {
  /** What losses are multiplied by. */
  readonly scale: number;
  /** Steps without an overflow since the scale last changed. */
  readonly growthTracker: number;
  /** Steps that were taken. */
  readonly taken: number;
  /** Steps that were left out because of an overflow. */
  readonly skipped: number;
}

/** What the scaler needs of an optimizer. */
export interface Stepping {
  readonly parameters: readonly Tensor[];
  /** Updates the parameters by their gradients. */
  step(): void;
}

function checkStepping(optimizer: unknown): void {
  const { parameters, step } = (optimizer as Partial<Stepping> | null | undefined) ?? {};
  if (!Array.isArray(parameters) || typeof step !== "function")
    throw new ArgumentError(
      "GradScaler",
      "an optimizer",
      describeValue(optimizer),
      "pass the optimizer of the scaled loss's parameters",
    );
}

/**
 * <!-- snippet: not run, the software adapter has no float16 -->
 * ```ts
 * const scaler = new GradScaler();
 * let stepped: Promise<boolean>;
 * {
 *   using _ = newDisposeScope();
 *   const loss = autocast(() => criterion.call(model.call(images), labels));
 *   optimizer.zeroGrad();
 *   scaler.scale(loss).backward();
 *   stepped = scaler.step(optimizer); // reads one flag: true when the step was taken
 * }
 * await stepped;
 * scaler.update();
 * ```
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using scaler = new GradScaler();
 * scaler.scale(model.call(x).square().mean()).backward();
 * await scaler.step(optimizer);
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
    this.#options = readOptions("GradScaler", options, scalerOptions);
    this.#scale = this.#options.initialScale;
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
    live(loss, "scale");
    return this.#options.enabled
      ? scoped(() => loss.to("float32").mul(this.#scale), "GradScaler")
      : loss.alias();
  }

  /**
   * Divides the gradients of the optimizer's parameters by the scale, in float32, for example to
   * clip them before the step. `step` does it otherwise.
   * @throws TenureError when they were divided already, ArgumentError for what is no optimizer
   */
  unscale(optimizer: Stepping): void {
    checkStepping(optimizer);
    if (!this.#options.enabled) return;
    if (this.#finite.has(optimizer))
      throw new TenureError(
        "GradScaler",
        "expected gradients that are still scaled, got ones that unscale() has divided; " +
          "call it once before step()",
      );
    using scope = newDisposeScope("unscale");
    noGrad(() => {
      let finite: Tensor | null = null;
      for (const p of optimizer.parameters) {
        labelled("apply", p.name, () => {
          const scaled = p.grad;
          if (scaled === null) return;
          const g = scaled.to("float32").mul(1 / this.#scale);
          const good = g.isFinite().all();
          p.grad = g;
          finite = finite === null ? good : finite.logicalAnd(good);
        });
      }
      if (finite !== null) this.#keepFlag(optimizer, scope.detach(finite));
    });
  }

  /** A step that is discarded has not unscaled. */
  #keepFlag(optimizer: Stepping, flag: Tensor): void {
    this.#finite.set(optimizer, flag);
    whenStepDiscarded(() => () => {
      this.#finite.get(optimizer)?.dispose();
      this.#finite.delete(optimizer);
    });
  }

  /** Whether all gradients are finite. They stay unscaled when that cannot be told. */
  async #read(optimizer: Stepping, flag: Tensor): Promise<boolean> {
    try {
      return (await flag.item()) === 1;
    } catch (error) {
      if (isLost(flag)) this.#dropFlag(optimizer, flag);
      throw error;
    }
  }

  /** A step that is discarded has not stepped: what was unscaled before it still is. */
  #dropFlag(optimizer: Stepping, flag: Tensor | undefined): void {
    if (flag === undefined || this.#finite.get(optimizer) !== flag) return;
    this.#finite.delete(optimizer);
    disposeUntilDiscarded(flag, (again) => {
      this.#finite.set(optimizer, again);
    });
  }

  /** A scheduler's step that is discarded does not count. */
  #rememberCounts(): void {
    whenStepDiscarded(() => {
      const { scale, growthTracker, taken, skipped } = this.stateDict();
      const sinceUpdate = { ...this.#sinceUpdate };
      return () => {
        this.#setScale(scale);
        this.#tracker = growthTracker;
        this.#taken = taken;
        this.#skipped = skipped;
        this.#sinceUpdate = sinceUpdate;
      };
    });
  }

  /**
   * Updates the parameters if all gradients are finite, which it reads back: one number. The read
   * is issued at once; the update follows when it has come, so leave the gradients alone until the
   * promise has settled.
   * Rejects with ArgumentError for what is no optimizer.
   * @returns whether the step was taken
   */
  step(optimizer: Stepping): Promise<boolean> {
    const stepped = this.#step(optimizer);
    // a scheduler's step that fails says so itself
    if (inStep()) stepped.catch(() => undefined);
    return stepped;
  }

  async #step(optimizer: Stepping): Promise<boolean> {
    checkStepping(optimizer);
    if (!this.#options.enabled) {
      optimizer.step();
      return true;
    }
    if (!this.#finite.has(optimizer)) this.unscale(optimizer);
    const finite = this.#finite.get(optimizer);
    const good = finite === undefined || (await this.#read(optimizer, finite));
    this.#rememberCounts();
    this.#dropFlag(optimizer, finite);
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
    this.#rememberCounts();
    const { steps, overflow } = this.#sinceUpdate,
      { growthFactor, backoffFactor, growthInterval } = this.#options;
    this.#sinceUpdate = { steps: 0, overflow: false };
    if (overflow) {
      this.#setScale(this.#scale * backoffFactor);
      this.#tracker = 0;
      return;
    }
    if (steps === 0 || ++this.#tracker < growthInterval) return;
    this.#setScale(this.#scale * growthFactor);
    this.#tracker = 0;
  }

  /** From now on losses are multiplied by another number, also those of functions that repeat. */
  #setScale(scale: number): void {
    if (scale !== this.#scale) recordingChanged();
    this.#scale = scale;
  }

  /** What `loadStateDict` continues from: plain numbers. */
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
    checkArgument("GradScaler", "a scale", state.scale, positive);
    for (const name of ["growthTracker", "taken", "skipped"] as const)
      checkArgument("GradScaler", name, state[name], { type: "integer", range: "[0, Infinity)" });
    this.#setScale(state.scale);
    this.#tracker = state.growthTracker;
    this.#taken = state.taken;
    this.#skipped = state.skipped;
  }

  /** Frees the flags of optimizers that were unscaled and never stepped. */
  dispose(): void {
    for (const flag of this.#finite.values()) flag.dispose();
    this.#finite.clear();
  }
  /** `using scaler = …` frees the flags. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
