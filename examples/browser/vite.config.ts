/** How the page is served and built: the library from its source, in a file of its own. */
import { defaultClientConditions, defineConfig, type Rolldown } from "vite";

/**
 * Owners are told by the names of classes, which minified code has to keep for that. The library
 * gets a file of its own, by which it tells its own lines from those of the program when
 * it names a leak. Source maps lead from there to the line that was written.
 */
const output: Rolldown.OutputOptions = {
  keepNames: true,
  codeSplitting: { groups: [{ name: "tenure", test: /[\\/]packages[\\/]tenure[\\/]/ }] },
};

/** The settings. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  resolve: { conditions: ["tenure:source", ...defaultClientConditions] },
  build: { target: "es2022", sourcemap: true, assetsInlineLimit: 0 },
  worker: { format: "es", rolldownOptions: { output } },
});
