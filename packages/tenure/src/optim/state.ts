/**
 * What an optimizer needs to continue, and the checks of what it is given to load. Called by the
 * optimizer; owns nothing.
 */
import { ArgumentError } from "../base/errors.ts";
import { type OptionRow, checkArgument, describeValue } from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { checkHostArray } from "../tensor/host.ts";
import { Tensor, live } from "../tensor/tensor.ts";

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
  /** Rows of the hyperparameters of a group. */
  readonly hyperparameters: Readonly<Record<string, OptionRow>>;
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
  if (!isCount(steps)) refuse("a number of steps", describeValue(steps));
  if (groups !== undefined) checkGroups(groups, wanted);
  if (counts !== undefined) checkCounts(counts, wanted.parameters.length);
}

/** Groups as a file may hold them: as many as there are, with names that they have. */
function checkGroups(groups: unknown, wanted: Wanted): asserts groups is readonly object[] {
  if (!Array.isArray(groups) || groups.length !== wanted.groups)
    return refuse(
      `${wanted.groups} parameter groups`,
      Array.isArray(groups) ? String(groups.length) : describeValue(groups),
      "make the same groups before loading",
    );
  const row = { type: "options", of: wanted.hyperparameters } as const;
  for (const group of groups) checkArgument("loadStateDict", "a group", group, row);
}

function checkCounts(counts: unknown, parameters: number): void {
  if (!Array.isArray(counts) || counts.length !== parameters)
    return refuse(
      `step counts of ${parameters} parameters`,
      Array.isArray(counts) ? String(counts.length) : describeValue(counts),
    );
  const wrong: unknown = counts.find((count) => !isCount(count));
  if (wrong !== undefined || counts.includes(undefined))
    refuse("whole numbers as step counts", describeValue(wrong));
}

function checkTensor(key: string, source: Tensor | HostState, wanted: Wanted): void {
  const [, index = "", name = ""] = /^(0|[1-9]\d*)\.(.*)$/.exec(key) ?? [];
  const p = index === "" ? undefined : wanted.parameters[Number(index)];
  if (p === undefined || !wanted.namesOf(p).includes(name))
    return refuse(
      `state of ${wanted.parameters.length} parameters with ` +
        (wanted.names.join(", ") || "nothing"),
      key.slice(0, 100),
    );
  if (source instanceof Tensor) live(source, "loadStateDict");
  const { data, shape } = (source as Partial<HostState> | null | undefined) ?? {};
  if (!Array.isArray(shape) || !(source instanceof Tensor || ArrayBuffer.isView(data)))
    return refuse(`a tensor or a typed array with a shape for ${key}`, describeValue(source));
  if (!sameShape(p.shape, shape))
    refuse(`${key} of shape ${formatShape(p.shape)}`, formatShape(shape));
  if (!(source instanceof Tensor))
    checkHostArray("loadStateDict", key, source.data, p.shape, "float32");
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
