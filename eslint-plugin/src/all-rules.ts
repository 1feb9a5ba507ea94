/**
 * All rules by name, in the order of the documentation. Used by `index.ts` and by the tests that
 * hold rule, test and page together.
 */
import type { TenureRule } from "./create-rule.ts";
import { noLeakedTemporary } from "./rules/no-leaked-temporary.ts";
import { noDroppedResult } from "./rules/no-dropped-result.ts";
import { requireDisposal } from "./rules/require-disposal.ts";
import { noOverwrittenTensor } from "./rules/no-overwritten-tensor.ts";
import { noReturnInput } from "./rules/no-return-input.ts";
import { noDisposeParameter } from "./rules/no-dispose-parameter.ts";
import { noUseAfterDispose } from "./rules/no-use-after-dispose.ts";
import { noDoubleDispose } from "./rules/no-double-dispose.ts";
import { noEscapeFromScope } from "./rules/no-escape-from-scope.ts";
import { noAsyncInScope } from "./rules/no-async-in-scope.ts";
import { requireScopePairing } from "./rules/require-scope-pairing.ts";
import { requireMemberDisposal } from "./rules/require-member-disposal.ts";
import { noDroppedElement } from "./rules/no-dropped-element.ts";
import { requireCallerScope } from "./rules/require-caller-scope.ts";
import { preferUsing } from "./rules/prefer-using.ts";
import { preferSequential } from "./rules/prefer-sequential.ts";

/** Every rule by its name. */
export const rules: Readonly<Record<string, TenureRule>> = {
  "no-leaked-temporary": noLeakedTemporary,
  "no-dropped-result": noDroppedResult,
  "require-disposal": requireDisposal,
  "no-overwritten-tensor": noOverwrittenTensor,
  "no-return-input": noReturnInput,
  "no-dispose-parameter": noDisposeParameter,
  "no-use-after-dispose": noUseAfterDispose,
  "no-double-dispose": noDoubleDispose,
  "no-escape-from-scope": noEscapeFromScope,
  "no-async-in-scope": noAsyncInScope,
  "require-scope-pairing": requireScopePairing,
  "require-member-disposal": requireMemberDisposal,
  "no-dropped-element": noDroppedElement,
  "require-caller-scope": requireCallerScope,
  "prefer-using": preferUsing,
  "prefer-sequential": preferSequential,
};
