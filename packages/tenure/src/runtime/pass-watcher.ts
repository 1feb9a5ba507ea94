/**
 * What a developer wants to see of planning. The planner itself is pure and prints nothing; here
 * `TENURE_DEBUG=passes` shows its state after each pass on stderr. Called by compile.ts and
 * planning.ts. Owns nothing.
 */
import { debugs } from "../base/debug.ts";
import type { formatState } from "../planner/dump.ts";
import type { PlanInputs } from "../planner/run-passes.ts";

type Format = typeof formatState;

/**
 * What looks at the planner's state after each pass: nothing, unless somebody asked. @param format
 * makes a text of it; undefined where that was not loaded
 */
export function passWatcher(format: Format | undefined): Pick<PlanInputs, "afterPass"> {
  if (format === undefined || !debugs("passes")) return {};
  return {
    afterPass: (pass, state) => {
      console.error(format(pass, state));
    },
  };
}
