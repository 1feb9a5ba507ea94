/**
 * What the refs of components hold: ended by its parts, lost when a callback fills them anew. Each
 * is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("refs");
const finds = marked(test);

const hooks = `declare function useEffect(f: () => void | (() => void), inputs: unknown[]): void;
declare function useRef<T>(first: T): { current: T };
declare function useCallback<F>(f: F, inputs: unknown[]): F;
`;

const pair = (end: string, mark = ""): string => `${hooks}
export function usePair(d: GPUDevice, size: number) {
  const ref = useRef<{ a: GPUBuffer; b: GPUBuffer } | null>(null);
  useEffect(() => {
    ref.current = { a: d.createBuffer({ size }), b: d.createBuffer({ size }) };${mark}
    ${end}
  }, [d]);
  return () => ref.current?.a.size;
}
`;
finds("a record that nobody ends", pair("", " // !"), "webgpu");
finds(
  "a record whose parts a clean-up ends",
  pair("return () => { ref.current?.a.destroy(); ref.current?.b.destroy(); ref.current = null; };"),
  "webgpu",
);
finds(
  "a record whose parts a clean-up ends by another name",
  pair(
    "return () => { const all = ref.current; all?.a.destroy(); all?.b.destroy(); " +
      "ref.current = null; };",
  ),
  "webgpu",
);

const filled = (inputs: string, run: string, mark = ""): string => `${hooks}
export function useBuffer(d: GPUDevice, size: number) {
  const ref = useRef<GPUBuffer | null>(null);
  const init = useCallback(() => {
    ref.current = d.createBuffer({ size });${mark}
  }, ${inputs});
  useEffect(() => { init(); }, ${run});
  useEffect(() => () => { ref.current?.destroy(); }, []);
}
`;
finds("filled for each size", filled("[d, size]", "[init]", " // !"), "webgpu");
finds("filled once", filled("[]", "[init]"), "webgpu");
finds("filled once, by what stays", filled("[ref]", "[init]"), "webgpu");
finds("filled once by an effect", filled("[d, size]", "[]"), "webgpu");

test.run();
