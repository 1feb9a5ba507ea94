/**
 * What a developer wants to see of planning. The planner itself is pure and prints nothing; here
 * `TENURE_DEBUG=passes` shows its state after each pass on stderr. Called by compile.ts and
 * planning.ts. Owns nothing.
 */
import { debugs } from "../base/debug.ts";
import { formatState } from "../planner/dump.ts";
import type { PlanInputs } from "../planner/run-passes.ts";

/** What looks at the planner's state after each pass: nothing, unless somebody asked. */
export function passWatcher(): Pick<PlanInputs, "afterPass"> {
  if (!debugs("passes")) return {};
  return {
    afterPass: (pass, state) => {
      console.error(formatState(pass, state));
    },
  };
}
