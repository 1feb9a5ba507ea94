/**
 * Federated averaging: clients train a copy of the model on their own data and send the change; a
 * server adds the weighted mean of all changes. Messages go through an async queue; a client may
 * drop out.
 */
import {
  type Tensor,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  stack,
  zeros,
} from "tenure";
import { Linear, type Module, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam, SGD } from "tenure/optim";

type Weights = Record<string, Tensor>;

/** A change of the weights, by a client. Whoever receives it ends it. */
interface Update {
  readonly rows: number;
  readonly change: Weights;
}

/** Updates wait for a reader, or readers for an update. */
class Mailbox implements Disposable {
  readonly #waiting: Update[] = [];
  readonly #readers: ((update: Update) => void)[] = [];

  send(update: Update): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#waiting.push(update);
    else reader(update);
  }

  receive(): Promise<Update> {
    const first = this.#waiting.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  [Symbol.dispose](): void {
    for (const { change } of this.#waiting.splice(0)) end(change);
  }
}

const build = (): Sequential => new Sequential(new Linear(3, 4), new ReLU(), new Linear(4, 1));

/** Copies of all weights, which are the caller's. */
function snapshot(model: Module): Weights {
  const copies: Weights = {};
  using state = model.stateDict();
  for (const [name, t] of state) copies[name] = t.clone();
  return copies;
}

function end(weights: Weights): void {
  for (const t of Object.values(weights)) t.dispose();
}

/** after - before. */
function difference(after: Weights, before: Weights): Weights {
  return Object.fromEntries(Object.entries(after).map(([name, t]) => [name, t.sub(before[name]!)]));
}

interface ClientOptions {
  readonly rows?: number;
  readonly epochs?: number;
  readonly fails?: boolean;
}

class Client implements Disposable {
  readonly name: string;
  readonly rows: number;
  readonly #x: Tensor;
  readonly #y: Tensor;
  readonly #options: ClientOptions;
  #residual: Weights | null = null;

  constructor(name: string, options: ClientOptions = {}) {
    this.name = name;
    this.rows = options.rows ?? 4;
    this.#x = randn([this.rows, 3]);
    this.#y = scoped(() => this.#x.sum(1, true).tanh());
    this.#options = options;
  }

  async train(weights: Weights): Promise<Update> {
    using model = build();
    model.loadStateDict(weights);
    const optimizer = new SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
    try {
      for (let epoch = 0; epoch < (this.#options.epochs ?? 2); epoch++) {
        await this.#step(model, optimizer);
        if (this.#options.fails === true) throw new Error(`${this.name} is gone`);
      }
    } finally {
      optimizer.dispose();
    }
    const after = snapshot(model);
    const change = noGrad(() => difference(after, weights));
    end(after);
    return { rows: this.rows, change: this.#withResidual(change) };
  }

  #step(model: Sequential, optimizer: SGD): Promise<number> {
    using _scope = newDisposeScope("client");
    const loss = F.mseLoss(model.call(this.#x), this.#y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.item();
  }

  /** What to send of a change; the rest is for the next time. */
  #withResidual(change: Weights): Weights {
    const sent: Weights = {},
      kept: Weights = {};
    for (const [name, fresh] of Object.entries(change)) {
      const before = this.#residual?.[name];
      const whole = before === undefined ? fresh.alias() : fresh.add(before);
      fresh.dispose();
      sent[name] = scoped(() => whole.mul(whole.abs().gt(1e-4).float()));
      kept[name] = whole.sub(sent[name]);
      whole.dispose();
    }
    if (this.#residual !== null) end(this.#residual);
    this.#residual = kept;
    return sent;
  }

  [Symbol.dispose](): void {
    this.#x.dispose();
    this.#y.dispose();
    if (this.#residual !== null) end(this.#residual);
  }
}

class Server implements Disposable {
  readonly model = build();
  readonly #optimizer = new Adam(this.model.parameters(), { lr: 0.1 });
  readonly #norms: Tensor[] = [];

  /** Takes the updates over. */
  apply(updates: readonly Update[]): void {
    if (updates.length === 0) return;
    const rows = updates.reduce((sum, u) => sum + u.rows, 0);
    for (const [name, weight] of this.model.namedParameters()) {
      using mean = scoped(() =>
        updates
          .map((u) => u.change[name]!.mul(u.rows / rows))
          .reduce((sum, t) => sum.add(t), zeros(weight.shape)),
      );
      this.#norms.push(mean.norm());
      using slope = mean.neg();
      weight.grad = slope;
    }
    this.#optimizer.step();
    for (const { change } of updates) end(change);
  }

  async norms(): Promise<number> {
    if (this.#norms.length === 0) return 0;
    using all = stack(this.#norms);
    for (const t of this.#norms.splice(0)) t.dispose();
    return (await all.data()).length;
  }

  [Symbol.dispose](): void {
    for (const t of this.#norms) t.dispose();
    this.#optimizer.dispose();
    this.model.dispose();
  }
}

async function work(client: Client, weights: Weights, box: Mailbox): Promise<boolean> {
  try {
    box.send(await client.train(weights));
    return true;
  } catch {
    return false; // dropped out
  }
}

/** The weights go out; the first answers count, late ones do not. */
async function round(server: Server, clients: readonly Client[], most = 2): Promise<number> {
  using box = new Mailbox();
  const weights = snapshot(server.model);
  const updates: Update[] = [];
  try {
    const answers = await Promise.all(clients.map((client) => work(client, weights, box)));
    while (updates.length < Math.min(most, answers.filter(Boolean).length))
      updates.push(await box.receive());
  } finally {
    end(weights);
  }
  server.apply(updates);
  return updates.length;
}

/** Some rounds with four clients, of which one drops out each time. */
export async function run(rounds = 3): Promise<number> {
  manualSeed(13);
  using server = new Server();
  using probe = randn([5, 3]);
  const clients = [{}, { rows: 6 }, { fails: true }, { epochs: 1 }].map(
    (options, i) => new Client(`client ${String(i)}`, options),
  );
  let total = 0;
  try {
    for (let i = 0; i < rounds; i++) total += await round(server, clients);
    total += await server.norms();
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
  using answer = noGrad(() => server.model.call(probe));
  return total + (await answer.data()).length;
}
