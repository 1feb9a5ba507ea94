/**
 * Parameter groups: parameters that share hyperparameters, and the checks of what an optimizer is
 * given. Called by the optimizer, which borrows the parameters.
 */
import { isForeign } from "../base/copies.ts";
import { ArgumentError, GradError } from "../base/errors.ts";
import { checkIterable, describeValue } from "../base/options.ts";
import { identityOf } from "../tensor/keep.ts";
import { Tensor, live } from "../tensor/tensor.ts";

/**
 * Parameters that share hyperparameters. The numbers may be changed between steps; the list of
 * parameters stays.
 */
export type ParameterGroup<O> = { readonly parameters: readonly Tensor[] } & {
  -readonly [K in keyof O]: O[K];
};
/** What a group is made from: what it leaves out comes from the optimizer's options. */
export type GroupSpec<O> = { readonly parameters: Iterable<Tensor> } & Partial<O>;
/** Parameters for one group, or several groups. */
export type ParametersOf<O> = Iterable<Tensor> | Iterable<GroupSpec<O>>;

const remedy = "pass module.parameters()";

/**
 * The groups that a constructor was given; plain parameters are one group.
 * @throws ArgumentError for a module, for what is no list, and for an empty one
 */
export function groupsOf<O>(op: string, given: ParametersOf<O>): GroupSpec<O>[] {
  const value = given as { readonly parameters?: unknown } | null | undefined;
  if (typeof value?.parameters === "function")
    throw new ArgumentError(op, "the parameters of a module", "the module itself", remedy);
  checkList(op, "a list of parameters, or of groups", value);
  const items = [...given];
  if (items.length === 0)
    throw new ArgumentError(
      op,
      "at least one parameter",
      "none",
      `${remedy} of a module whose weights were made with this.parameter("name", …)`,
    );
  if (items[0] instanceof Tensor || isForeign(items[0]))
    return [{ parameters: items } as unknown as GroupSpec<O>];
  return items as GroupSpec<O>[];
}

/**
 * The parameters of a new group, those tied by `alias()` once.
 * @param taken parameters of the groups there are
 * @throws ArgumentError for what is no list of tensors, and for a parameter that has a group;
 *   GradError for tensors that are no leaves with `requiresGrad`
 */
export function parametersOf(
  op: string,
  spec: { readonly parameters: Iterable<Tensor> } | undefined,
  taken: readonly Tensor[],
): Tensor[] {
  const listed: unknown = spec?.parameters;
  checkList(op, "tensors, or groups { parameters, … }", listed);
  const known = new Set(taken.map(identityOf));
  const found = new Map<unknown, Tensor>();
  let count = 0;
  for (const p of listed) {
    count++;
    checkParameter(op, p);
    const identity = identityOf(p);
    if (known.has(identity))
      throw new ArgumentError(
        op,
        "each parameter in one group",
        `${p.toString()} in two`,
        "leave it out of one of them",
      );
    if (!found.has(identity)) found.set(identity, p);
  }
  if (count === 0)
    throw new ArgumentError(op, "at least one parameter in every group", "none", remedy);
  return [...found.values()];
}

/**
 * Tensors that may have gradients, each once.
 * @throws ArgumentError for a module, and for what is no list of tensors
 */
export function tensorsOf(op: string, given: Iterable<Tensor>): Set<Tensor> {
  checkList(op, "a list of parameters", given);
  const list = new Set<unknown>(given);
  for (const t of list) live(t as Tensor, op);
  return list as Set<Tensor>;
}

/** @throws ArgumentError for what cannot be gone through, and for a tensor, whose rows could */
function checkList(op: string, what: string, value: unknown): asserts value is Iterable<unknown> {
  if (value instanceof Tensor) throw new ArgumentError(op, what, describeValue(value), remedy);
  checkIterable(op, what, value, remedy);
}

function checkParameter(op: string, p: unknown): asserts p is Tensor {
  if (!(p instanceof Tensor))
    throw new ArgumentError(op, "tensors as parameters", describeValue(p), remedy);
  if (p.requiresGrad && p.isLeaf) return;
  const fix = p.isLeaf
    ? "leave frozen ones out with filter((p) => p.requiresGrad), " +
      "and addGroup() them when they learn again"
    : remedy;
  throw new GradError(
    op,
    `expected parameters that are leaves with requiresGrad, got ${p.toString()}; ${fix}`,
  );
}
