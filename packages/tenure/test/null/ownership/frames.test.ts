/**
 * The frames of a job: scopes that end in another order than they were opened in, and what that
 * costs, counted in scopes that are looked at.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { FRAME, type Frame, type FrameScope, Frames } from "../../../src/ownership/current.ts";

const test = suite("frames");

/** A scope that counts how often it is asked about those around it. */
class Counting implements FrameScope<Counting> {
  static looks = 0;
  [FRAME]: Frame<Counting> | null = null;
  disposed = false;
  suspended = false;
  readonly outer: Counting | null;

  constructor(outer: Counting | null) {
    this.outer = outer;
  }
  isInside(scope: Counting): boolean {
    for (let s = this.outer; s !== null; s = s.outer) {
      Counting.looks++;
      if (s === scope) return true;
    }
    return false;
  }
  suspend(): void {
    this.suspended = true;
  }
  noteOutlived(): void {
    throw new Error("outlived");
  }
}

class Job {
  readonly frames = new Frames<Counting>(() => undefined);

  open(): Counting {
    const scope = new Counting(this.frames.current());
    this.frames.push(scope);
    return scope;
  }

  end(scope: Counting): Counting | null {
    scope.disposed = true;
    return this.frames.remove(scope);
  }
}

test("many nested scopes that end from the outside are looked at once each", () => {
  const job = new Job();
  const scopes = Array.from({ length: 2000 }, () => job.open());
  Counting.looks = 0;
  for (const [k, scope] of scopes.entries()) {
    assert.is(job.end(scope), scopes[k + 1] ?? null);
    assert.is(job.frames.current(), k + 1 < scopes.length ? scopes.at(-1) : null);
  }
  assert.ok(Counting.looks <= scopes.length, `${Counting.looks} looks`);
});

test("a scope that ends in the middle leaves the others in order", () => {
  const job = new Job();
  const [a, b, c, d] = [job.open(), job.open(), job.open(), job.open()];
  assert.is(job.end(c), d);
  assert.is(job.end(b), d);
  assert.is(job.end(d), null);
  assert.is(job.frames.current(), a);
  const e = job.open();
  assert.is(job.end(a), e);
  assert.is(job.frames.current(), e);
  assert.is(job.end(e), null);
  assert.is(job.frames.current(), null);
});

test("scopes below a barrier end without a word, and are skipped afterwards", () => {
  const job = new Job();
  const a = job.open();
  const b = job.open();
  job.frames.within(a, () => {
    const inner = job.open();
    assert.is(job.end(b), null);
    assert.is(job.end(inner), null);
    assert.is(job.frames.current(), a);
  });
  assert.is(job.frames.current(), a);
});

test("frames that are put aside end there, and come back without them", () => {
  const job = new Job();
  const [a, b, c] = [job.open(), job.open(), job.open()];
  const taken = job.frames.take(b);
  assert.is(job.frames.current(), a);
  assert.is(job.end(b), null);
  job.frames.enter(taken);
  assert.ok(a.suspended);
  assert.is(job.frames.current(), c);
  const d = job.open();
  assert.is(job.end(c), d);
  assert.is(job.end(d), null);
  assert.is(job.frames.current(), null);
});

test("what was left open in an earlier job is not among the frames of the next", () => {
  const job = new Job();
  const a = job.open();
  const b = job.open();
  job.frames.endJob();
  assert.ok(a.suspended && b.suspended);
  const c = job.open();
  assert.is(job.end(a), null);
  assert.is(job.frames.current(), c);
});

test.run();
