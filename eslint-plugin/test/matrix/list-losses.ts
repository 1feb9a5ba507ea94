/**
 * The ways a value is lost that a list or a table holds, each with its nearest valid form. Used by
 * `rules/held-values.test.ts`.
 */
import { drop, forgotten, job, type Kind, type Loss } from "./losses.ts";

const endAll = `for (const x of HELD) x.dispose(); ${drop}`;
const cut = (name: string, lost: string, mended: string): Loss => ({
  name,
  feed: [`HELD.push(VALUE); ${lost}`, `HELD.push(VALUE); ${mended}`],
});
const list: Kind = {
  name: "list",
  type: "Tensor[]",
  init: "[]",
  feed: "HELD.push(VALUE);",
  end: endAll,
  losses: [
    forgotten(endAll),
    {
      name: "emptied at the end",
      end: [
        `HELD.length = 0; ${drop}`,
        `for (const x of HELD) x.dispose(); HELD.length = 0; ${drop}`,
      ],
    },
    {
      name: "made anew at the end",
      end: [`HELD = []; ${drop}`, `for (const x of HELD) x.dispose(); HELD = []; ${drop}`],
    },
    {
      name: "half of it ended",
      end: [`HELD[0]?.dispose(); ${drop}`, endAll],
    },
    cut(
      "shifted",
      "if (HELD.length > 4) HELD.shift();",
      "if (HELD.length > 4) HELD.shift()?.dispose();",
    ),
    cut(
      "shifted in a loop",
      "while (HELD.length > n) HELD.shift();",
      "while (HELD.length > n) HELD.shift()?.dispose();",
    ),
    cut("popped", "if (n > 4) HELD.pop();", "if (n > 4) HELD.pop()?.dispose();"),
    cut(
      "popped and read",
      "if (HELD.length > 4) { const x = HELD.pop(); console.log(x?.size); }",
      "if (HELD.length > 4) { const x = HELD.pop(); console.log(x?.size); x?.dispose(); }",
    ),
    cut(
      "shifted and read",
      "if (HELD.length > 4) { const x = HELD.shift()!; console.log(x.size); }",
      "if (HELD.length > 4) { const x = HELD.shift()!; console.log(x.size); x.dispose(); }",
    ),
    cut(
      "popped for its size",
      "console.log(HELD.pop()!.size);",
      "const x = HELD.pop()!; console.log(x.size); x.dispose();",
    ),
    cut("spliced", "HELD.splice(0, 1);", "for (const x of HELD.splice(0, 1)) x.dispose();"),
    cut(
      "spliced and read",
      "const gone = HELD.splice(0, n); console.log(gone.length);",
      "const gone = HELD.splice(0, n); for (const x of gone) x.dispose();",
    ),
    cut(
      "sliced",
      "HELD = HELD.slice(-n);",
      "for (const x of HELD.slice(0, -n)) x.dispose(); HELD = HELD.slice(-n);",
    ),
    cut(
      "filtered",
      "HELD = HELD.filter((x) => x.size > n);",
      "for (const x of HELD) if (x.size <= n) " +
        "x.dispose(); HELD = HELD.filter((x) => x.size > n);",
    ),
    cut(
      "made anew",
      "if (HELD.length > n) HELD = [];",
      "if (HELD.length > n) { for (const x of HELD) x.dispose(); HELD = []; }",
    ),
    cut(
      "emptied",
      "if (HELD.length > n) HELD.length = 0;",
      "if (HELD.length > n) { for (const x of HELD) x.dispose(); HELD.length = 0; }",
    ),
    cut(
      "element overwritten",
      "if (n < HELD.length) HELD[n] = HELD[0]!.mul(2);",
      "if (n < HELD.length) { HELD[n]?.dispose(); HELD[n] = HELD[0]!.mul(2); }",
    ),
    cut(
      "elements made from themselves",
      "for (let k = 0; k < HELD.length; k++) HELD[k] = HELD[k]!.mul(0.9);",
      "for (let k = 0; k < HELD.length; k++) { " +
        "const x = HELD[k]!; HELD[k] = x.mul(0.9); x.dispose(); }",
    ),
    cut(
      "mapped to others",
      "HELD = HELD.map((x) => x.mul(0.9));",
      "HELD = HELD.map((x) => { const y = x.mul(0.9); x.dispose(); return y; });",
    ),
    cut(
      "summed up and emptied",
      "if (HELD.length > n) { const all = concat(HELD); " +
        "console.log(all.size); all.dispose(); HELD.length = 0; }",
      "if (HELD.length > n) { const all = concat(HELD); console.log(all.size); " +
        "all.dispose(); for (const x of HELD) x.dispose(); HELD.length = 0; }",
    ),
    {
      name: "made new for each turn",
      feed: [
        "HELD = [VALUE, zeros([1])];",
        "for (const x of HELD) x.dispose(); HELD = [VALUE, zeros([1])];",
      ],
    },
  ],
};

const endItems = `for (const x of HELD) x.value.dispose(); ${drop}`;
const addItem = "HELD.push({ key: n, value: VALUE });";
const cutItem = (name: string, lost: string, mended: string): Loss => ({
  name,
  feed: [`${addItem} ${lost}`, `${addItem} ${mended}`],
});
const items: Kind = {
  name: "list of records",
  type: "Item$[]",
  head: "interface Item$ { key: number; value: Tensor }",
  init: "[]",
  feed: addItem,
  end: endItems,
  losses: [
    forgotten(endItems),
    {
      name: "emptied at the end",
      end: [
        `HELD.length = 0; ${drop}`,
        `for (const x of HELD) x.value.dispose(); HELD.length = 0; ${drop}`,
      ],
    },
    cutItem(
      "shifted",
      "if (HELD.length > 4) HELD.shift();",
      "if (HELD.length > 4) HELD.shift()?.value.dispose();",
    ),
    cutItem(
      "shifted and read",
      "if (HELD.length > 4) { const x = HELD.shift()!; console.log(x.key); }",
      "if (HELD.length > 4) { const x = HELD.shift()!; console.log(x.key); x.value.dispose(); }",
    ),
    cutItem(
      "spliced",
      "HELD.splice(0, 1);",
      "for (const x of HELD.splice(0, 1)) x.value.dispose();",
    ),
    cutItem(
      "filtered",
      "HELD = HELD.filter((x) => x.key > n);",
      "for (const x of HELD) if (x.key <= n) " +
        "x.value.dispose(); HELD = HELD.filter((x) => x.key > n);",
    ),
    cutItem(
      "sorted and cut",
      "HELD.sort((x, y) => x.key - y.key); HELD.length = Math.min(HELD.length, 4);",
      "HELD.sort((x, y) => x.key - y.key); for (const x of HELD.slice(4)) " +
        "x.value.dispose(); HELD.length = Math.min(HELD.length, 4);",
    ),
    cutItem(
      "made anew",
      "if (HELD.length > n) HELD = [];",
      "if (HELD.length > n) { for (const x of HELD) x.value.dispose(); HELD = []; }",
    ),
    cutItem(
      "field of an element overwritten",
      "for (const x of HELD) x.value = x.value.mul(2);",
      "for (const x of HELD) { const old = x.value; x.value = old.mul(2); old.dispose(); }",
    ),
    {
      name: "field of a found element overwritten",
      feed: [
        "const found = HELD.find((x) => x.key === n); if (found) " +
          "found.value = VALUE; else HELD.push({ key: n, value: VALUE });",
        "const found = HELD.find((x) => x.key === n); if (found) { found.value.dispose(); " +
          "found.value = VALUE; } else HELD.push({ key: n, value: VALUE });",
      ],
    },
  ],
};

const endValues = `for (const x of HELD.values()) x.dispose(); ${drop}`;
const set = "HELD.get(n)?.dispose(); HELD.set(n, VALUE);";
const map: Kind = {
  name: "map",
  type: "Map<number, Tensor>",
  init: "new Map()",
  feed: set,
  end: endValues,
  losses: [
    forgotten(endValues),
    {
      name: "cleared at the end",
      end: [
        `HELD.clear(); ${drop}`,
        `for (const x of HELD.values()) x.dispose(); HELD.clear(); ${drop}`,
      ],
    },
    { name: "set over", feed: ["HELD.set(n, VALUE);", set] },
    {
      name: "deleted",
      feed: [
        `if (n > 4) { HELD.delete(n); return; } ${set}`,
        `if (n > 4) { HELD.get(n)?.dispose(); HELD.delete(n); return; } ${set}`,
      ],
    },
    {
      name: "deleted after a look",
      feed: [
        `const old = HELD.get(n); if (old && old.size > 4) { HELD.delete(n); return; } ${set}`,
        `const old = HELD.get(n); if (old && old.size > 4) ` +
          `{ old.dispose(); HELD.delete(n); return; } ${set}`,
      ],
    },
    {
      name: "oldest deleted",
      feed: [
        `${set} const oldest = HELD.keys().next().value; ` +
          `if (HELD.size > 4 && oldest !== undefined) HELD.delete(oldest);`,
        `${set} const oldest = HELD.keys().next().value; ` +
          `if (HELD.size > 4 && oldest !== undefined) ` +
          `{ HELD.get(oldest)?.dispose(); HELD.delete(oldest); }`,
      ],
    },
    {
      name: "deleted in a loop",
      feed: [
        `for (const [k, x] of HELD) if (x.size > n) HELD.delete(k); ${set}`,
        `for (const [k, x] of HELD) if (x.size > n) { x.dispose(); HELD.delete(k); } ${set}`,
      ],
    },
    {
      name: "cleared",
      feed: [
        `if (HELD.size > 4) HELD.clear(); ${set}`,
        `if (HELD.size > 4) { for (const x of HELD.values()) x.dispose(); HELD.clear(); } ${set}`,
      ],
    },
    {
      name: "made anew",
      feed: [
        `if (HELD.size > 4) HELD = new Map(); ${set}`,
        `if (HELD.size > 4) { for (const x of HELD.values()) ` +
          `x.dispose(); HELD = new Map(); } ${set}`,
      ],
    },
    {
      name: "summed up in place",
      feed: [
        "const old = HELD.get(n); if (old) HELD.set(n, old.mul(2)); else HELD.set(n, VALUE);",
        "const old = HELD.get(n); if (old) { HELD.set(n, " +
          "old.mul(2)); old.dispose(); } else HELD.set(n, VALUE);",
      ],
    },
    {
      name: "summed up by condition",
      feed: [
        "const made = VALUE; const old = HELD.get(n); HELD.set(n, " +
          "old ? old.add(made) : made.clone()); made.dispose();",
        "const made = VALUE; const old = HELD.get(n); HELD.set(n, " +
          "old ? old.add(made) : made.clone()); old?.dispose(); made.dispose();",
      ],
    },
    {
      name: "each made from itself",
      feed: [
        `${set} for (const [k, x] of HELD) HELD.set(k, x.mul(0.9));`,
        `${set} for (const [k, x] of HELD) { HELD.set(k, x.mul(0.9)); x.dispose(); }`,
      ],
    },
    {
      name: "new one not wanted",
      feed: [
        "const made = VALUE; if (!HELD.has(n)) HELD.set(n, made);",
        "const made = VALUE; if (!HELD.has(n)) HELD.set(n, made); else made.dispose();",
      ],
    },
  ],
};

const endStates = `for (const x of HELD.values()) { x.m.dispose(); x.v.dispose(); } ${drop}`;
const newState = "{ m: VALUE, v: zeros([2]) }";
const setState =
  `const old = HELD.get(n); old?.m.dispose(); ` + `old?.v.dispose(); HELD.set(n, ${newState});`;
const states: Kind = {
  name: "map of records",
  type: "Map<number, State$>",
  head: "interface State$ { m: Tensor; v: Tensor }",
  init: "new Map()",
  feed: setState,
  end: endStates,
  losses: [
    forgotten(endStates),
    {
      name: "half forgotten",
      end: [`for (const x of HELD.values()) { x.m.dispose(); } ${drop}`, endStates],
    },
    {
      name: "half forgotten by pattern",
      end: [
        `for (const { m } of HELD.values()) m.dispose(); ${drop}`,
        `for (const { m, v } of HELD.values()) { m.dispose(); v.dispose(); } ${drop}`,
      ],
    },
    {
      name: "cleared at the end",
      end: [
        `HELD.clear(); ${drop}`,
        `for (const x of HELD.values()) { x.m.dispose(); x.v.dispose(); } HELD.clear(); ${drop}`,
      ],
    },
    { name: "set over", feed: [`HELD.set(n, ${newState});`, setState] },
    {
      name: "deleted",
      feed: [
        `if (n > 4) { HELD.delete(n); return; } ${setState}`,
        `if (n > 4) { const x = HELD.get(n); x?.m.dispose(); ` +
          `x?.v.dispose(); HELD.delete(n); return; } ${setState}`,
      ],
    },
    {
      name: "field made from itself",
      feed: [
        `const s = HELD.get(n); if (s) s.m = s.m.mul(0.9); else HELD.set(n, ${newState});`,
        `const s = HELD.get(n); if (s) { const m = s.m.mul(0.9); ` +
          `s.m.dispose(); s.m = m; } else HELD.set(n, ${newState});`,
      ],
    },
    {
      name: "half ended when replaced",
      feed: [
        `const s = HELD.get(n); s?.m.dispose(); HELD.set(n, ${newState});`,
        `const s = HELD.get(n); s?.m.dispose(); s?.v.dispose(); HELD.set(n, ${newState});`,
      ],
    },
  ],
};

const endOfDict = `for (const x of Object.values(HELD)) x.dispose(); ${drop}`;
const setKey = "HELD[n]?.dispose(); HELD[n] = VALUE;";
const dict: Kind = {
  name: "record by keys",
  type: "Record<number, Tensor>",
  init: "{}",
  feed: setKey,
  end: endOfDict,
  losses: [
    forgotten(endOfDict),
    { name: "set over", feed: ["HELD[n] = VALUE;", setKey] },
    {
      name: "deleted",
      feed: [
        `if (n > 4) { delete HELD[n]; return; } ${setKey}`,
        `if (n > 4) { HELD[n]?.dispose(); delete HELD[n]; return; } ${setKey}`,
      ],
    },
    {
      name: "made anew",
      feed: [
        `if (n > 4) HELD = {}; ${setKey}`,
        `if (n > 4) { for (const x of Object.values(HELD)) x.dispose(); HELD = {}; } ${setKey}`,
      ],
    },
    {
      name: "each made from itself",
      feed: [
        `${setKey} for (const k in HELD) HELD[k] = HELD[k]!.mul(0.9);`,
        `${setKey} for (const k in HELD) { const x = HELD[k]!; ` +
          `HELD[k] = x.mul(0.9); x.dispose(); }`,
      ],
    },
  ],
};

const jobs: Kind = {
  name: "list of objects",
  type: "Job$[]",
  head: job,
  init: "[]",
  feed: "HELD.push(new Job$(OTHER)); console.log(n);",
  end: endAll,
  losses: [
    forgotten(endAll),
    {
      name: "shifted",
      feed: [
        "HELD.push(new Job$(OTHER)); if (HELD.length > n) HELD.shift();",
        "HELD.push(new Job$(OTHER)); if (HELD.length > n) HELD.shift()?.dispose();",
      ],
    },
    {
      name: "filtered",
      feed: [
        "HELD.push(new Job$(OTHER)); HELD = HELD.filter((x) => x.size() > n);",
        "HELD.push(new Job$(OTHER)); for (const x of HELD) if (x.size() " +
          "<= n) x.dispose(); HELD = HELD.filter((x) => x.size() > n);",
      ],
    },
    {
      name: "emptied at the end",
      end: [
        `HELD.length = 0; ${drop}`,
        `for (const x of HELD) x.dispose(); HELD.length = 0; ${drop}`,
      ],
    },
  ],
};

/** Every kind of list and table. */
export const lists: Kind[] = [list, items, map, states, dict, jobs];
