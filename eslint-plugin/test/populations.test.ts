/**
 * Lists of a module that another list takes the place of: populations, batches, frames.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("populations");
const finds = marked(test);

const typed = (type: string, make: string, child: string, more = ""): string =>
  `import { randn, type Tensor } from "tenure";
${more}let population: ${type}[] = [];
export function init(): void {
  for (let i = 0; i < 10; i++) population.push(${make});
}
export function next(n: number): void {
  const best = population[0];
  const children: ${type}[] = [];
  for (let i = 0; i < n; i++) children.push(${child});
  population = children; // !
}`;
finds("tensors", typed("Tensor", "randn([3])", "best ? best.neg() : randn([3])"));
finds(
  "records of tensors",
  typed(
    "{ weights: Tensor; score: number }",
    "{ weights: randn([3]), score: 0 }",
    "{ weights: best!.weights.neg(), score: best!.score }",
  ),
);
finds(
  "objects that hold tensors",
  typed(
    "Net",
    "new Net()",
    "new Net()",
    "class Net { w: Tensor = randn([3]); dispose(): void { this.w.dispose(); } }\n",
  ),
);
finds(
  "seen from a callback that runs at once",
  `let population = [];
function init() { for (let i = 0; i < 10; i++) population.push(tf.randomNormal([3])); }
function next() {
  const best = population[0];
  const children = [];
  for (let i = 0; i < 10; i++)
    children.push(tf.tidy(() => best.add(tf.randomNormal([3]))));
  population = children; // !
}
init();
setInterval(next, 100);`,
  "tfjs",
);
finds(
  "of which the last are ended",
  `let population = [];
function init() { for (let i = 0; i < 10; i++) population.push(tf.randomNormal([3])); }
function next() {
  const children = [];
  for (let i = 0; i < 10; i++) children.push(tf.randomNormal([3]));
  tf.dispose(population);
  population = children;
}
init();
setInterval(next, 100);`,
  "tfjs",
);
finds(
  "of which some go on",
  `let population = [];
function init() { for (let i = 0; i < 10; i++) population.push(tf.randomNormal([3])); }
function next() {
  const children = [population[0]];
  for (let i = 1; i < 10; i++) {
    children.push(tf.randomNormal([3]));
    population[i].dispose();
  }
  population = children;
}
init();
setInterval(next, 100);`,
  "tfjs",
);
finds(
  "that another list has, too",
  `let population = [], archive = [];
function next() {
  const children = [];
  for (let i = 0; i < 10; i++) children.push(tf.randomNormal([3]));
  archive.push(...population);
  population = children;
}
setInterval(next, 100);
setInterval(() => { for (const t of archive.splice(0)) t.dispose(); }, 1000);`,
  "tfjs",
);

finds(
  "records of plain JavaScript that are taken out and ended",
  `class Tracks {
  constructor() { this.all = []; }
  add(v) {
    this.all.push({ x: tf.tensor(v), n: 1 });
    if (this.all.length > 5) {
      const old = this.all.shift();
      old.x.dispose();
    }
  }
  drop() {
    this.all.pop(); // !
  }
  clear() {
    for (const track of this.all) track.x.dispose();
    this.all.length = 0;
  }
}
const tracks = new Tracks();
function draw() { tracks.add([1]); if (tracks.all.length > 3) tracks.drop(); }
function end() { tracks.clear(); }`,
  "tfjs",
);

finds(
  "models, sorted before",
  `import * as tf from "@tensorflow/tfjs-core";
const make = () => tf.sequential();
let population = Array.from({ length: 4 }, () => ({ brain: make(), score: 0 }));
export function next() {
  population.sort((a, b) => b.score - a.score);
  const children = [];
  for (let i = 0; i < 4; i++) children.push({ brain: make(), score: 0 });
  population = children; // !
}`,
  "tfjs",
);
finds(
  "what is put there in a promise",
  `import { randn, type Tensor } from "tenure";
export class Queue {
  #jobs: Tensor[] = [];
  push(): Promise<void> {
    const job = randn([3]);
    return new Promise((done) => { this.#jobs.push(job); done(); });
  }
  drain(): void {
    for (let job = this.#jobs.shift(); job; job = this.#jobs.shift()) job.dispose();
  }
  clear(): void {
    this.#jobs = []; // !
  }
}`,
);

test.run();
