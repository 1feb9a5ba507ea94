/**
 * `Symbol.dispose` and `Symbol.asyncDispose` for hosts that lack them. Imported first by every
 * entry point, because lowered `using` looks them up when it runs. The fallback names are the ones
 * esbuild's and TypeScript's lowering agree on. Owns nothing.
 */
const symbols = Symbol as { dispose?: symbol; asyncDispose?: symbol };
if (symbols.dispose === undefined)
  Object.defineProperty(Symbol, "dispose", { value: Symbol.for("Symbol.dispose") });
if (symbols.asyncDispose === undefined)
  Object.defineProperty(Symbol, "asyncDispose", { value: Symbol.for("Symbol.asyncDispose") });

/**
 * Chains an error thrown while another was already on its way, as `SuppressedError` does (newest
 * outside). Made by hand because hosts without the global exist and both lowerings of `using` do
 * the same: test `e.name`, not `instanceof`.
 */
export function suppressed(error: unknown, older: unknown): Error {
  return Object.assign(new Error("An error was suppressed during disposal"), {
    name: "SuppressedError",
    error,
    suppressed: older,
  });
}
