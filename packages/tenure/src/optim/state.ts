/**
 * What an optimizer needs to continue, and the checks of what it is given to load. Called by the
 * optimizer; owns nothing.
 */
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { Tensor } from "../tensor/tensor.ts";

/** A state tensor in host memory, as a file holds it. */
export interface HostState {
  /** Elements in row-major order. */
  readonly data: ArrayBufferView;
  /** The parameter's shape. */
  readonly shape: readonly number[];
}

/** Everything an optimizer needs to continue. Plain numbers, but for the tensors. */
export interface OptimizerState<O, T = Tensor> {
  /** Steps taken. */
  readonly steps: number;
  /** The first group's learning rate. */
  readonly lr: number;
  /** Hyperparameters per group. */
  readonly groups: readonly O[];
  /** Steps taken per parameter: one without a gradient takes none. */
  readonly counts: readonly number[];
  /** `index.name`, with PyTorch's names: `0.exp_avg`. */
  readonly tensors: ReadonlyMap<string, T>;
}

/** State to load: a file of an older run may lack the parts with defaults. */
export type LoadableState<O> = Pick<OptimizerState<O, Tensor | HostState>, "tensors" | "steps"> &
  Partial<OptimizerState<O, Tensor | HostState>>;

/** What a state is held against. */
interface Wanted {
  readonly parameters: readonly Tensor[];
  readonly groups: number;
  /** Names of the state tensors that errors list. */
  readonly names: readonly string[];
  /** Names that one parameter may have state of. */
  namesOf(parameter: Tensor): readonly string[];
}

const remedy = "check that the file belongs to this optimizer";

function refuse(expected: string, got: string, fix = remedy): never {
  throw new ArgumentError("loadStateDict", expected, got, fix);
}

/** @throws ArgumentError for state that does not belong to the optimizer. Changes nothing. */
export function checkState<O>(state: LoadableState<O>, wanted: Wanted): void {
  const { tensors, steps, groups, counts } = (state as Partial<typeof state> | null) ?? {};
  if (!((tensors as unknown) instanceof Map))
    refuse(
      "the state of an optimizer",
      describeValue(state),
      "pass what stateDict() gave, or what a checkpoint holds",
    );
  for (const [key, source] of tensors ?? []) checkTensor(key, source, wanted);
  const count = wanted.parameters.length;
  if (!isCount(steps)) refuse("a number of steps", String(steps));
  if (groups !== undefined && groups.length !== wanted.groups)
    refuse(
      `${wanted.groups} parameter groups`,
      String(groups.length),
      "make the same groups before loading",
    );
  if (counts !== undefined && (counts.length !== count || !counts.every(isCount)))
    refuse(`step counts of ${count} parameters`, `[${counts.join(",")}]`);
}

function checkTensor(key: string, source: Tensor | HostState, wanted: Wanted): void {
  const [, index = "", name = ""] = /^(\d+)\.(.*)$/.exec(key) ?? [];
  const p = index === "" ? undefined : wanted.parameters[Number(index)];
  if (p === undefined || !wanted.namesOf(p).includes(name))
    return refuse(
      `state of ${wanted.parameters.length} parameters with ` +
        (wanted.names.join(", ") || "nothing"),
      key,
    );
  const host = source as Partial<HostState> | null | undefined;
  if (!(source instanceof Tensor) && !ArrayBuffer.isView(host?.data))
    refuse(`a tensor or a typed array with a shape for ${key}`, describeValue(source));
  if (!sameShape(p.shape, source.shape))
    refuse(`${key} of shape ${formatShape(p.shape)}`, formatShape(source.shape));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
