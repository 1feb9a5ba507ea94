/**
 * Values that are written over by others in variables of a loop. Each case is a program with what
 * the rule says of it: nothing for those that end what they write over.
 */
import { suite } from "uvu";
import { losses } from "./losing.ts";

const test = suite("overwritten");
const { invalid, valid } = losses(test);

// ---- functions that others write ----

const passes = (body: string, other = "return source.neg();"): string => `
abstract class Pass { abstract apply(source: Tensor): Tensor; }
class Invert extends Pass { override apply(source: Tensor): Tensor { ${other} } }
class Brighten extends Pass { override apply(source: Tensor): Tensor { return source.add(1); } }
export const all = (): Pass[] => [new Invert(), new Brighten()];
export function render(passes: readonly Pass[]): Tensor {
  let image = zeros([4]);
  ${body}
  return image;
}`;

invalid(
  "an intermediate of a method that no class keeps",
  passes("for (const pass of passes) {\n image = pass.apply(image);\n}"),
  "9: This assignment loses the tensor `image` got on line 7; dispose it first.",
);
valid(
  "an intermediate that is ended",
  passes(
    "for (const pass of passes) { const old = image; image = pass.apply(old); old.dispose(); }",
  ),
);
valid(
  "a method that one class ends its argument in",
  passes(
    "for (const pass of passes) image = pass.apply(image);",
    "try { return source.neg(); } finally { source.dispose(); }",
  ),
);
valid(
  "a method that gives its argument back",
  passes(
    "for (const pass of passes) image = pass.apply(image);",
    "return source.size > 4 ? source.neg() : source;",
  ),
);
valid(
  "a method that may be any function",
  `
interface Step { apply(x: Tensor): Tensor; }
export const step = (apply: (x: Tensor) => Tensor): Step => ({ apply });
export function run(steps: readonly Step[]): Tensor {
  let x = zeros([4]);
  for (const step of steps) x = step.apply(x);
  return x;
}`,
);
invalid(
  "an intermediate of functions in a list",
  `
export function pipe(image: Tensor, ...steps: readonly ((x: Tensor) => Tensor)[]): Tensor {
  let current = image.alias();
  for (const step of steps) {
    current = step(current);
  }
  return current;
}`,
  "5: This assignment loses the tensor `current` got on line 3; dispose it first.",
);
valid(
  "functions in a list that end what they get",
  `
const spent = (x: Tensor): Tensor => { const y = x.neg(); x.dispose(); return y; };
function pipe(image: Tensor, ...steps: readonly ((x: Tensor) => Tensor)[]): Tensor {
  let current = image.alias();
  for (const step of steps) current = step(current);
  return current;
}
export const twice = (x: Tensor): Tensor => pipe(x, spent, spent);`,
);
const sampler = (onStep: string): string => `
async function sample(n: number, { onStep }: { onStep?: (x: Tensor) => void }): Promise<Tensor> {
  let x = rand([4]);
  for (let i = 0; i < n; i++) {
    x = x.neg();
    onStep?.(x);
  }
  return x;
}
export async function run(seen: Tensor[]): Promise<number> {
  using x = await sample(3, { onStep: ${onStep} });
  return x.size + seen.length;
}`;
invalid(
  "a value that is shown to a function of the options",
  sampler("(x) => console.warn(x.size)"),
  "5: This assignment loses the tensor `x` got on line 3; dispose it first.",
);
valid("a value that a function of the options keeps", sampler("(x) => void seen.push(x)"));

// ---- one way to an assignment ----

const steps = (body: string, before = ""): string => `
export function states(x: Tensor, keep: boolean, n: number): { out: Tensor; all: Tensor[] } {
  const all: Tensor[] = [];
  let h = x.neg();
  ${before}
  for (let i = 0; i < n; i++) {
    const next = h.add(1);
    ${body}
    h = next;
  }
  return { out: h, all };
}`;
invalid(
  "a state that is kept on demand",
  steps("if (keep) all.push(h);"),
  "9: This assignment loses the tensor `h` got on line 4; dispose it first.",
);
valid("a state that is kept or ended", steps("if (keep) all.push(h); else h.dispose();"));
valid("a state that is kept unless it is there", steps("if (!all.includes(h)) all.push(h);"));
valid("two conditions", steps("if (keep) all.push(h);\n if (!keep) h.dispose();"));
valid(
  "kept for even and odd",
  steps("if (i % 2 === 0) all.push(h);\n if (i % 2 > 0) all.push(h);"),
);
valid("kept where nothing throws", steps("try { if (keep) all.push(h); } catch { throw h; }"));

// ---- records and lists that a loop makes anew ----

const tagger = (
  body: string,
  after = "state?.hidden.dispose(); state?.cell.dispose();",
): string => `
interface State { hidden: Tensor; cell: Tensor }
interface Model { score(x: Tensor, state?: State): { scores: Tensor; state: State } }
export function tag(model: Model, rows: readonly Tensor[], seen: State[]): number {
  let state: State | undefined;
  let count = seen.length;
  try {
    for (const row of rows) {
      const next = model.score(row, state);
      ${body}
      count += next.scores.size;
      next.scores.dispose();
    }
  } finally {
    ${after}
  }
  return count;
}`;
invalid(
  "a state within a record",
  tagger("state = next.state;"),
  "10: This assignment loses the tensor `state` held before; dispose it afterwards.",
);
valid(
  "a state that is ended",
  tagger("state?.hidden.dispose();\n state?.cell.dispose();\n state = next.state;"),
);
valid("a state that a list has, too", tagger("state = next.state;\n seen.push(next.state);"));
valid("a state that is set once", tagger("if (state === undefined) state = next.state;"));
valid("a state that is found", tagger("state = next.state;\n break;"));
valid("a state of others", tagger("state = seen[count]!;", "console.log(state);"));

const search = (body: string): string => `
type Model = { w: Tensor; b: Tensor };
type Result = { lambda: number; score: number; model: Model };
const train = (lambda: number): Model => ({ w: ones([2]).mul(lambda), b: zeros([2]) });
const scoreOf = ({ w }: Model): number => w.size;
const free = ({ w, b }: Model): void => { w.dispose(); b.dispose(); };
export function grid(lambdas: number[]): Result | null {
  let best: Result | null = null;
  let lowest = 100;
  let found = false;
  for (const lambda of lambdas) {
    const model = train(lambda);
    const score = scoreOf(model);
    ${body}
  }
  return found || lowest > 0 ? best : null;
}`;
invalid(
  "the best so far, by its score",
  search(
    "if (best !== null && score > best.score) {\n free(model);\n} else {\n" +
      "best = { lambda, score, model };\n}",
  ),
  "17: This assignment loses the tensor `best` held before; dispose it afterwards.",
);
invalid(
  "the best so far, by a number beside it",
  search(
    "if (score < lowest) {\nlowest = score;\nbest = { lambda, score, model };\n} else free(model);",
  ),
  "16: This assignment loses the tensor `best` held before; dispose it afterwards.",
);
valid(
  "the best so far, which ends the one before",
  search(
    "if (best !== null && score > best.score) free(model);\n" +
      "else { if (best !== null) free(best.model);\n best = { lambda, score, model }; }",
  ),
);
valid("the first", search("if (best === null) best = { lambda, score, model }; else free(model);"));
valid(
  "the first, by a flag",
  search("if (!found) { found = true; best = { lambda, score, model }; } else free(model);"),
);
valid(
  "the first that will do",
  search("if (score < 3) { best = { lambda, score, model }; break; } else free(model);"),
);

const layers = (body: string): string => `
const layer = (xs: readonly Tensor[], k: number): Tensor[] => xs.map((x) => x.mul(k));
export function forward(graph: { parts: readonly Tensor[] }, n: number): Tensor {
  let parts = graph.parts;
  for (let k = 0; k < n; k++) {
    const next = layer(parts, k);
    ${body}
    parts = next;
  }
  const all = concat(parts);
  if (parts !== graph.parts) for (const part of parts) part.dispose();
  return all;
}`;
invalid(
  "the outputs of a layer",
  layers(""),
  "8: This assignment loses the tensors that `parts` got on line 6; dispose those first.",
);
valid(
  "the outputs of a layer that are ended",
  layers("if (parts !== graph.parts) for (const part of parts) part.dispose();"),
);

// ---- turns of a loop ----

const turns = (next: string, before = ""): string => `
declare function find(): Tensor;
export function blurred(times: number): Tensor {
  let image = find();
  for (let i = 0; i < times; i++) {
    ${before}
    ${next}
  }
  return image;
}`;
invalid(
  "what the last turn made, whatever came before",
  turns("image = zeros([i]);"),
  "7: This assignment loses the tensor `image` got on line 7; dispose it first.",
);
valid(
  "what the last turn made and is ended",
  turns("image = zeros([i]); if (i > 0) old.dispose();", "const old = image;"),
);
valid("what an unknown function gives in every turn", turns("image = find();"));

test.run();
