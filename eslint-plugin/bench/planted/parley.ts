/**
 * A chat server around a small language model: keys and values are kept for each conversation and
 * once for the system prompt that all of them share, the conversations used least go first.
 */
import { EventEmitter } from "node:events";
import * as tn from "tenure";
import type { Tensor } from "tenure";
import { Embedding, Linear, Module, RMSNorm, functional } from "tenure/nn";

const VOCABULARY = 48;
const WIDTH = 16;
const HEADS = 2;
const STOP = 3;

/** Keys and values of one layer, [1, heads, tokens, width]. */
class LayerCache implements Disposable {
  keys: Tensor;
  values: Tensor;

  constructor(keys: Tensor, values: Tensor) {
    this.keys = keys.detachFromScope();
    this.values = values.detachFromScope();
  }
  append(keys: Tensor, values: Tensor) {
    this.#replace(tn.concat([this.keys, keys], 2), tn.concat([this.values, values], 2));
  }
  trim(size: number) {
    const from = lengthOf(this) - size;
    if (from <= 0) return;
    using _scope = tn.newDisposeScope();
    this.#replace(this.keys.slice(2, from).clone(), this.values.slice(2, from).clone());
  }
  fork() {
    return new LayerCache(this.keys.alias(), this.values.alias());
  }
  #replace(keys: Tensor, values: Tensor) {
    this[Symbol.dispose]();
    this.keys = keys.detachFromScope();
    this.values = values.detachFromScope();
  }
  [Symbol.dispose]() {
    this.keys.dispose();
    this.values.dispose();
  }
}

type Context = readonly LayerCache[];

const lengthOf = (cache: LayerCache) => cache.keys.shape[2] ?? 0;
const heads = (x: Tensor) => x.reshape(1, -1, HEADS, WIDTH / HEADS).transpose(1, 2);
const nothing = () => tn.zeros([1, HEADS, 0, WIDTH / HEADS]);
const fork = (context: Context) => context.map((layer) => layer.fork());
function release(context: Context) {
  for (const layer of context) layer[Symbol.dispose]();
}

class Block extends Module<[x: Tensor, cache: LayerCache, mask: Tensor]> {
  readonly norm = new RMSNorm(WIDTH);
  readonly project = new Linear(WIDTH, 3 * WIDTH);
  readonly out = new Linear(WIDTH, WIDTH);

  forward(x: Tensor, cache: LayerCache, mask: Tensor): Tensor {
    using scope = tn.newDisposeScope("block");
    const [q, k, v] = this.project.call(this.norm.call(x)).chunk(3, -1).map(heads);
    cache.append(k!, v!);
    const seen = functional.scaledDotProductAttention(q!, cache.keys, cache.values, { mask });
    const merged = seen.transpose(1, 2).reshape(1, -1, WIDTH);
    return scope.moveToOuter(x.add(this.out.call(merged)));
  }
}

class ChatModel extends Module<[tokens: Tensor, context: Context]> {
  readonly embed = new Embedding(VOCABULARY, WIDTH);
  readonly blocks = [new Block(), new Block()];
  readonly head = new Linear(WIDTH, VOCABULARY);
  readonly #masks = new Map<string, Tensor>();

  forward(tokens: Tensor, context: Context): Tensor {
    using scope = tn.newDisposeScope("chat model");
    const mask = this.#mask(tokens.shape[1]!, lengthOf(context[0]!) + tokens.shape[1]!);
    let x = this.embed.call(tokens);
    for (const [i, block] of this.blocks.entries()) x = block.call(x, context[i]!, mask);
    return scope.moveToOuter(this.head.call(x.select(1, -1)));
  }
  #mask(rows: number, columns: number): Tensor {
    const known = this.#masks.get(`${String(rows)}x${String(columns)}`);
    if (known) return known;
    const square = tn.ones([rows, columns]);
    const mask = square.tril(columns - rows).bool();
    this.#masks.set(`${String(rows)}x${String(columns)}`, mask.detachFromScope());
    return mask;
  }
  override dispose() {
    for (const mask of this.#masks.values()) mask.dispose();
    this.#masks.clear();
    super.dispose();
  }
}

type Sampler = Disposable & { pick(logits: Tensor): Tensor };

const greedy: Sampler = { pick: (logits) => logits.argMax(-1), [Symbol.dispose]: () => undefined };

const topK = (k: number, temperature: number): Sampler => ({
  pick(logits) {
    using scaled = logits.div(temperature);
    const { values, indices } = scaled.topK(k);
    using candidates = indices;
    using weights = values.softmax(-1);
    values.dispose();
    using drawn = tn.multinomial(weights, 1);
    return candidates.gather(1, drawn);
  },
  [Symbol.dispose]: () => undefined,
});

/** Makes what was said already less likely. */
class Repetition implements Sampler {
  readonly #inner: Sampler;
  #counts = tn.zeros([1, VOCABULARY]);

  constructor(inner: Sampler) {
    this.#inner = inner;
  }
  pick(logits: Tensor): Tensor {
    using scope = tn.newDisposeScope();
    const picked = this.#inner.pick(logits.sub(this.#counts.mul(0.5)));
    const counts = this.#counts.add(tn.oneHot(picked.reshape(1), VOCABULARY));
    this.#counts.dispose();
    this.#counts = scope.detach(counts);
    return scope.moveToOuter(picked);
  }
  [Symbol.dispose]() {
    this.#counts.dispose();
    this.#inner[Symbol.dispose]();
  }
}

type Samplers = Readonly<Record<string, () => Sampler>>;
type ServerOptions = { system: number[]; capacity: number; samplers: Samplers };
type Conversation = { context: Context; readonly sampler: Sampler };
type Question = { id: string; prompt: number[]; length?: number; drafts?: number };

class ChatServer extends EventEmitter implements Disposable {
  readonly #model = new ChatModel().eval();
  readonly #system = this.#model.blocks.map(() => new LayerCache(nothing(), nothing()));
  readonly #open = new Map<string, Conversation>();
  readonly #options: ServerOptions;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: ServerOptions) {
    super();
    this.#options = options;
    this.#logits(this.#system, options.system).dispose();
  }
  /** One answer at a time, in the order of the questions. */
  ask(question: Question): Promise<number[]> {
    const answer = this.#queue.then(() => this.#answer(question));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }
  async #answer({ id, prompt, length = 4, drafts = 1 }: Question): Promise<number[]> {
    const conversation = this.#conversation(id);
    const tokens = drafts > 1 ? [await this.#bestOf(drafts, conversation, prompt)] : [];
    for await (const t of this.#stream(conversation, prompt, length)) tokens.push(t);
    for (const layer of conversation.context) layer.trim(12);
    this.emit("answer", id, tokens);
    return tokens;
  }
  #conversation(id: string): Conversation {
    const known = this.#open.get(id);
    const { samplers, capacity } = this.#options;
    const sampler = samplers[id.split("/")[1] ?? ""] ?? (() => greedy);
    const conversation = known ?? { context: fork(this.#system), sampler: sampler() };
    this.#open.delete(id); // to the end of the line
    for (const oldest of this.#open.keys()) if (this.#open.size >= capacity) this.end(oldest);
    this.#open.set(id, conversation);
    return conversation;
  }
  async *#stream({ context, sampler }: Conversation, prompt: number[], length: number) {
    for (let i = 0, input = prompt; i < length; i++) {
      using logits = this.#logits(context, input);
      using picked = sampler.pick(logits);
      const token = await picked.item();
      if (token === STOP) return;
      yield token;
      input = [token];
    }
  }
  async #bestOf(count: number, conversation: Conversation, prompt: number[]) {
    const drafts = Array.from({ length: count }, () => fork(conversation.context));
    const scores = drafts.map((context) => {
      using logits = this.#logits(context, prompt);
      using likely = logits.logSoftmax(-1);
      return likely.max(-1);
    });
    using all = tn.concat(scores, 0);
    for (const score of scores) score.dispose();
    using best = all.argMax(0);
    const winner = await best.item();
    for (const [i, draft] of drafts.entries()) if (i !== winner) release(draft);
    release(conversation.context);
    conversation.context = drafts[winner]!;
    return winner;
  }
  #logits(context: Context, tokens: number[]): Tensor {
    using input = tn.tensor([tokens], { dtype: "int32" });
    return tn.noGrad(() => this.#model.call(input, context));
  }
  end(id: string) {
    const conversation = this.#open.get(id);
    if (!this.#open.delete(id) || !conversation) return;
    release(conversation.context);
    conversation.sampler[Symbol.dispose]();
  }
  [Symbol.dispose]() {
    for (const id of [...this.#open.keys()]) this.end(id);
    release(this.#system);
    this.#model.dispose();
  }
}

async function main(): Promise<number> {
  const samplers = { warm: () => topK(5, 0.8), fresh: () => new Repetition(topK(8, 1)) };
  using server = new ChatServer({ system: [1, 2, 4, 5], capacity: 2, samplers });
  let answered = 0;
  server.on("answer", () => answered++);
  await Promise.all([
    server.ask({ id: "ada", prompt: [7, 8, 9] }),
    server.ask({ id: "ben/warm", prompt: [10, 11], length: 6 }),
    server.ask({ id: "cyd/fresh", prompt: [12, 13, 14], length: 8 }),
    server.ask({ id: "ben/warm", prompt: [15], drafts: 3 }),
    server.ask({ id: "dee/fresh", prompt: [16, 17], length: 9 }),
  ]);
  return answered;
}

const answered = await main();
export const run = () => Promise.resolve(answered);
