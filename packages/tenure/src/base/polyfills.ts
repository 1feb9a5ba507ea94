/**
 * `Symbol.dispose` and `Symbol.asyncDispose` for hosts that lack them. Every file with a class that
 * has such a method imports it for its effect, since the class looks them up while its module
 * loads. The fallback names are those that esbuild's and TypeScript's lowering agree on. Owns
 * nothing.
 */

function polyfill(): readonly string[] {
  const missing = (["dispose", "asyncDispose"] as const).filter((name) => !(name in Symbol));
  for (const name of missing)
    Object.defineProperty(Symbol, name, { value: Symbol.for(`Symbol.${name}`) });
  return missing;
}

/** Names of the symbols this host lacked. */
export const polyfilled: readonly string[] = polyfill();

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
