/**
 * Records that a function puts together of what it is given: as new as that, if nobody else ends
 * or keeps it.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("joined records");
const finds = marked(test);

const tree = (plant: string, duel: string): string => `import { type Tensor, tensor } from "tenure";
interface Node { readonly latent: Tensor; visits: number }
const all: Tensor[] = [];
export const end = (): void => { for (const t of all) t.dispose(); };
async function grow(latent: Tensor): Promise<Node> {
  const visits = await latent.item();
  return { latent, visits };
}
${plant}
function fell(node: Node): void { node.latent.dispose(); }
${duel}
`;
const plant = (body: string): string => `function plant(x: number[]): Promise<Node> { ${body} }`;
const left = `export async function duel(board: number[]) {
  const root = await plant(board); // !
  if (root.visits > 2) return 1;
  fell(root);
  return 0;
}`;
const silent = left.replace(" // !", "");

finds("of a new value", tree(plant("return grow(tensor(x));"), left));
finds("of one with a name", tree(plant("const t = tensor(x); return grow(t);"), left));
finds(
  "of one that is looked at",
  tree(plant("const t = tensor(x); console.log(t.shape); return grow(t);"), left),
);
finds(
  "ended on every way",
  tree(plant("return grow(tensor(x));"), left.replace("return 1", "return fell(root)")).replace(
    " // !",
    "",
  ),
);
finds(
  "of one that a list keeps",
  tree(plant("const t = tensor(x); all.push(t); return grow(t);"), silent),
);
finds(
  "of the caller's own",
  tree(
    "",
    `export async function duel(t: Tensor): Promise<number> {
  const root = await grow(t);
  return root.visits;
}`,
  ),
);
finds(
  "of one that is ended by its own name",
  tree(
    "",
    `export async function duel(board: number[]): Promise<number> {
  const t = tensor(board);
  const root = await grow(t);
  t.dispose();
  return root.visits;
}`,
  ),
);
finds(
  "of one that a scope has",
  tree(
    "",
    `export async function duel(board: number[]): Promise<number> {
  using t = tensor(board);
  const root = await grow(t);
  return root.visits;
}`,
  ),
);

const search = (turn: string): string => `import { type Tensor, zeros } from "tenure";
interface Node { readonly latent: Tensor; readonly children: (Node | null)[]; visits: number }
const grow = (latent: Tensor): Node => ({ latent, children: [null, null], visits: 0 });
declare function select(node: Node): Node;
export function search(root: Node, turns: number) {
  for (let i = 0; i < turns; i++) { ${turn} }
}`;
const put = "const t = parent.latent.add(1); const leaf = grow(t); parent.children[0] = leaf;";
finds("put into a tree", search(`const parent = root; ${put}`));
finds("put where a path ends", search(`const path = [root]; const parent = path.at(-1)!; ${put}`));
finds(
  "put where a path ends that grows",
  search(`const path: Node[] = []; path.push(root); const parent = path.at(-1)!; ${put}`),
);

const replay = (end: string): string => `import type { Tensor } from "tenure";
interface Game { readonly boards: Tensor; readonly moves: Tensor }
const end = (game: Game): void => { ${end} };
export class Replay {
  #games: Game[] = [];
  add(...games: Game[]): void {
    this.#games.push(...games);
    this.#games = this.#games.slice(-6); // !
  }
  clear(): void { this.#games.forEach(end); this.#games = []; }
}`;
finds("ended one by one", replay("game.boards.dispose(); game.moves.dispose();"));
finds("ended in a list", replay("for (const t of [game.boards, game.moves]) t.dispose();"));

test.run();
