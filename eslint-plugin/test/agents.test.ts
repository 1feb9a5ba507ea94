/**
 * Programs that learn and react, in plain JavaScript: rings of experience, methods that are bound
 * and handed on, hooks of the program, objects that a framework is given, components that unmount.
 * Each case is a script for the preset `tfjs`; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("agents");

/** A queue that the program fills, and a class that reads it. */
const read = (methods: string): string => `
const tf = require("@tensorflow/tfjs-core");
class Queue {
  constructor() {
    this.rows = [];
  }
  next() {
    return this.rows.shift();
  }
  add(row) {
    this.rows.push(row);
  }
}
class Reader {
  constructor(queue) {
    this.queue = queue;
  }${methods}}
const queue = new Queue();
module.exports = {
  reader: new Reader(queue),
  fill(pixels) {
    queue.add(tf.tensor1d(pixels));
  },
};`;

addScripts(test, {
  "functions given for events": `
const tf = require("@tensorflow/tfjs-core");
let clicked = null;
let loaded = null;
let pressed = null;
let sum = tf.scalar(0);
function click(pixels) {
  clicked = tf.tensor1d(pixels.data); // ~ no-overwritten-tensor
}
function begin(pixels) {
  loaded = tf.tensor1d(pixels.data);
}
function press(pixels) {
  pressed = tf.tensor1d(pixels.data); // ~ no-overwritten-tensor
}
document.body.onclick = click;
document.body.onload = begin;
document.body.onkeydown = (event) => {
  press(event);
};
async function total(rows) {
  await rows.forEachAsync((row) => {
    sum = sum.add(row.value); // ~ no-overwritten-tensor
  });
}
total([]);`,
  "a queue whose consumer makes more of each": read(`
  read() {
    const row = this.queue.next(); // ~ require-disposal
    if (row) this.show(row);
  }
  show(row) {
    console.log(row.asType("float32").dataSync()); // ~ no-leaked-temporary
  }
`),
  "a queue whose consumer ends each": read(`
  read() {
    const row = this.queue.next();
    if (row) this.show(row);
  }
  show(row) {
    const x = row.asType("float32");
    console.log(x.dataSync());
    tf.dispose([x, row]);
  }
`),
  "a loss of each layer that the training ends": `
const tf = require("@tensorflow/tfjs-core");
class Mixture extends tf.layers.Layer {
  call(x) {
    return tf.tidy(() => {
      this.balance = tf.keep(tf.mean(x));
      this.usage = tf.keep(tf.max(x)); // ~ no-overwritten-tensor
      return x.add(1);
    });
  }
}
function addLosses(model) {
  for (const layer of model.layers) {
    console.log(layer.balance.dataSync(), layer.usage.dataSync());
    tf.dispose(layer.balance);
    layer.balance = null;
  }
}
module.exports = { Mixture, addLosses };`,
  "a ring of experience": `
const tf = require("@tensorflow/tfjs-core");
class Replay {
  constructor(most) {
    this.most = most;
    this.items = [];
    this.next = 0;
  }
  add(state, reward) {
    const item = { s: tf.tensor1d(state), reward };
    if (this.items.length < this.most) this.items.push(item);
    else this.items[this.next] = item; // ~ no-overwritten-tensor
    this.next = (this.next + 1) % this.most;
  }
}
class Freed {
  constructor(most) {
    this.most = most;
    this.items = [];
    this.next = 0;
  }
  add(state) {
    const old = this.items[this.next];
    if (old) old.dispose();
    this.items[this.next] = tf.tensor1d(state);
    this.next = (this.next + 1) % this.most;
  }
}
class Once {
  constructor() {
    this.items = [];
    this.next = 0;
  }
  add(state) {
    this.items[this.next] = tf.tensor1d(state);
    this.next = this.next + 1;
  }
}
module.exports = { Replay, Freed, Once };`,
  "a method that is bound and handed on": `
const player = {
  net: null,
  seed: [1, 2],
  start(url) {
    tf.loadLayersModel(url).then((net) => {
      this.net = net;
      setInterval(this.play.bind(this), 250);
    });
  },
  play() {
    const x = tf.tensor1d(this.seed); // ~ require-disposal
    this.seed.push(x.size);
  },
  guarded() {
    return tf.tidy(() => tf.tensor1d(this.seed).size);
  },
};
player.start("model.json");
player.guarded();`,
  "methods of a prototype named as those of a model": `
function Net(model) {
  this.model = model;
}
Net.prototype.predict = function (row) {
  const x = tf.tensor1d(row); // ~ require-disposal
  return this.model.predict(x).dataSync(); // ~ no-leaked-temporary
};
Net.prototype.ask = function (row) {
  return tf.tidy(() => this.model.predict(tf.tensor1d(row)).dataSync());
};
function Other() {}
Other.prototype.embed = function (row) {
  const x = tf.tensor1d(row);
  return x.square();
};
function run(other) {
  return tf.tidy(() => other.embed([1]).dataSync());
}
run(new Other());`,
  "what only its own updates give a value": `
const tf = require("@tensorflow/tfjs-core");
module.exports = function (borrowed) {
  let points = tf.zeros([0, 2]);
  let given = borrowed;
  function add(row) {
    points = points.concat(row); // ~ no-overwritten-tensor
    given = given.concat(row);
    return points.size + given.size;
  }
  return { add };
};`,
  "an object that a framework is given": `
import { defineComponent } from "vue";
import * as tf from "@tensorflow/tfjs-core";
export default defineComponent({
  setup() {
    function segment(pixels) {
      const input = tf.tensor1d(pixels); // ~ require-disposal
      return input.size;
    }
    function guarded(pixels) {
      return tf.tidy(() => tf.tensor1d(pixels).size);
    }
    return { segment, guarded };
  },
});`,
  "a value that a hook of the program gives": `
import { useEffect, useState } from "react";
import * as tf from "@tensorflow/tfjs-core";
function useMean(rows) {
  const [mean, setMean] = useState(null);
  useEffect(() => {
    setMean(tf.tensor1d(rows)); // ~ require-member-disposal
  }, [rows]);
  return mean;
}
function useOwn(rows) {
  const [own, setOwn] = useState(null);
  useEffect(() => {
    setOwn(tf.tensor1d(rows));
  }, [rows]);
  return own;
}
export function Means({ rows }) {
  const mean = useMean(rows);
  const own = useOwn(rows);
  useEffect(() => () => own?.dispose(), [own]);
  return String(mean?.size) + String(own?.size);
}`,
  "a component that is unmounted": `
import { Component } from "react";
import * as tf from "@tensorflow/tfjs-core";
export class Trainer extends Component {
  componentDidMount() {
    this.xs = tf.tensor1d(this.props.xs); // ~ require-member-disposal
    this.ys = tf.tensor1d(this.props.ys);
  }
  componentWillUnmount() {
    this.ys.dispose();
  }
}
export class Page extends Component {
  componentDidMount() {
    this.xs = tf.tensor1d(this.props.xs);
  }
}`,
  "an object of a script that runs at once": `
(function () {
  const state = { style: null, freed: null };
  function choose(image) {
    state.style = tf.tensor1d(image); // ~ no-overwritten-tensor
    if (state.freed) state.freed.dispose();
    state.freed = tf.tensor1d(image);
  }
  document.body.onchange = (event) => choose(event.data);
})();`,
  "values known by what they are joined with": `
async function similarity(encoder, a, b) {
  const e = await encoder.embed([a, b]);
  const first = e.slice([0, 0], [1, -1]);
  const second = e.slice([1, 0], [1, -1]); // ~ require-disposal
  const s = first.matMul(second, false, true);
  const [value] = await s.data();
  first.dispose();
  s.dispose();
  return value;
}
async function between(a, b, steps) {
  for (let i = 0; i < steps; i++) {
    const z = a.mul(1 - i).add(b.mul(i)); // ~ no-leaked-temporary
    window.show(z.shape);
    z.dispose();
  }
  const path = a.slice(0, 2);
  const other = b.concat(path);
  return other.length;
}
window.onclick = () =>
  similarity(window.encoder, "a", "b").then(() => between(window.a, window.b, 2));`,
});

test.run();
