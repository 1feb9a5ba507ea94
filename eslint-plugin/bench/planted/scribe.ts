/** Writes texts for several readers at a time, with one small model and a pool of caches. */
import { EventEmitter } from "node:events";
import { multinomial, newDisposeScope, noGrad, oneHot, scoped, stack, tensor, zeros } from "tenure";
import type { Tensor } from "tenure";
import { Embedding, LayerNorm, Linear, functional } from "tenure/nn";

const [vocabulary, width, heads, room, end] = [48, 32, 4, 40, 1];

type Text = readonly number[];

/** Keys and values of all layers, [heads, room, width / heads] each. */
interface Cache {
  readonly keys: Tensor[];
  readonly values: Tensor[];
  length: number;
}

interface Request {
  readonly prompt: Text;
  readonly system?: Text;
  readonly limit?: number;
  readonly temperature?: number;
  readonly bias?: Readonly<Record<number, number>>;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

function createCache(depth: number): Cache {
  const layer = () => zeros([heads, room, width / heads]);
  const keys = Array.from({ length: depth }, layer);
  return { keys, values: keys.map(layer), length: 0 };
}

function endCache({ keys, values }: Cache): void {
  for (const t of [...keys, ...values]) t.dispose();
}

function copyCache(from: Cache, to: Cache): void {
  using _scope = newDisposeScope("copy");
  for (const part of ["keys", "values"] as const)
    for (const [i, t] of from[part].entries()) to[part][i]!.copy_(t);
  to.length = from.length;
}

function createBlock() {
  const norm = new LayerNorm(width);
  return { norm, project: new Linear(width, 3 * width), out: new Linear(width, width) };
}

function createModel(depth: number) {
  const [embed, places] = [new Embedding(vocabulary, width), new Embedding(room, width)];
  const blocks = Array.from({ length: depth }, createBlock);
  const head = new Linear(width, vocabulary);

  function attend(x: Tensor, block: (typeof blocks)[number], cache: Cache, i: number): Tensor {
    const parts = block.project.call(block.norm.call(x)).reshape(3, heads, 1, width / heads);
    const [keys, values, to] = [cache.keys[i]!, cache.values[i]!, cache.length + 1];
    keys.slice(1, cache.length, to).copy_(parts.select(0, 1));
    values.slice(1, cache.length, to).copy_(parts.select(0, 2));
    const [k, v] = [keys.slice(1, 0, to), values.slice(1, 0, to)];
    const mixed = functional.scaledDotProductAttention(parts.select(0, 0), k, v);
    return x.add(block.out.call(mixed.reshape(1, width)));
  }

  /** Puts a token behind those in the cache. The logits of the next one come back. */
  function step(token: number, cache: Cache): Tensor {
    using scope = newDisposeScope("step");
    return noGrad(() => {
      const at = tensor([token, cache.length], { dtype: "int32" });
      let x = embed.call(at.slice(0, 0, 1)).add(places.call(at.slice(0, 1)));
      for (const [i, block] of blocks.entries()) x = attend(x, block, cache, i);
      cache.length++;
      return scope.moveToOuter(head.call(x).select(0, 0));
    });
  }

  function dispose(): void {
    for (const module of [embed, places, head]) module.dispose();
    for (const block of blocks) for (const module of Object.values(block)) module.dispose();
  }
  return { step, dispose };
}

/** At most `size` caches, made when they are wanted, handed from session to session. */
function createPool(size: number, depth: number) {
  const idle: Cache[] = [];
  const waiting: ((cache: Cache) => void)[] = [];
  let [made, closed] = [0, false];
  return {
    acquire(signal: AbortSignal): Promise<Cache> {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      const free = idle.pop();
      if (free !== undefined) return Promise.resolve(free);
      if (made++ < size) return Promise.resolve(createCache(depth));
      return new Promise((resolve, reject) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => {
          if (waiting.includes(resolve)) waiting.splice(waiting.indexOf(resolve), 1);
          reject(signal.reason as Error);
        });
      });
    },
    release(cache: Cache): void {
      cache.length = 0;
      const next = waiting.shift();
      if (next !== undefined) next(cache);
      else if (closed) endCache(cache);
      else idle.push(cache);
    },
    close(): void {
      closed = true;
      for (const cache of idle.splice(0)) endCache(cache);
    },
  };
}

function createService({ depth = 2, caches = 2, prefixes = 2 } = {}) {
  const model = createModel(depth);
  const pool = createPool(caches, depth);
  const known = new Map<string, Cache>();
  const banned = tensor(Array.from({ length: vocabulary }, (_, i) => (i === 0 ? -1e9 : 0)));
  const events = new EventEmitter<{ token: [token: number]; done: [count: number] }>();

  /** Fills a cache with a system prompt, by computing it the first time and copying it later. */
  function prepare(system: Text, cache: Cache): void {
    const key = system.join();
    const found = known.get(key);
    if (found !== undefined) return copyCache(found, cache);
    for (const token of system) model.step(token, cache).dispose();
    const copy = createCache(depth);
    copyCache(cache, copy);
    known.set(key, copy);
    for (const [oldest, old] of known) {
      if (known.size <= prefixes) break;
      known.delete(oldest);
      endCache(old);
    }
  }

  function biasOf(bias: Readonly<Record<number, number>>): Tensor {
    using own = tensor(Array.from({ length: vocabulary }, (_, i) => bias[i] ?? 0));
    return banned.add(own);
  }

  const sample = (logits: Tensor, bias: Tensor, seen: Tensor, temperature: number): Tensor =>
    scoped(() => {
      const scaled = logits.add(bias).sub(seen.mul(0.5)).div(temperature);
      const { values } = scaled.topK(12);
      return multinomial(scaled.maskedFill(scaled.lt(values.min()), -1e9).softmax(), 1);
    });

  async function* generate(request: Request): AsyncGenerator<number, void> {
    const { prompt, system = [], limit = 8, temperature = 0.8 } = request;
    const late = AbortSignal.timeout(request.timeout ?? 2000);
    const signal = AbortSignal.any([late, request.signal ?? late]);
    const cache = await pool.acquire(signal);
    const bias = biasOf(request.bias ?? {});
    let seen = zeros([vocabulary]);
    let count = 0;
    try {
      prepare(system, cache);
      for (const token of prompt.slice(0, -1)) model.step(token, cache).dispose();
      let last = prompt.at(-1) ?? end;
      while (count < limit) {
        signal.throwIfAborted();
        using logits = model.step(last, cache);
        using choice = sample(logits, bias, seen, temperature);
        const before = seen;
        seen = scoped(() => before.add(oneHot(choice, vocabulary).select(0, 0)));
        before.dispose();
        last = await choice.item();
        if (last === end) break;
        count++;
        events.emit("token", last);
        yield last;
      }
    } finally {
      seen.dispose();
      bias.dispose();
      pool.release(cache);
      events.emit("done", count);
    }
  }

  /** How probable a text is, as the logarithm. */
  async function score(text: Text): Promise<Tensor> {
    const cache = await pool.acquire(AbortSignal.timeout(2000));
    try {
      return scoped(() => {
        const logits = text.slice(0, -1).map((token) => model.step(token, cache).logSoftmax());
        return stack(logits.map((row, i) => row.select(0, text[i + 1]!))).sum();
      });
    } finally {
      pool.release(cache);
    }
  }

  /** The most probable of several continuations. */
  async function best(count: number, request: Request): Promise<Text> {
    const one = () => collect(generate(request));
    const texts = await Promise.all(Array.from({ length: count }, one));
    const scores = await Promise.all(texts.map((text) => score([...request.prompt, ...text])));
    using table = stack(scores);
    for (const score of scores) score.dispose();
    using winner = table.argMax();
    return texts[await winner.item()]!;
  }

  function close(): void {
    pool.close();
    for (const cache of known.values()) endCache(cache);
    banned.dispose();
    model.dispose();
  }

  return { generate, best, events, close };
}

async function collect(tokens: AsyncIterable<number>, most = Infinity): Promise<Text> {
  const text: number[] = [];
  for await (const token of tokens) if (text.push(token) >= most) break;
  return text;
}

const service = createService();
const counts: number[] = [];
const impatient = new AbortController();
service.events.on("done", (count) => counts.push(count));
service.events.on("token", () => counts.length === 1 && impatient.abort(new Error("cancelled")));
const outcomes = await Promise.allSettled([
  collect(service.generate({ prompt: [5, 6, 7], system: [2, 3], limit: 5 })),
  collect(service.generate({ prompt: [8], system: [2, 3], bias: { 9: -4 } }), 3),
  collect(service.generate({ prompt: [11], system: [2, 4], signal: impatient.signal })),
  collect(service.generate({ prompt: [12], signal: impatient.signal })),
  collect(service.generate({ prompt: [13], limit: 2, timeout: 1500 })),
]);
for (const { status } of outcomes) console.log("session", status);
for (const last of [4, 5, 3])
  console.log((await service.best(3, { prompt: [9, 4], system: [2, last], limit: 4 })).join(" "));
service.close();
