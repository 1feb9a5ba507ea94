/**
 * Lists of a class that are full at some time: what is put in the place of another loses it, unless
 * that is ended first. Each case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("rings");
const lost = "// ~ no-overwritten-tensor";
const end = "clear() { for (const t of this.all) t.dispose(); this.all = []; }";

/** A class with a list and a method that puts a value into it. */
const keeper = (body: string, rest = end): string => `
export class Keeper {
  constructor() { this.all = []; this.at = 0; this.holes = []; }
  put(x, side) {
    const t = tf.square(x);
    ${body}
  }
  ${rest}
}`;

addScripts(test, {
  "appended while there is room": keeper(
    `if (this.all.length < 100) this.all.push(t);\n    else this.all[this.at] = t; ${lost}`,
  ),
  "a place at random where there is none": keeper(
    "if (this.all.length >= 100) {\n" +
      `this.all[Math.floor(Math.random() * 100)] = t; ${lost}\n} else this.all.push(t);`,
  ),
  "by a count of its own": keeper(
    "if (this.at < 100) this.all[this.at++] = t;\n" +
      `else if (side) {\nconst i = Math.floor(Math.random() * 100);\nthis.all[i] = t; ${lost}\n}`,
  ),
  "by the remainder of a count": keeper(`this.all[this.at % 100] = t; ${lost}\n    this.at++;`),
  "a record of values": `
export class Memory {
  constructor() { this.all = []; this.at = 0; }
  remember(state, reward) {
    const step = { state: tf.square(state), reward };
    if (this.all.length < 100) this.all.push(step);
    else this.all[this.at % 100] = step; ${lost}
    this.at++;
  }
  clear() { for (const { state } of this.all) state.dispose(); this.all = []; }
}`,
  "one that is ended first": keeper(
    "if (this.all.length < 100) this.all.push(t);\n" +
      "else { this.all[this.at].dispose(); this.all[this.at] = t; }",
  ),
  "one that another method ends first": keeper(
    "if (this.all.length < 100) this.all.push(t);\n" +
      "else { this.drop(this.at); this.all[this.at] = t; }",
    `drop(i) { tf.dispose(this.all[i]); } ${end}`,
  ),
  "one that is given back": keeper(
    "if (this.all.length < 100) { this.all.push(t); return undefined; }\n" +
      "const old = this.all[this.at]; this.all[this.at] = t; return old;",
  ),
  "holes that are filled": keeper(
    "const hole = this.holes.pop();\n" +
      "if (hole === undefined) this.all.push(t); else this.all[hole] = t;",
    "remove(i) { this.all[i].dispose(); this.all[i] = null; this.holes.push(i); }",
  ),
  "a hole that is looked for": keeper(
    "const i = this.all.indexOf(null);\nif (i < 0) this.all.push(t); else this.all[i] = t;",
    "remove(i) { this.all[i].dispose(); this.all[i] = null; }",
  ),
  "what a set has, too": `
export class Views {
  constructor() { this.all = []; this.at = 0; this.own = new Set(); }
  put(x) {
    const t = tf.square(x);
    this.own.add(t);
    if (this.all.length < 4) this.all.push(t);
    else this.all[this.at % 4] = t;
    this.at++;
  }
}
export const end = (views) => { for (const t of views.own) t.dispose(); };`,
  "of records with what it is given": `
class Memory {
  constructor(most) { this.rows = new Array(most).fill(null); this.at = 0; this.most = most; }
  append(state, reward) {
    this.rows[this.at] = { state, reward }; // ~ no-overwritten-tensor
    this.at = (this.at + 1) % this.most;
  }
  clear() {
    for (let i = 0; i < this.most; i++) { this.rows[i].state.dispose(); this.rows[i] = null; }
  }
}
export function play(rows) {
  const memory = new Memory(3);
  for (const row of rows) memory.append(tf.tensor1d(row), 1);
  memory.clear();
}`,
  "lists of two sides": `
export class Sides {
  constructor() { this.heads = []; this.tails = []; }
  add(x, side, i) {
    if (side) this.heads.push(tf.square(x));
    else this.tails[i] = tf.square(x);
  }
  clear() { tf.dispose(this.heads); tf.dispose(this.tails); }
}`,
});

test.run();
