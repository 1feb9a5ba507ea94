/**
 * Runs random programs step by step, on the library and on the model, and checks the laws of
 * ownership after every step. Tests only.
 */
import * as assert from "uvu/assert";
import {
  type DisposeScope,
  type Tensor,
  currentDisposeScope,
  newDisposeScope,
  noGrad,
  scoped,
  scopedAsync,
  zeros,
} from "tenure";
import { type Model, type Step, Thrown } from "./model.ts";

/** One leaf step. */
function act(m: Model, step: Exclude<Step, { body: unknown }>): void {
  const here = currentDisposeScope();
  if (step.kind === "throw") throw new Thrown("thrown");
  if (step.kind === "await") return;
  if (step.kind === "create") {
    m.add(zeros([1 + (step.at % 7)]), here);
    return;
  }
  const t = m.pick(step.at);
  if (t === undefined) return;
  const owner = m.owner.get(t)!;
  switch (step.kind) {
    case "alias":
      m.add(t.alias(), here);
      break;
    case "op":
      m.add(t.add(1), here);
      break;
    case "inplace":
      m.add(
        noGrad(() => t.mul_(2)),
        here,
      );
      break;
    case "dispose":
      t.dispose();
      m.kill(t);
      t.dispose();
      break;
    case "climb":
      t.moveToOuter();
      if (owner !== null) m.owner.set(t, m.outerOf(owner));
      break;
    case "read":
      m.reads.push(t.data());
      break;
    case "moveToOuter":
      if (owner === null) break;
      owner.moveToOuter(t);
      m.owner.set(t, m.outerOf(owner));
      break;
    case "detach":
      owner?.detach(t);
      m.owner.set(t, null);
      break;
    case "attach": {
      const to = m.openScope(step.to);
      if (to === undefined) break;
      assert.is(to.attach(t), t);
      m.owner.set(t, to);
      break;
    }
    case "moveTo": {
      const to = step.to % 4 === 0 ? null : (m.openScope(step.to) ?? null);
      if (owner === null) break;
      owner.moveTo(to, t);
      m.owner.set(t, to);
      break;
    }
    case "disposeBut": {
      const scope = m.openScope(step.to);
      if (scope === undefined) break;
      scope.disposeEverythingBut(t);
      for (const other of m.membersOf(scope)) if (other !== t) m.kill(other);
      break;
    }
    case "carry": {
      const next = m.pick(step.to)!;
      if (here === null) break;
      here.carry(t, next);
      if (next === t) break;
      m.owner.set(next, owner);
      m.kill(t);
      break;
    }
  }
}

/** A program without async parts. */
export function runSync(m: Model, steps: readonly Step[]): void {
  for (const step of steps) {
    const ambient = currentDisposeScope();
    if (!("body" in step)) act(m, step);
    else if (step.kind === "scoped") {
      const outer = currentDisposeScope();
      let scope!: DisposeScope, result: Tensor | undefined;
      try {
        scoped((s) => {
          scope = s;
          m.scopes.push({ scope: s, outer, open: true });
          runSync(m, step.body);
          result = m.pick(step.at);
          return { result };
        });
        if (result !== undefined && m.owner.get(result) === scope) m.owner.set(result, outer);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      m.end(scope);
    } else if (step.kind === "segment" && m.openScope(step.at) !== undefined) {
      try {
        m.openScope(step.at)!.run(() => {
          runSync(m, step.body);
        });
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
    } else {
      let scope!: DisposeScope;
      try {
        using s = newDisposeScope();
        scope = s;
        m.scopes.push({ scope, outer: ambient, open: true });
        runSync(m, step.body);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      m.end(scope);
    }
    assert.is(currentDisposeScope(), ambient, "the ambient scope is the same after any step");
    m.check();
  }
}

/**
 * The same with awaits: raw ones where scopedAsync made the scope, `scope.wait` where `using` did.
 */
export async function runAsync(m: Model, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const ambient = currentDisposeScope();
    if (step.kind === "await") await Promise.resolve();
    else if (step.kind === "async") await runScopedAsync(m, step.body, step.at);
    else if (step.kind === "scope") await runWaiting(m, step.body);
    else runSync(m, [step]);
    assert.is(currentDisposeScope(), ambient, "the ambient scope is the same after any await");
    m.check();
  }
}

function runScopedAsync(m: Model, body: readonly Step[], at: number): Promise<void> {
  const ambient = currentDisposeScope();
  let scope!: DisposeScope, result: Tensor | undefined;
  const work = scopedAsync(async (s) => {
    scope = s;
    m.scopes.push({ scope: s, outer: ambient, open: true });
    await runAsync(m, body);
    result = m.pick(at);
    return [result];
  });
  assert.is(currentDisposeScope(), ambient, "the caller's ambient scope");
  return work.then(
    () => {
      if (result !== undefined && m.owner.get(result) === scope) m.owner.set(result, ambient);
      m.end(scope);
    },
    (error: unknown) => {
      m.end(scope);
      if (!(error instanceof Thrown)) throw error;
    },
  );
}

async function runWaiting(m: Model, body: readonly Step[]): Promise<void> {
  const outer = currentDisposeScope();
  let scope!: DisposeScope;
  try {
    using s = newDisposeScope();
    scope = s;
    m.scopes.push({ scope, outer, open: true });
    for (const step of body) {
      if (step.kind === "await") await s.wait(Promise.resolve());
      else if (step.kind === "async") await s.wait(runScopedAsync(m, step.body, step.at));
      else runSync(m, [step]);
      assert.is(currentDisposeScope(), s, "the scope is current again after wait");
      m.check();
    }
  } catch (error) {
    if (!(error instanceof Thrown)) throw error;
  }
  m.end(scope);
}

/** Ends what a program left, waits for its reads, and checks the laws once more. */
export async function finish(m: Model): Promise<void> {
  for (const t of [...m.owner.keys()]) {
    t.dispose();
    m.kill(t);
  }
  await Promise.all(m.reads);
  m.reads.length = 0;
  m.check();
}
