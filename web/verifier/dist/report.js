/** The report of a verification. Its members are those of `hence verify --json`, and some of its own. */
export function reason(code, extra = {}) {
    return { code, member: extra.member ?? null, expected: extra.expected ?? null, found: extra.found ?? null };
}
export function isReason(check) {
    return "member" in check;
}
/** Returns a reason unless the hashes are equal. */
export async function settle(check) {
    if (isReason(check))
        return check;
    const [expected, found] = [await check.expected, await check.found];
    return expected === found ? null : reason(check.code, { expected, found });
}
export const NOT_SHOWN = [
    "that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it",
    "that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it",
    "that recorded inputs, evidence and replies were true: a record proves what was written down",
];
