/**
 * A user's program with every form of `using`. hosts.test.ts compiles it in several ways against
 * several builds of the package and runs it in Node and in a browser; it must say the same
 * everywhere. Tests only.
 */
import {
  DisposedError,
  type Tensor,
  currentDisposeScope,
  init,
  memory,
  newDisposeScope,
  scoped,
  shutdown,
  tensor,
  zeros,
} from "tenure";

function log(list: string[], text: string, error?: Error): Disposable {
  return {
    [Symbol.dispose]() {
      list.push(text);
      if (error !== undefined) throw error;
    },
  };
}

/** Everything it saw, as text. */
export async function program(): Promise<string> {
  await init({ device: "null" });
  const seen: string[] = [];
  {
    using scope = newDisposeScope("block");
    const t = scope.moveToOuter(zeros([2]));
    using u = zeros([3]);
    seen.push(`${scope.count} owned, current ${currentDisposeScope() === scope}, ${u.isDisposed}`);
    t.dispose();
  }
  seen.push(`current ${currentDisposeScope() === null ? "none" : "left"}`);

  const order: string[] = [];
  try {
    using s = newDisposeScope();
    s.use(log(order, "first", new Error("one")));
    using _ = log(order, "second", new Error("two"));
    throw new Error("body");
  } catch (error) {
    const chain: string[] = [];
    for (
      let e = error as (Error & { error?: Error; suppressed?: Error }) | undefined;
      e !== undefined;
      e = e.suppressed
    )
      chain.push(e.name === "SuppressedError" ? e.error!.message : e.message);
    seen.push(`${order.join(" ")}; ${chain.join(" < ")}`);
  }

  for (using t of [zeros([1]), zeros([1])]) seen.push(t.toString());
  const early = (): Tensor => {
    using s = newDisposeScope();
    return s.detach(zeros([4]));
  };
  const kept = early();
  seen.push(String(kept.isDisposed));
  kept.dispose();
  try {
    kept.add(1);
  } catch (error) {
    seen.push(String(error instanceof DisposedError));
  }

  let read!: Promise<unknown>;
  {
    await using s = newDisposeScope();
    read = tensor([1, 2]).data();
    s.defer(() => seen.push("deferred"));
  }
  seen.push(Object.prototype.toString.call(await read));

  {
    using s = newDisposeScope("waiting");
    await s.wait(Promise.resolve());
    seen.push(`after wait ${currentDisposeScope() === s}`);
  }
  const w = zeros([2], { requiresGrad: true });
  const y = scoped(() => w.mul(w).sum());
  seen.push(
    memory
      .why(w)
      .map((r) => r.kind)
      .join(" "),
  );
  y.backward();
  seen.push(`gradient ${w.hasGrad}`);
  w.dispose();
  y.dispose();
  memory.verify();
  seen.push(`${memory.stats().threadTotalLiveCount} live`);
  await shutdown();
  return seen.join("\n");
}
