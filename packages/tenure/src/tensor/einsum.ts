/**
 * Einstein sums of any number of tensors, two at a time from the left: diagonals and lone letters
 * first, then one batched matrix product per pair. Transposes are views. Called by users; results
 * belong to the current scope, intermediates are freed here.
 */
import "../compose.ts";
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { checkArgument, describeValue } from "../base/options.ts";
import { formatShape, sizeOf } from "../base/shape.ts";
import { composed } from "../ownership/scoped.ts";
import { live } from "./call.ts";
import type { Tensor } from "./tensor.ts";

/** A tensor whose dimensions have names, one each. */
interface Named {
  readonly tensor: Tensor;
  readonly letters: readonly string[];
}

/** Names for the dimensions behind `...`: no letter a user can write. */
const dots = (count: number): string[] => Array.from({ length: count }, (_, i) => `.${count - i}`);

function parse(
  equation: string,
  operands: readonly Tensor[],
): { terms: string[][]; output: string[] } {
  const [left = "", right, more] = equation.replaceAll(" ", "").split("->"),
    parts = left.split(",");
  if (
    more !== undefined ||
    !/^[A-Za-z.,]*$/.test(left) ||
    (right !== undefined && !/^[A-Za-z.]*$/.test(right))
  )
    throw new ArgumentError(
      "einsum",
      'an equation like "bij,bjk->bik"',
      describeValue(equation),
      "use letters, commas, ... and one ->",
    );
  if (parts.length !== operands.length)
    throw new ArgumentError(
      "einsum",
      `${parts.length} tensors for ${JSON.stringify(equation)}`,
      String(operands.length),
      "pass a tensor for each part of the equation",
    );
  const terms = parts.map((part, k) => {
    const pieces = part.split("..."),
      rank = live(operands[k]!, "einsum").layout.shape.length,
      named = pieces.join("").length;
    if (pieces.length > 2 || pieces.join("").includes("."))
      throw new ArgumentError(
        "einsum",
        "at most one ... per tensor",
        describeValue(part),
        "leave the others out",
      );
    if (pieces.length === 1 ? named !== rank : named > rank)
      throw new ShapeError(
        "einsum",
        `a tensor of rank ${named}${pieces.length === 1 ? "" : " or more"} for "${part}"`,
        formatShape(operands[k]!.shape),
        "name each dimension once",
      );
    return pieces.length === 1
      ? part.split("")
      : [...pieces[0]!.split(""), ...dots(rank - named), ...pieces[1]!.split("")];
  });
  const all = terms.flat(),
    hidden = dots(Math.max(0, ...terms.map((t) => t.filter((l) => l.startsWith(".")).length)));
  if (right === undefined)
    return {
      terms,
      output: [
        ...hidden,
        ...[...new Set(all)]
          .filter((l) => !l.startsWith(".") && all.indexOf(l) === all.lastIndexOf(l))
          .sort(),
      ],
    };
  const pieces = right.split("..."),
    output =
      pieces.length === 1
        ? right.split("")
        : [...pieces[0]!.split(""), ...hidden, ...pieces[1]!.split("")];
  const wrong = output.find((l, i) => !all.includes(l) || output.indexOf(l) !== i);
  if (wrong !== undefined || pieces.length > 2)
    throw new ArgumentError(
      "einsum",
      "an output of letters from the inputs, each once",
      describeValue(right),
      "check what follows ->",
    );
  return { terms, output };
}

/**
 * The diagonal of every letter that a tensor repeats: a view, apart from the copy that makes it
 * contiguous.
 */
function diagonal({ tensor, letters }: Named): Named {
  const twice = letters.findIndex((l, i) => letters.indexOf(l) !== i);
  if (twice === -1) return { tensor, letters };
  const first = letters.indexOf(letters[twice]!),
    rest = letters.map((_, i) => i).filter((i) => i !== first && i !== twice),
    n = tensor.shape[first]!;
  if (tensor.shape[twice] !== n)
    throw new ShapeError(
      "einsum",
      `equal sizes for ${letters[twice]}`,
      formatShape(tensor.shape),
      "give each its own letter",
    );
  const lead = rest.map((i) => tensor.shape[i]!),
    flat = tensor.permute([...rest, first, twice]).reshape([...lead, n * n]);
  return diagonal({
    tensor: flat.slice(lead.length, 0, n * n, n + 1),
    letters: [...rest.map((i) => letters[i]!), letters[first]!],
  });
}

/** Sums over the letters nobody needs any more. */
function reduceTo({ tensor, letters }: Named, needed: ReadonlySet<string>): Named {
  const gone = letters.flatMap((l, i) => (needed.has(l) ? [] : [i]));
  return gone.length === 0
    ? { tensor, letters }
    : { tensor: tensor.sum(gone), letters: letters.filter((l) => needed.has(l)) };
}

/**
 * One batched product of two: letters in both and needed later are the batch, letters in both and
 * not needed are summed over.
 */
function product(
  a: Named,
  b: Named,
  needed: ReadonlySet<string>,
  sizes: ReadonlyMap<string, number>,
): Named {
  const both = a.letters.filter((l) => b.letters.includes(l)),
    batch = both.filter((l) => needed.has(l)),
    inner = both.filter((l) => !needed.has(l));
  const onlyA = a.letters.filter((l) => !both.includes(l)),
    onlyB = b.letters.filter((l) => !both.includes(l));
  const size = (list: readonly string[]): number => sizeOf(list.map((l) => sizes.get(l)!));
  // A dimension of 1 behind `...` broadcasts: it is expanded here, where its true size is known.
  const lay = (t: Named, order: readonly string[], shape: readonly number[]): Tensor =>
    t.tensor
      .permute(order.map((l) => t.letters.indexOf(l)))
      .expand(order.map((l) => sizes.get(l)!))
      .reshape(shape);
  const lead = batch.map((l) => sizes.get(l)!);
  const x = lay(a, [...batch, ...onlyA, ...inner], [...lead, size(onlyA), size(inner)]),
    y = lay(b, [...batch, ...inner, ...onlyB], [...lead, size(inner), size(onlyB)]),
    letters = [...batch, ...onlyA, ...onlyB];
  return { tensor: x.matmul(y).reshape(letters.map((l) => sizes.get(l)!)), letters };
}

/**
 * The sum of products that an equation names: "ij,jk->ik" is a matrix product, "bii->bi" a
 * diagonal, "i,j->ij" an outer product. `...` stands for any leading dimensions, which broadcast.
 * Without "->", letters that occur once remain, in alphabetical order.
 * @throws ArgumentError for an equation that cannot be read or names another number of tensors,
 *   ShapeError for ranks and sizes that do not fit the letters
 * @example
 * ```ts
 * using a = tensor([[1, 2], [3, 4]]);
 * using trace = einsum("ii->", a);
 * console.log(await trace.item()); // → 5
 * ```
 */
export function einsum(equation: string, ...operands: readonly Tensor[]): Tensor {
  if (operands.length === 0)
    throw new ArgumentError(
      "einsum",
      "at least one tensor",
      "none",
      "pass the tensors after the equation",
    );
  checkArgument("einsum", "the equation", equation, { type: "text" });
  const { terms, output } = parse(equation, operands),
    sizes = new Map<string, number>();
  return composed(() => {
    const list = operands.map((tensor, k) =>
      diagonal({ tensor: tensor.alias(), letters: terms[k]! }),
    );
    for (const { tensor, letters } of list)
      for (const [i, l] of letters.entries()) {
        const known = sizes.get(l),
          d = tensor.shape[i]!;
        if (known !== undefined && known !== d && !(l.startsWith(".") && (known === 1 || d === 1)))
          throw new ShapeError(
            "einsum",
            `one size for "${l}" in ${JSON.stringify(equation)}`,
            `${known} and ${d}`,
            "check the letters",
          );
        sizes.set(l, known === undefined || known === 1 ? d : known);
      }
    const after = (k: number): Set<string> =>
      new Set([...output, ...list.slice(k).flatMap((t) => t.letters)]);
    let result = reduceTo(list[0]!, after(1));
    for (let k = 1; k < list.length; k++) {
      const own = new Set([...result.letters, ...after(k + 1)]);
      result = product(result, reduceTo(list[k]!, own), after(k + 1), sizes);
      result = reduceTo(result, after(k + 1));
    }
    return result.tensor
      .permute(output.map((l) => result.letters.indexOf(l)))
      .expand(output.map((l) => sizes.get(l)!))
      .contiguous();
  }, "einsum");
}
