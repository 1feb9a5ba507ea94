/** What hosts.test.ts runs inside a page. Tests only. */
import { init, memory, newDisposeScope, scopedAsync, setWarnSink, zeros } from "tenure";
import { runTasks } from "../../../tenure/test/null/ownership/tasks.ts";
import { program } from "./program.ts";

async function tasks(): Promise<unknown> {
  const warnings: string[] = [];
  setWarnSink((w) => {
    warnings.push(w);
  });
  await init({ device: "null" });
  memory.track("off");
  const result = await runTasks(10_000, false, 7);
  memory.verify();
  return { ...result, warnings };
}

/** What a browser without AsyncContext does with async bodies, and with a raw await. */
async function limits(): Promise<string[]> {
  const seen: string[] = [];
  setWarnSink((w) => {
    seen.push(w);
  });
  memory.track("full");
  await scopedAsync(async () => 1).catch((e: unknown) => {
    seen.push(String(e));
  });
  using s = newDisposeScope("native");
  s.run(() => zeros([1]));
  await Promise.resolve();
  seen.push(`suspended ${s.suspended}, owns ${s.count}`);
  return seen;
}

/** The host's own DisposableStack and our scopes, each in the other. */
async function stack(): Promise<string> {
  const order: string[] = [];
  const host = new DisposableStack();
  const scope = newDisposeScope().move();
  host.use(scope);
  host.defer(() => order.push("stack"));
  scope.defer(() => order.push("scope"));
  {
    using outer = newDisposeScope();
    outer.use(host.move());
    host.dispose();
  }
  return `${order.join(" ")}, ${scope.disposed}, ${host.disposed}`;
}

Object.assign(globalThis, { program, tasks, limits, stack });
