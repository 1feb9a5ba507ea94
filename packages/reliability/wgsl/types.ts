/**
 * The types of WGSL that the translator of this folder knows, and the scanner of its words. Pure.
 */

/** A type; two types are the same when their names are. */
export interface Type {
  readonly name: string;
  /** Components of vectors, elements of arrays. */
  readonly of?: Type;
  /** How many; undefined for arrays whose length the binding decides. */
  readonly count?: number | undefined;
  readonly fields?: readonly Field[];
}

/** A name with its type. */
export interface Field {
  readonly name: string;
  readonly type: Type;
}

/** Types without parts. `int` and `float` are of literals, which take the type beside them. */
export const scalars = {
  f32: { name: "f32" },
  u32: { name: "u32" },
  i32: { name: "i32" },
  bool: { name: "bool" },
  int: { name: "int" },
  float: { name: "float" },
  none: { name: "none" },
} as const satisfies Record<string, Type>;

/** A vector of `count` scalars. */
export function vector(count: number, of: Type): Type {
  return { name: `vec${count}<${of.name}>`, of, count };
}

/** An array; without `count` as long as its binding. */
export function array(of: Type, count?: number): Type {
  return { name: `array<${of.name},${count ?? ""}>`, of, count };
}

/** Text that the translator does not know: a gap of this folder, never an error of a kernel. */
export class Unsupported extends Error {
  constructor(what: string) {
    super(`wgsl: ${what} is not translated; add it to packages/reliability/wgsl`);
  }
}

const name = /[A-Za-z_]\w*/;
const number = /0x[0-9a-fA-F]+[ui]?|\d+\.?\d*(?:[eE][+-]?\d+)?[fui]?/;
const operator = /<<=?|>>=?|&&|\|\||->|\+\+|[-+*/%&|^=!<>]=|[-+*/%&|^=!<>(){}[\];:,.@]/;
const blank = /(?:\s|\/\/[^\n]*\n)*/;

/** The words of a text, in order. */
export class Words {
  readonly #words: string[] = [];
  #at = 0;

  constructor(text: string) {
    const word = [name, number, operator].map(({ source }) => source).join("|");
    const scanner = new RegExp(`${blank.source}(${word})`, "y");
    for (;;) {
      const from = scanner.lastIndex;
      const found = scanner.exec(text);
      if (found === null) {
        const rest = text.slice(from).trim();
        if (rest !== "") throw new Unsupported(`"${rest.slice(0, 40)}"`);
        return;
      }
      this.#words.push(found[1] ?? "");
    }
  }

  /** The next word, or one after it; empty at the end. */
  peek(ahead = 0): string {
    return this.#words[this.#at + ahead] ?? "";
  }

  take(): string {
    const next = this.peek();
    this.#at++;
    return next;
  }

  /** Takes the next word if it is this one. */
  accept(wanted: string): boolean {
    if (this.peek() !== wanted) return false;
    this.#at++;
    return true;
  }

  /** Takes a word that must be this one. `>>` closes two templates. */
  expect(wanted: string): void {
    const next = this.peek();
    if (wanted === ">" && (next === ">>" || next === ">=")) {
      this.#words[this.#at] = next.slice(1);
      return;
    }
    if (!this.accept(wanted)) throw new Unsupported(`"${next}" where "${wanted}" was expected`);
  }
}
