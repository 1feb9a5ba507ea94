/**
 * Structural identity of a program: a growing list of 32-bit words in which the recorder writes
 * everything a plan depends on. Equal words mean an equal plan; the hash only finds the candidates,
 * the words decide. Used by the recorder and the plan cache. Owns its own array, reused from flush
 * to flush.
 */
import type { Int32s } from "../base/bytes.ts";

/** The words that say what a program is. */
export class Signature {
  words: Int32s = new Int32Array(1024);
  length = 0;

  push(word: number): void {
    if (this.length === this.words.length) this.#grow();
    this.words[this.length++] = word;
  }

  #grow(): void {
    const bigger = new Int32Array(this.words.length * 2);
    bigger.set(this.words);
    this.words = bigger;
  }

  clear(): void {
    this.length = 0;
  }

  /** 32-bit FNV-1a over whole words, with a final mix. */
  hash(): number {
    const { words, length } = this;
    let h = 0x811c9dc5;
    for (let i = 0; i < length; i++) h = Math.imul(h ^ words[i]!, 0x01000193);
    h ^= h >>> 15;
    return Math.imul(h, 0x2c1b3c6d) >>> 0;
  }

  equals(words: Int32Array): boolean {
    return words.length === this.length && this.begins(words, this.length);
  }

  /** Whether the first `count` words are these. */
  begins(words: Int32Array, count: number): boolean {
    const { words: own } = this;
    for (let i = 0; i < count; i++) if (words[i] !== own[i]) return false;
    return true;
  }

  snapshot(): Int32s {
    return this.words.slice(0, this.length);
  }
}
