/**
 * What shows and checks plans, and their absence, while programs are planned: for `TENURE_DEBUG`
 * and for tests. A part of the engine, which Node loads with it, and pages only when tests ask.
 * Owns nothing.
 */
export { formatState } from "../planner/dump.ts";
export { verifyPlan } from "../planner/verify.ts";
export { missRecord } from "./plan-miss.ts";
export { planRecord } from "./plan-record.ts";
