/**
 * A worker that holds tensors for its page by number: messages come in, numbers go out. Both sides
 * are here, and a port stands between them.
 */
import { type Tensor, concat, noGrad, scoped, tensor } from "tenure";
import { Linear, type Module, Sequential, Sigmoid } from "tenure/nn";
import { SGD } from "tenure/optim";

type Call =
  | { readonly op: "upload"; readonly data: readonly number[] }
  | { readonly op: "join"; readonly handles: readonly number[] }
  | { readonly op: "predict"; readonly handle: number }
  | { readonly op: "train"; readonly handle: number; readonly steps: number }
  | { readonly op: "free"; readonly handle: number }
  | { readonly op: "reset" };

interface Message {
  readonly id: number;
  readonly call: Call;
}
type Answer = { readonly id: number; readonly value: unknown } | { id: number; error: string };

/** The worker's side: it owns the tensors that handles stand for. */
class Host {
  readonly #tensors = new Map<number, Tensor>();
  readonly #model: Module = new Sequential(new Linear(2, 3), new Sigmoid(), new Linear(3, 1));
  readonly #post: (answer: Answer) => void;
  #next = 1;

  constructor(post: (answer: Answer) => void) {
    this.#post = post;
  }

  async receive({ id, call }: Message): Promise<void> {
    try {
      const value = await this.#run(call);
      this.#post({ id, value });
    } catch (error) {
      this.#post({ id, error: String(error) });
    }
  }

  async #run(call: Call): Promise<unknown> {
    switch (call.op) {
      case "upload":
        return this.#hold(upload(call.data));
      case "join": {
        const parts = call.handles.map((h) => this.#lookup(h));
        return this.#hold(concat(parts));
      }
      case "predict": {
        const x = this.#lookup(call.handle);
        using y = noGrad(() => this.#model.call(x));
        return [...(await y.data())];
      }
      case "train":
        return this.#train(this.#lookup(call.handle), call.steps);
      case "free": {
        const t = this.#lookup(call.handle);
        this.#tensors.delete(call.handle);
        t.dispose();
        return true;
      }
      case "reset": {
        const count = this.#tensors.size;
        for (const t of this.#tensors.values()) t.dispose();
        this.#tensors.clear();
        return count;
      }
    }
  }

  async #train(x: Tensor, steps: number): Promise<number> {
    using optimizer = new SGD(this.#model.parameters(), { lr: 0.1 });
    let last = NaN;
    for (let step = 0; step < steps; step++) {
      const loss = scoped(() => this.#model.call(x).sub(1).square().mean());
      try {
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        last = await loss.item();
      } finally {
        loss.dispose();
      }
    }
    this.#model.zeroGrad();
    return last;
  }

  /** Takes the tensor, and gives its number. */
  #hold(value: Tensor): number {
    const handle = this.#next++;
    this.#tensors.set(handle, value);
    return handle;
  }

  #lookup(handle: number): Tensor {
    const found = this.#tensors.get(handle);
    if (found === undefined) throw new RangeError(`no tensor ${handle}`);
    return found;
  }

  close(): void {
    for (const [, t] of this.#tensors) t.dispose();
    this.#tensors.clear();
    this.#model.dispose();
  }
}

function upload(data: readonly number[]): Tensor {
  using flat = tensor([...data]);
  if (flat.size % 2 !== 0) throw new RangeError("expected pairs");
  return flat.reshape(-1, 2);
}

/** The page's side: promises for answers. */
class Client {
  readonly #waiting = new Map<number, PromiseWithResolver>();
  readonly #send: (message: Message) => void;
  #id = 0;

  constructor(send: (message: Message) => void) {
    this.#send = send;
  }

  call(call: Call): Promise<unknown> {
    const id = this.#id++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, call });
    });
  }

  answer(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("error" in answer) waiting?.reject(new Error(answer.error));
    else waiting?.resolve(answer.value);
  }
}

interface PromiseWithResolver {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A conversation, errors included. */
export async function run(): Promise<number> {
  let client: Client | null = null;
  const host = new Host((answer) => client?.answer(answer));
  const page = new Client((message) => {
    queueMicrotask(() => void host.receive(message));
  });
  client = page;
  const handles: number[] = [];
  for (const data of [[1, 2, 3, 4], [5, 6], [7]])
    try {
      handles.push((await page.call({ op: "upload", data })) as number);
    } catch {
      handles.push(-1);
    }
  const joined = (await page.call({ op: "join", handles: handles.slice(0, 2) })) as number;
  await page.call({ op: "train", handle: joined, steps: 2 });
  const [out] = await Promise.all([
    page.call({ op: "predict", handle: joined }),
    page.call({ op: "predict", handle: handles[0]! }),
  ]);
  await page.call({ op: "free", handle: joined });
  const freed = (await page.call({ op: "reset" })) as number;
  handles.push((await page.call({ op: "upload", data: [8, 9] })) as number);
  host.close();
  return freed + (out as number[]).length;
}
