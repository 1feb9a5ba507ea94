/**
 * The ways a held value is lost that is held alone, in a record or a tuple; each with its nearest
 * valid form. Lists and tables are in `list-losses.ts`. Used by `rules/held-values.test.ts`.
 */

/** One way. What is not given is as in the kind. */
export interface Loss {
  name: string;
  /** The code that loses, in `feed` or in `end`, and the same mended. */
  feed?: [lost: string, mended: string];
  end?: [lost: string, mended: string];
}

/** What is held: its type and first value, the code that fills it and ends it, its losses. */
export interface Kind {
  name: string;
  type: string;
  init: string;
  feed: string;
  end: string;
  losses: Loss[];
  /** Declarations it needs. */
  head?: string;
  /** A new value, where that is no tensor. */
  value?: string;
}

/** The end of the other value. */
export const drop = "OTHER.dispose();";
/** Nothing at the end. */
export const forgotten = (end: string): Loss => ({ name: "forgotten", end: [drop, end] });

const one: Kind = {
  name: "tensor",
  type: "Tensor",
  init: "zeros([2])",
  feed: "HELD.dispose(); HELD = VALUE;",
  end: `HELD.dispose(); ${drop}`,
  losses: [
    forgotten(`HELD.dispose(); ${drop}`),
    { name: "overwritten", feed: ["HELD = VALUE;", "HELD.dispose(); HELD = VALUE;"] },
    {
      name: "overwritten, ended under its name",
      feed: ["HELD = VALUE;", "const old = HELD; HELD = VALUE; old.dispose();"],
    },
    {
      name: "made from itself",
      feed: ["HELD = HELD.mul(0.9);", "const next = HELD.mul(0.9); HELD.dispose(); HELD = next;"],
    },
    {
      name: "made from itself by name",
      feed: [
        "const next = HELD.mul(0.9); HELD = next;",
        "const next = HELD.mul(0.9); HELD.dispose(); HELD = next;",
      ],
    },
    {
      name: "made from itself in a loop",
      feed: [
        "for (let k = 0; k < n; k++) HELD = HELD.mul(2);",
        "for (let k = 0; k < n; k++) { const next = HELD.mul(2); HELD.dispose(); HELD = next; }",
      ],
    },
    {
      name: "new one left by an early return",
      feed: [
        "const next = HELD.mul(2); if (n > 3) return; HELD.dispose(); HELD = next;",
        "const next = HELD.mul(2); if (n > 3) { " +
          "next.dispose(); return; } HELD.dispose(); HELD = next;",
      ],
    },
    {
      name: "overwritten on one way",
      feed: ["if (n > 3) HELD.dispose(); HELD = VALUE;", "HELD.dispose(); HELD = VALUE;"],
    },
    {
      name: "overwritten by pattern",
      feed: ["[HELD] = [VALUE];", "HELD.dispose(); [HELD] = [VALUE];"],
    },
  ],
};

const optional: Kind = {
  name: "tensor or null",
  type: "Tensor | null",
  init: "null",
  feed: "HELD?.dispose(); HELD = VALUE;",
  end: `HELD?.dispose(); ${drop}`,
  losses: [
    forgotten(`HELD?.dispose(); ${drop}`),
    {
      name: "set to null at the end",
      end: [`HELD = null; ${drop}`, `HELD?.dispose(); HELD = null; ${drop}`],
    },
    { name: "overwritten", feed: ["HELD = VALUE;", "HELD?.dispose(); HELD = VALUE;"] },
    {
      name: "set to null",
      feed: [
        "if (n > 3) { HELD = null; return; } HELD?.dispose(); HELD = VALUE;",
        "if (n > 3) { HELD?.dispose(); HELD = null; return; } HELD?.dispose(); HELD = VALUE;",
      ],
    },
    {
      name: "made from itself where there is one",
      feed: [
        "const made = VALUE; HELD = HELD ? HELD.add(made) : made.clone(); made.dispose();",
        "const made = VALUE; const old = HELD; HELD = old ? old.add(made) " +
          ": made.clone(); old?.dispose(); made.dispose();",
      ],
    },
    {
      name: "made from itself in one branch",
      feed: [
        "const made = VALUE; if (HELD === null) HELD = made; else { " +
          "const sum = HELD.add(made); made.dispose(); HELD = sum; }",
        "const made = VALUE; if (HELD === null) HELD = made; else { " +
          "const sum = HELD.add(made); made.dispose(); HELD.dispose(); HELD = sum; }",
      ],
    },
    {
      name: "ended on one way",
      feed: [
        "if (HELD && n > 3) HELD.dispose(); HELD = VALUE;",
        "if (HELD) HELD.dispose(); HELD = VALUE;",
      ],
    },
    {
      name: "new one not wanted",
      feed: [
        "const made = VALUE; HELD ??= made;",
        "const made = VALUE; if (HELD) made.dispose(); else HELD = made;",
      ],
    },
    {
      name: "kept where better",
      feed: [
        "const made = VALUE; if (!HELD || made.size > HELD.size) " +
          "{ HELD = made; } else made.dispose();",
        "const made = VALUE; if (!HELD || made.size > HELD.size) " +
          "{ HELD?.dispose(); HELD = made; } else made.dispose();",
      ],
    },
    {
      name: "kept where better, others left",
      feed: [
        "const made = VALUE; if (!HELD || made.size > HELD.size) " +
          "{ HELD?.dispose(); HELD = made; }",
        "const made = VALUE; if (!HELD || made.size > HELD.size) " +
          "{ HELD?.dispose(); HELD = made; } else made.dispose();",
      ],
    },
  ],
};

const pair = "{ mean: VALUE, scale: zeros([2]) }";
const record: Kind = {
  name: "record",
  type: "Pair$",
  head: "interface Pair$ { mean: Tensor; scale: Tensor }",
  init: "{ mean: zeros([2]), scale: zeros([2]) }",
  feed: `HELD.mean.dispose(); HELD.scale.dispose(); HELD = ${pair};`,
  end: `HELD.mean.dispose(); HELD.scale.dispose(); ${drop}`,
  losses: [
    forgotten(`HELD.mean.dispose(); HELD.scale.dispose(); ${drop}`),
    {
      name: "half forgotten",
      end: [`HELD.scale.dispose(); ${drop}`, `HELD.mean.dispose(); HELD.scale.dispose(); ${drop}`],
    },
    {
      name: "half forgotten by pattern",
      end: [
        `const { scale } = HELD; scale.dispose(); ${drop}`,
        `const { mean, scale } = HELD; mean.dispose(); scale.dispose(); ${drop}`,
      ],
    },
    {
      name: "overwritten",
      feed: [`HELD = ${pair};`, `HELD.mean.dispose(); HELD.scale.dispose(); HELD = ${pair};`],
    },
    {
      name: "overwritten, half ended",
      feed: [
        `HELD.scale.dispose(); HELD = ${pair};`,
        `HELD.mean.dispose(); HELD.scale.dispose(); HELD = ${pair};`,
      ],
    },
    {
      name: "field overwritten",
      feed: ["HELD.mean = VALUE;", "HELD.mean.dispose(); HELD.mean = VALUE;"],
    },
    {
      name: "field made from itself",
      feed: [
        "HELD.mean = HELD.mean.mul(0.9);",
        "const next = HELD.mean.mul(0.9); HELD.mean.dispose(); HELD.mean = next;",
      ],
    },
    {
      name: "made from itself",
      feed: [
        "HELD = { mean: HELD.mean.mul(2), scale: HELD.scale.mul(3) };",
        "const { mean, scale } = HELD; HELD = { mean: mean.mul(2), " +
          "scale: scale.mul(3) }; mean.dispose(); scale.dispose();",
      ],
    },
    {
      name: "field replaced by spread",
      feed: [
        "HELD = { ...HELD, mean: VALUE };",
        "HELD.mean.dispose(); HELD = { ...HELD, mean: VALUE };",
      ],
    },
    {
      name: "field replaced by Object.assign",
      feed: [
        "Object.assign(HELD, { mean: VALUE });",
        "HELD.mean.dispose(); Object.assign(HELD, { mean: VALUE });",
      ],
    },
  ],
};

const tuple: Kind = {
  name: "tuple",
  type: "[Tensor, Tensor]",
  init: "[zeros([2]), zeros([2])]",
  feed: "HELD[0].dispose(); HELD[1].dispose(); HELD = [VALUE, zeros([2])];",
  end: `HELD[0].dispose(); HELD[1].dispose(); ${drop}`,
  losses: [
    forgotten(`HELD[0].dispose(); HELD[1].dispose(); ${drop}`),
    {
      name: "half forgotten",
      end: [`HELD[0].dispose(); ${drop}`, `HELD[0].dispose(); HELD[1].dispose(); ${drop}`],
    },
    {
      name: "overwritten",
      feed: [
        "HELD = [VALUE, zeros([2])];",
        "for (const x of HELD) x.dispose(); HELD = [VALUE, zeros([2])];",
      ],
    },
    {
      name: "element overwritten",
      feed: ["HELD[0] = VALUE;", "HELD[0].dispose(); HELD[0] = VALUE;"],
    },
    {
      name: "moved on by pattern",
      feed: [
        "HELD = [HELD[1], VALUE];",
        "const [old, last] = HELD; HELD = [last, VALUE]; old.dispose();",
      ],
    },
  ],
};

const ended = (name: string, more: Partial<Kind>, value: string): Kind => ({
  name,
  type: "",
  init: "null",
  feed: `HELD?.dispose(); HELD = ${value};`,
  end: `HELD?.dispose(); ${drop}`,
  losses: [
    forgotten(`HELD?.dispose(); ${drop}`),
    { name: "overwritten", feed: [`HELD = ${value};`, `HELD?.dispose(); HELD = ${value};`] },
    {
      name: "set to null",
      feed: [
        `if (n > 3) { HELD = null; return; } HELD?.dispose(); HELD = ${value};`,
        `if (n > 3) { HELD?.dispose(); HELD = null; return; } HELD?.dispose(); HELD = ${value};`,
      ],
    },
  ],
  ...more,
});

/** A class that is to be ended. */
export const job =
  "class Job$ { readonly #t: Tensor; constructor(a: Tensor) { this.#t = a.mul(2); } " +
  "size(): number { return this.#t.size; } dispose(): void { this.#t.dispose(); } }";
/** Every kind that is no list. */
export const singles: Kind[] = [
  one,
  optional,
  record,
  tuple,
  ended("object", { type: "Job$ | null", head: job }, "new Job$(OTHER)"),
  ended("module", { type: "Linear | null" }, "new Linear(n, 2)"),
];
