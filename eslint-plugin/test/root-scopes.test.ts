/**
 * Root scopes in variables, which outlive the function: what it gives out ends them.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("root scopes");
const program = marked(test);

program(
  "ended on errors as well",
  `import { newDisposeScope, randn } from "tenure";
export function createField(n: number) {
  const scope = newDisposeScope({ name: "field", root: true });
  try {
    const a = scope.use(randn([n]));
    return { size: () => a.size, dispose: () => scope.dispose() };
  } catch (error) {
    scope.dispose();
    throw error;
  }
}`,
);
program(
  "makes nothing yet",
  `import { newDisposeScope, randn } from "tenure";
export function createArena(n: number) {
  const scope = newDisposeScope({ name: "arena", root: true });
  return { add: () => scope.use(randn([n])), dispose: () => scope.dispose() };
}`,
);
program(
  "never ended",
  `import { newDisposeScope, randn } from "tenure";
export function createArena(n: number) {
  const scope = newDisposeScope({ name: "arena", root: true }); // !
  return { add: () => scope.use(randn([n])) };
}`,
);
program(
  "no root scope: stays current",
  `import { newDisposeScope, randn } from "tenure";
export function createArena(n: number) {
  const scope = newDisposeScope("arena"); // !
  return { add: () => scope.use(randn([n])), dispose: () => scope.dispose() };
}`,
);
program(
  "an end that nobody calls",
  `import { newDisposeScope, randn } from "tenure";
export function createArena(n: number) {
  const scope = newDisposeScope({ root: true }); // !
  const end = () => scope.dispose();
  return { add: () => scope.use(randn([n])) };
}`,
);
program(
  "an end by name",
  `import { newDisposeScope, randn } from "tenure";
export function createArena(n: number) {
  const scope = newDisposeScope({ root: true });
  function end(): void {
    scope.dispose();
  }
  return { add: () => scope.use(randn([n])), end };
}`,
);
program(
  "an effect with a clean-up",
  `import { useEffect, useState } from "react";
import { newDisposeScope, randn } from "tenure";
export function View({ n }: { n: number }) {
  const [size, setSize] = useState(0);
  useEffect(() => {
    const scope = newDisposeScope({ root: true });
    const a = scope.use(randn([n]));
    setSize(a.size);
    return () => scope.dispose();
  }, [n]);
  return size;
}`,
);
program(
  "an effect without one",
  `import { useEffect, useState } from "react";
import { newDisposeScope, randn } from "tenure";
export function View({ n }: { n: number }) {
  const [size, setSize] = useState(0);
  useEffect(() => {
    const scope = newDisposeScope({ root: true }); // !
    const a = scope.use(randn([n]));
    setSize(a.size);
  }, [n]);
  return size;
}`,
);
program(
  "a composable",
  `import { onUnmounted } from "vue";
import { newDisposeScope, randn } from "tenure";
export function useNoise(n: number) {
  const scope = newDisposeScope({ root: true });
  const noise = scope.enter(() => randn([n]).mul(2));
  onUnmounted(() => scope.dispose());
  return { size: () => noise.size };
}`,
);
program(
  "by its symbol",
  `import { newDisposeScope, randn } from "tenure";
export function create(n: number) {
  const scope = newDisposeScope({ root: true });
  return { add() { return scope.use(randn([n])).size; },
    [Symbol.dispose]() { scope[Symbol.dispose](); } };
}`,
);
test.run();
