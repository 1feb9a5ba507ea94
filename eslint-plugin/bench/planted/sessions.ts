/**
 * An inference server without a network: requests of clients wait in a queue, go through the model
 * in batches, and each client has a session with the state of its conversation.
 */
import { type Tensor, concat, manualSeed, newDisposeScope, noGrad } from "tenure";
import { randn, scoped, stack, zeros } from "tenure";
import { GRU, Linear, Module } from "tenure/nn";

const WIDTH = 5;

interface Request {
  readonly client: string;
  readonly input: Tensor;
  resolve: (output: Tensor) => void;
  reject(error: Error): void;
}

interface Session {
  hidden: Tensor;
  lastOutput: Tensor | null;
  readonly profile: Tensor;
  turns: number;
}

interface ServerOptions {
  readonly batch?: number;
  readonly maxSessions?: number;
  readonly warmUp?: Tensor;
}

class Responder extends Module<[x: Tensor, hidden: Tensor], { output: Tensor; hidden: Tensor }> {
  readonly gru = new GRU(WIDTH, WIDTH);
  readonly head = new Linear(WIDTH, WIDTH);

  forward(x: Tensor, before: Tensor): { output: Tensor; hidden: Tensor } {
    using step = x.unsqueeze(0);
    const { output, hidden } = this.gru.call(step, before);
    using seen = output.squeeze(0);
    output.dispose();
    return { output: this.head.call(seen), hidden };
  }
}

class Sessions {
  readonly #open = new Map<string, Session>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#open.size;
  }

  of(client: string): Session {
    let session = this.#open.get(client);
    if (session === undefined) {
      if (this.#open.size >= this.#limit) this.#closeOldest();
      session = { ...fresh(), profile: randn([WIDTH]), turns: 0 };
      this.#open.set(client, session);
    }
    return session;
  }

  advance(client: string, hidden: Tensor, output: Tensor): void {
    const session = this.of(client);
    session.hidden.dispose();
    session.hidden = hidden;
    session.lastOutput?.dispose();
    session.lastOutput = output.alias();
    session.turns++;
  }

  /** Forgets what was said, not who it was. */
  restart(client: string): void {
    const session = this.#open.get(client);
    if (session === undefined) return;
    session.hidden.dispose();
    session.lastOutput?.dispose();
    Object.assign(session, fresh());
  }

  close(client: string): boolean {
    const session = this.#open.get(client);
    if (session !== undefined) endSession(session);
    return this.#open.delete(client);
  }

  #closeOldest(): void {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.close(oldest);
  }

  closeAll(): void {
    for (const client of [...this.#open.keys()]) this.close(client);
  }
}

const fresh = (): Pick<Session, "hidden" | "lastOutput"> => ({
  hidden: zeros([1, 1, WIDTH]),
  lastOutput: null,
});

function endSession(session: Session): void {
  session.hidden.dispose();
  session.lastOutput?.dispose();
  session.profile.dispose();
}

class InferenceServer implements AsyncDisposable {
  readonly #model = new Responder();
  readonly #sessions: Sessions;
  readonly #batch: number;
  #queue: Request[] = [];
  #turn: Promise<void> | null = null;
  /** Mean of all answers. */
  #mean: Tensor = zeros([WIDTH]);

  constructor({ batch = 2, maxSessions = 2, warmUp }: ServerOptions = {}) {
    this.#batch = batch;
    this.#sessions = new Sessions(maxSessions);
    using _scope = newDisposeScope("warm up");
    const first = warmUp ?? zeros([1, WIDTH]);
    noGrad(() => this.#model.call(first, zeros([1, 1, WIDTH])));
  }

  /** Takes the input; the answer is the caller's. */
  ask(client: string, input: Tensor): Promise<Tensor> {
    const answer = new Promise<Tensor>((resolve, reject) => {
      this.#queue.push({ client, input, resolve, reject });
    });
    this.#turn ??= Promise.resolve().then(() => this.#work());
    return answer;
  }

  restart(client: string): void {
    this.#sessions.restart(client);
  }

  /** Takes back what a client waits for. */
  cancel(client: string): void {
    const kept: Request[] = [];
    for (const request of this.#queue)
      if (request.client === client) {
        request.input.dispose();
        request.reject(new Error("cancelled"));
      } else kept.push(request);
    this.#queue = kept;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      const requests = this.#queue.splice(0, this.#batch);
      try {
        this.#answer(requests);
      } catch (error) {
        for (const request of requests) request.reject(error as Error);
      } finally {
        for (const { input } of requests) input.dispose();
      }
      await Promise.resolve();
    }
    this.#turn = null;
  }

  #answer(requests: readonly Request[]): void {
    const sessions = requests.map(({ client }) => this.#sessions.of(client));
    const inputs = requests.map(({ input }, i) => input.add(sessions[i]!.profile));
    using x = stack(inputs);
    for (const input of inputs) input.dispose();
    using before = concat(
      sessions.map((s) => s.hidden),
      1,
    );
    const { output, hidden } = noGrad(() => this.#model.call(x, before));
    const rows = output.unbind(0);
    this.#remember(output);
    output.dispose();
    for (const [i, { client, resolve }] of requests.entries()) {
      this.#sessions.advance(client, hidden.slice(1, i, i + 1), rows[i]!);
      resolve(rows[i]!);
    }
    hidden.dispose();
  }

  #remember(output: Tensor): void {
    const next = scoped(() => this.#mean.lerp(output.mean(0), 0.1));
    this.#mean.dispose();
    this.#mean = next;
  }

  async level(): Promise<number> {
    using norm = this.#mean.norm();
    return await norm.item();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    this.#sessions.closeAll();
    this.#mean.dispose();
    this.#model.dispose();
  }
}

/** Three clients talk, one gives up, and one sends what does not fit. */
export async function run(): Promise<number> {
  manualSeed(4);
  using warmUp = randn([1, WIDTH]);
  await using server = new InferenceServer({ warmUp });
  let answered = 0;
  for (const round of [0, 1, 2]) {
    const waiting = ["ann", "bob", "cyd"].map((client) => server.ask(client, randn([WIDTH])));
    if (round === 1) server.cancel("bob");
    for (const result of await Promise.allSettled(waiting)) {
      if (result.status === "rejected") continue;
      using answer = result.value;
      using best = answer.argMax();
      answered += 1 + 0 * (await best.item());
    }
    if (round === 1) server.restart("cyd");
  }
  const failed = server.ask("ann", randn([WIDTH + 1]));
  await failed.then(
    (answer) => answer.dispose(),
    () => answered--,
  );
  return answered + (await server.level());
}
