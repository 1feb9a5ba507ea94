/** The progress line that all examples share: what it says, and that it fits. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Means, counted, progressLine } from "../progress.ts";

const test = suite("examples/progress");
const standing = {
  label: "epoch 1",
  step: 150,
  total: 600,
  seconds: 30,
  parts: ["loss 0.1234", "accuracy 97.50 %", "1234 images/s", "GPU 12.3 MB", "26 tensors"],
};

test("with room it says everything, and when it will be done", () => {
  assert.is(
    progressLine(standing),
    `epoch 1 ${"█".repeat(6)}${"░".repeat(18)} 150/600  ETA 1:30  loss 0.1234  ` +
      "accuracy 97.50 %  1234 images/s  GPU 12.3 MB  26 tensors",
  );
  assert.match(progressLine({ ...standing, step: 600, seconds: 3725 }), "600/600  took 1:02:05 ");
});

test("it never is wider than the terminal, and keeps what matters most", () => {
  for (let columns = 1; columns <= 140; columns++)
    assert.ok(progressLine(standing, columns).length <= columns, `${columns} columns`);
  const narrow = progressLine(standing, 79);
  assert.match(narrow, "ETA 1:30  loss 0.1234  accuracy 97.50 %");
  assert.not.match(narrow, "tensors");
});

test("means weigh all alike, or mostly the last, and go on from what was saved", () => {
  const all = new Means(),
    recent = new Means();
  for (const loss of [4, 2, 0]) {
    all.add({ loss });
    recent.add({ loss }, 0.5);
  }
  assert.is(all.of("loss"), 2);
  assert.is(recent.of("loss"), (4 / 4 + 2 / 2) / (1 / 4 + 1 / 2 + 1));
  const resumed = new Means();
  resumed.restart(JSON.parse(JSON.stringify(all.state())) as Record<string, number>);
  resumed.add({ loss: 6 });
  assert.is(resumed.of("loss"), 3);
  resumed.restart();
  resumed.add({ loss: 6 });
  assert.is(resumed.of("loss"), 6);
});

test("one thing is singular", () => {
  assert.equal(
    [0, 1, 2].map((n) => counted(n, "epoch")),
    ["0 epochs", "1 epoch", "2 epochs"],
  );
});

test.run();
