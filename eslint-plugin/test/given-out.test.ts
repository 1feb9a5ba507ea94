/**
 * What a function makes and gives to whoever calls it, where nobody in the program does: others
 * may, and end it. What the program keeps of it all the same has no end.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("given out");
const finds = marked(test);
const from = `import { type Tensor, stack, zeros } from "tenure";\n`;

finds(
  "methods of what a module makes",
  `${from}export const camera = (frames: Tensor[]) => ({ film: (): Tensor => stack(frames) });
export function reel(frames: Tensor[]) {
  return { film(): Tensor { return stack(frames); } };
}
export const strip = () => {
  const frames: Tensor[] = [];
  return {
    add: (t: Tensor) => { frames.push(t.clone()); },
    film: (): Tensor | null => (frames.length > 0 ? stack(frames) : null),
    release: () => frames.forEach((frame) => frame.dispose()),
  };
};`,
);
finds(
  "a method that nobody asks for",
  `${from}const camera = (frames: Tensor[]) => ({ film: (): Tensor => stack(frames), n: 3 });
export const size = (frames: Tensor[]): number => camera(frames).n;`,
);
finds(
  "a method that the program calls and drops the result of",
  `${from}export const camera = (frames: Tensor[]) => ({ film: (): Tensor => stack(frames) });
export function size(frames: Tensor[]): number {
  return camera(frames).film().size; // !
}`,
);

finds(
  "what a function keeps as it gives it",
  `${from}let last: Tensor | undefined;
let next: Tensor | undefined;
function target(n: number): Tensor { last?.dispose(); return (last = zeros([n])); }
const other = (n: number): Tensor => (next?.dispose(), (next = zeros([n])));
function own(n: number): Tensor { let made: Tensor; return (made = zeros([n])); }
export function end(): void { last?.dispose(); next?.dispose(); last = next = undefined; }
export const size = (n: number): number => target(n).size + other(n).size;
export const lost = (n: number): number => own(n).size; // !`,
);

test.run();
