/**
 * Classes that hold values in fields without a type, or in functions that end them: somebody must
 * end their objects, as those of any other class that does.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("held fields");
const finds = marked(test);

/** A class, an object of it that another class forgets, and one that it ends. */
const rack = (head: string, members: string): string => `${head}
class Rack {
  ${members}
}
export class Desk {
  lost = new Rack(); // !
  kept = new Rack();
  close() { this.kept.dispose(); }
}`;
const tf = 'import * as tf from "@tensorflow/tfjs-core";';
const script = (name: string, members: string): void => {
  finds(`in plain JavaScript, ${name}`, rack(tf, members), "tfjs");
};
script(
  "a list",
  `all = [];
  add() { this.all.push(tf.zeros([2])); }
  dispose() { for (const x of this.all) x.dispose(); }`,
);
script(
  "a list that the constructor makes",
  `constructor() { this.all = []; }
  add() { this.all.push(tf.zeros([2])); }
  dispose() { tf.dispose(this.all); }`,
);
script(
  "a table whose entries end under their names",
  `#all = new Map();
  add(name) { this.drop(name); this.#all.set(name, { x: tf.zeros([2]), uses: 0 }); }
  drop(name) { this.#all.get(name)?.x.dispose(); this.#all.delete(name); }
  dispose() { for (const name of [...this.#all.keys()]) this.drop(name); }`,
);
script(
  "an object",
  `all = {};
  add(name) { this.all[name]?.dispose(); this.all[name] = tf.zeros([2]); }
  dispose() { for (const name in this.all) this.all[name].dispose(); }`,
);
script(
  "functions",
  `#ends = [];
  add() { const x = tf.zeros([2]); this.#ends.push(() => x.dispose()); return x.shape; }
  dispose() { for (const end of this.#ends) end(); }`,
);
finds(
  "functions that end values",
  rack(
    'import { zeros } from "tenure";',
    `readonly #ends: (() => void)[] = [];
  add(): number { const x = zeros([2]); this.#ends.push(() => x.dispose()); return x.size; }
  dispose(): void { for (const end of this.#ends) end(); }`,
  ),
);
finds(
  "functions that end nothing",
  rack(
    'import { zeros } from "tenure";',
    `readonly #ends: (() => void)[] = [];
  add(): number { using x = zeros([2]); this.#ends.push(() => console.log("off")); return x.size; }
  dispose(): void { for (const end of this.#ends) end(); }`,
  ).replace(" // !", ""),
);

test.run();
