// Learns to drop stones: four columns, four rows, three in a line win. The net thinks ahead in its
// own latent states (as in MuZero); trees of them survive from move to move.
//
//   tsx selfplay.ts   plays, trains, and lets the new net duel with the champion
import { concat, eye, manualSeed, newDisposeScope, noGrad, scoped, tensor } from "tenure";
import type { Tensor } from "tenure";
import { Linear, Module, ReLU, Sequential, functional } from "tenure/nn";
import { AdamW, StepLR, clipGradNorm } from "tenure/optim";

const COLUMNS = 4,
  ROWS = 4,
  CELLS = COLUMNS * ROWS,
  LATENT = 12,
  SIMULATIONS = 6;

// ---- the game ----

type Board = Int8Array; // 0 empty, 1 the player to move, -1 the other

const legal = (board: Board): number[] =>
  Array.from({ length: COLUMNS }, (_, c) => c).filter((c) => board[c] === 0);

/** The board after a stone in a column, seen by the other player. */
function drop(board: Board, column: number): Board {
  const next = board.map((stone) => -stone);
  for (let row = ROWS - 1; row >= 0; row--) {
    if (next[row * COLUMNS + column] !== 0) continue;
    next[row * COLUMNS + column] = -1;
    break;
  }
  return next;
}

/** Whether the player who moved last has three in a line. */
function isWon(board: Board): boolean {
  const at = (r: number, c: number) =>
    r < ROWS && c >= 0 && c < COLUMNS && board[r * COLUMNS + c] === -1;
  for (let i = 0; i < CELLS; i++) {
    const [r, c] = [Math.floor(i / COLUMNS), i % COLUMNS];
    for (const [dr, dc] of [
      [0, 1],
      [1, 0],
      [1, 1],
      [1, -1],
    ] as const)
      // prettier-ignore
      if ([0, 1, 2].every((k) => at(r + k * dr, c + k * dc))) return true;
  }
  return false;
}

const isOver = (board: Board): boolean => isWon(board) || legal(board).length === 0;

const planes = (board: Board): number[] => [
  ...Array.from(board, (stone) => Number(stone === 1)),
  ...Array.from(board, (stone) => Number(stone === -1)),
];

let seed = 7;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return seed / 2 ** 32;
}

// ---- the net ----

interface Thought {
  readonly policy: Tensor;
  readonly value: Tensor;
}

class Thinker extends Module<[latent: Tensor], Thought> {
  readonly represent = new Sequential(
    new Linear(2 * CELLS, 24),
    new ReLU(),
    new Linear(24, LATENT),
  );
  readonly dynamics = new Linear(LATENT + COLUMNS, LATENT);
  readonly policy = new Linear(LATENT, COLUMNS);
  readonly value = new Linear(LATENT, 1);
  readonly moves = this.buffer("moves", eye(COLUMNS));

  /** Latents of boards, [N, LATENT]. */
  observe(boards: Tensor): Tensor {
    using raw = this.represent.call(boards);
    return raw.tanh();
  }

  /** Latents after a move in each. */
  imagine(latents: Tensor, columns: Tensor): Tensor {
    return scoped(() => {
      const moves = this.moves.index(columns);
      return this.dynamics.call(concat([latents, moves], 1)).tanh();
    });
  }

  forward(latent: Tensor): Thought {
    using raw = this.value.call(latent);
    return { policy: this.policy.call(latent), value: raw.tanh() };
  }

  copy(): Thinker {
    const twin = new Thinker();
    using state = this.stateDict();
    twin.loadStateDict(state);
    return twin;
  }
}

// ---- the tree ----

interface Node {
  readonly latent: Tensor;
  readonly prior: ArrayLike<number>;
  readonly children: (Node | null)[];
  visits: number;
  total: number;
}

/** A leaf, which takes the latent over. */
async function grow(net: Thinker, latent: Tensor): Promise<Node> {
  const { policy, value } = noGrad(() => net.call(latent));
  using chances = policy.softmax(1);
  policy.dispose();
  using worth = value;
  const [prior, total] = await Promise.all([chances.data(), worth.item()]);
  return { latent, prior, children: Array.from({ length: COLUMNS }, () => null), visits: 1, total };
}

function fell(node: Node | null | undefined): void {
  if (!node) return;
  node.latent.dispose();
  for (const child of node.children) fell(child);
}

function plant(net: Thinker, board: Board): Promise<Node> {
  using boards = tensor([planes(board)]);
  const latent = noGrad(() => net.observe(boards));
  return grow(net, latent);
}

function select(node: Node, columns: readonly number[]): number {
  const score = (c: number): number => {
    const child = node.children[c];
    const explored = Math.sqrt(node.visits) / (1 + (child?.visits ?? 0));
    return (child ? -child.total / child.visits : 0) + (node.prior[c]! + 0.1 * random()) * explored;
  };
  return columns.reduce((best, c) => (score(c) > score(best) ? c : best));
}

async function search(net: Thinker, root: Node, board: Board): Promise<number[]> {
  const everywhere = Array.from({ length: COLUMNS }, (_, c) => c);
  for (let i = 0; i < SIMULATIONS; i++) {
    const path = [root];
    let column = select(root, legal(board));
    for (let next = root.children[column]; next; next = next.children[column]) {
      path.push(next);
      column = select(next, everywhere);
    }
    const parent = path.at(-1)!;
    using columns = tensor([column], { dtype: "int32" });
    const latent = noGrad(() => net.imagine(parent.latent, columns));
    const leaf = await grow(net, latent);
    parent.children[column] = leaf;
    for (const node of path) {
      node.visits++;
      node.total += leaf.total;
    }
  }
  const visits = root.children.map((child) => child?.visits ?? 0);
  return visits.map((n) => n / visits.reduce((a, b) => a + b, 0));
}

const favourite = (shares: readonly number[]): number => shares.indexOf(Math.max(...shares));

// ---- games and what is kept of them ----

interface Move {
  readonly board: Board;
  readonly shares: number[];
  readonly column: number;
}

async function* moves(net: Thinker): AsyncGenerator<Move> {
  let board: Board = new Int8Array(CELLS);
  let root = await plant(net, board);
  try {
    while (!isOver(board)) {
      const shares = await search(net, root, board);
      const column = random() < 0.3 ? legal(board)[0]! : favourite(shares);
      yield { board, shares, column };
      board = drop(board, column);
      const next = root.children[column] ?? (await plant(net, board));
      root.children[column] = null;
      fell(root);
      root = next;
    }
  } finally {
    fell(root);
  }
}

/** A game for training, a row per move. */
interface Game {
  readonly boards: Tensor;
  readonly columns: Tensor;
  readonly shares: Tensor;
  readonly outcomes: Tensor;
}

const end = (game: Game): void => {
  for (const t of [game.boards, game.columns, game.shares, game.outcomes]) t.dispose();
};

async function play(net: Thinker): Promise<Game> {
  const played: Move[] = [];
  for await (const move of moves(net)) played.push(move);
  const last = played.at(-1)!;
  const result = isWon(drop(last.board, last.column)) ? 1 : 0;
  return {
    boards: tensor(played.map(({ board }) => planes(board))),
    columns: tensor(played.map(({ column }) => column), { dtype: "int32" }), // prettier-ignore
    shares: tensor(played.map(({ shares }) => shares)),
    outcomes: tensor(played.map((_, i) => [(played.length - i) % 2 === 1 ? result : -result])),
  };
}

/** The same game in a mirror. */
function mirrored({ boards, columns, shares, outcomes }: Game): Game {
  return scoped(() => ({
    boards: boards.reshape(-1, 2, ROWS, COLUMNS).flip(3).reshape(boards.shape),
    columns: columns.neg().add(COLUMNS - 1),
    shares: shares.flip(1),
    outcomes: outcomes.alias(),
  }));
}

class Replay {
  #games: Game[] = [];

  add(...games: Game[]): void {
    this.#games.push(...games);
    while (this.#games.length > 6) end(this.#games.shift()!);
  }

  /** Games of one kind of column put together. The caller ends them. */
  sample(count: number): Game {
    const drawn = Array.from({ length: count }, () => this.#draw());
    const all = (column: keyof Game): Tensor => concat(drawn.map((game) => game[column]));
    return {
      boards: all("boards"),
      columns: all("columns"),
      shares: all("shares"),
      outcomes: all("outcomes"),
    };
  }

  #draw(): Game {
    return this.#games[Math.floor(random() * this.#games.length)]!;
  }

  clear(): void {
    this.#games.forEach(end);
    this.#games = [];
  }
}

// ---- training ----

/** Weights that follow those of a net slowly. */
function follow(net: Thinker, pace: number) {
  const slow = new Map<string, Tensor>();
  noGrad(() => {
    for (const [name, p] of net.namedParameters()) slow.set(name, p.clone());
  });
  return {
    update(): void {
      using _scope = newDisposeScope("follow");
      noGrad(() => {
        for (const [name, p] of net.namedParameters()) slow.get(name)!.lerp_(p, pace);
      });
    },
    /** Puts them into another net. */
    pour: (into: Thinker) => into.loadStateDict(slow, { strict: false }),
    stop: () => slow.forEach((t) => t.dispose()),
  };
}

async function train(net: Thinker, replay: Replay, steps: number): Promise<number> {
  const optimizer = new AdamW(net.parameters(), { lr: 2e-3, weightDecay: 1e-4 });
  const schedule = new StepLR(optimizer, { stepSize: 2 });
  const average = follow(net, 0.2);
  let total = 0;
  try {
    for (let step = 0; step < steps; step++) {
      const batch = replay.sample(2);
      const reads: Promise<number>[] = [];
      {
        using _scope = newDisposeScope("train");
        const latents = net.observe(batch.boards);
        const now = net.call(latents);
        const later = net.call(net.imagine(latents, batch.columns));
        const loss = functional
          .crossEntropy(now.policy, batch.shares)
          .add(functional.mseLoss(now.value, batch.outcomes))
          .add(functional.mseLoss(later.value, batch.outcomes.neg()));
        optimizer.zeroGrad();
        loss.backward();
        reads.push(loss.item(), clipGradNorm(net.parameters(), 1).item());
        optimizer.step();
      }
      end(batch);
      const [loss, norm] = await Promise.all(reads);
      if (!Number.isFinite(norm)) break;
      total += loss!;
      schedule.step();
      average.update();
    }
    average.pour(net);
  } finally {
    average.stop();
    optimizer.dispose();
  }
  return total / steps;
}

/** Who wins: 1 for the first, -1 for the second, 0 for nobody. */
async function duel(first: Thinker, second: Thinker): Promise<number> {
  let board: Board = new Int8Array(CELLS);
  for (let turn = 0; ; turn++) {
    if (isWon(board)) return turn % 2 === 1 ? 1 : -1;
    if (legal(board).length === 0) return 0;
    const net = turn % 2 === 0 ? first : second;
    const root = await plant(net, board);
    const shares = await search(net, root, board);
    fell(root);
    board = drop(board, favourite(shares));
  }
}

export async function run(generations = 3): Promise<string[]> {
  manualSeed(5);
  seed = 7;
  const log: string[] = [];
  const replay = new Replay();
  let champion = new Thinker();
  try {
    for (let generation = 1; generation <= generations; generation++) {
      const game = await play(champion);
      replay.add(game, mirrored(game));
      replay.add(await play(champion));
      const challenger = champion.copy();
      const loss = await train(challenger, replay, 3);
      const score = (await duel(challenger, champion)) - (await duel(champion, challenger));
      log.push(`${String(generation)}: loss ${loss.toFixed(3)}, score ${String(score)}`);
      if (score <= 0) {
        challenger.dispose();
        continue;
      }
      champion.dispose();
      champion = challenger;
    }
  } finally {
    champion.dispose();
    replay.clear();
  }
  return log;
}
