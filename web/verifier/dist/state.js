/** The state of a run as the fold of its records, and its hash: docs/format.md section 5. */
import { canonical, compareKeys, isObject, member, nesting } from "./json.js";
import { NO_OUTPUT, Numbers, OutputLog } from "./packed.js";
import { Sha256 } from "./sha256.js";
const ITERATIONS = "iterations";
const OUTPUT_NESTING_MAX = 500;
/** The outputs of steps by their artifact keys. */
export class Artifacts {
    profile;
    prefix;
    log = new OutputLog();
    last = NO_OUTPUT;
    /** The first output of each key, or in the compat profile the newest. */
    first = new Map();
    later = new Numbers();
    newestOf = new Map();
    /** The items of all lists under a key, grown with each output: a run asks for them at every step. */
    listed = new Map();
    /** The keys in order. */
    order = [];
    /** The hash up to the last key before `iterations`, how many keys it covers, and the last of them. */
    front = null;
    /** The hash up to the last entry of `iterations`, and how many entries and keys it covers. */
    middle = null;
    constructor(profile, prefix) {
        this.profile = profile;
        this.prefix = prefix;
    }
    /** Puts an output under its key. `value` is the output with large values fetched; `text` is what the record holds. */
    put(key, step, stepIndex, text, value) {
        // A loop often gives what it gave before: the text of it is kept once.
        const older = this.newestOf.get(key);
        const known = older === undefined ? text : this.log.text(older);
        this.last = this.log.add(this.last, key, step, stepIndex, known === text ? known : text, value);
        this.place(this.last);
    }
    place(output) {
        const key = this.log.key(output);
        if (!this.first.has(key)) {
            this.order.splice(firstAfter(this.order, key), 0, key);
            this.first.set(key, output);
        }
        else if (this.profile !== "compat") {
            this.later.push(output);
        }
        else {
            this.first.set(key, output);
            this.front = this.middle = null;
        }
        const value = this.log.value(output);
        const older = this.newestOf.get(key);
        if (older !== undefined)
            this.log.dropValue(older);
        this.newestOf.set(key, output);
        if (!Array.isArray(value))
            return;
        const items = this.listed.get(key);
        if (items === undefined)
            this.listed.set(key, [...value]);
        else
            for (const item of value)
                items.push(item);
    }
    /** Returns the items of all lists that are outputs under a key, oldest first. */
    items(key) {
        return this.listed.get(key) ?? [];
    }
    /** Returns the position to which {@link returnTo} can return. */
    position() {
        return this.last;
    }
    returnTo(position) {
        const outputs = [];
        for (let at = position; at !== NO_OUTPUT; at = this.log.before(at))
            outputs.push(at);
        this.last = position;
        this.first = new Map();
        this.later.clear();
        this.newestOf = new Map();
        this.listed = new Map();
        this.order = [];
        this.front = this.middle = null;
        for (const output of outputs.reverse())
            this.place(output);
    }
    /** Returns the newest output of a key: undefined when there is none. */
    newest(key) {
        const output = this.newestOf.get(key);
        return output === undefined ? undefined : { value: this.log.value(output), text: this.log.text(output) };
    }
    /** Returns the keys of the state's `artifacts`, in order. */
    keys() {
        if (this.later.length === 0)
            return this.order;
        return [...this.order, ITERATIONS].sort(compareKeys);
    }
    stepKeys() {
        return this.order;
    }
    /** Returns a hash over the prefix and all members of `artifacts`. Only what is new is hashed, where it stands at the end. */
    hash() {
        const count = firstAfter(this.order, ITERATIONS);
        const front = this.hashFront(count);
        let hash = front.clone();
        if (this.later.length > 0) {
            hash = this.hashMiddle(count, front).clone();
            hash.updateText("]");
        }
        let isFirst = count === 0 && this.later.length === 0;
        for (const key of this.order.slice(count)) {
            hash.updateText(memberText(isFirst, key, this.log.text(this.first.get(key))));
            isFirst = false;
        }
        return hash;
    }
    hashFront(count) {
        // A key that came between others moved those behind it, so the last key that is covered is elsewhere.
        if (this.front === null || (this.front.count > 0 && this.order[this.front.count - 1] !== this.front.last)) {
            this.front = { hash: new Sha256().updateText(this.prefix), count: 0, last: "" };
            this.middle = null;
        }
        const { front } = this;
        for (; front.count < count; front.count += 1) {
            const key = this.order[front.count];
            front.hash.updateText(memberText(front.count === 0, key, this.log.text(this.first.get(key))));
            front.last = key;
            this.middle = null;
        }
        return front.hash;
    }
    hashMiddle(keys, front) {
        if (this.middle === null || this.middle.keys !== keys || this.middle.entries > this.later.length) {
            const hash = front.clone().updateText(`${keys === 0 ? "" : ","}"${ITERATIONS}":[`);
            this.middle = { hash, entries: 0, keys };
        }
        const { middle } = this;
        for (; middle.entries < this.later.length; middle.entries += 1) {
            const { key, text, step, stepIndex } = this.log.output(this.later.at(middle.entries));
            const entry = `{"key":${JSON.stringify(key)},"output":${text},"step":${JSON.stringify(step)},"step_index":${stepIndex}}`;
            middle.hash.updateText(middle.entries === 0 ? entry : `,${entry}`);
        }
        return middle.hash;
    }
}
/** Returns the position of the first key behind `key` in sorted keys. */
function firstAfter(keys, key) {
    let low = 0;
    let high = keys.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (compareKeys(keys[middle], key) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
function memberText(isFirst, key, text) {
    return `${isFirst ? "" : ","}${JSON.stringify(key)}:${text}`;
}
/** The state of a run after some of its records. A method that refuses returns why and changes nothing. */
export class State {
    profile;
    problem;
    artifacts;
    errors = [];
    errorText = "[]";
    stepIndex = 0n;
    updatedAt;
    status = "pending";
    fixed;
    constructor(profile, header, problem) {
        this.profile = profile;
        this.problem = problem;
        this.artifacts = new Artifacts(profile, '{"artifacts":{');
        this.updatedAt = String(header.get("created_at"));
        const setting = (key) => canonical(member(problem, "settings", key) ?? null);
        const assumptions = profile === "strict-2" ? member(problem, "inputs", "assumptions") : null;
        this.fixed = {
            assumptions: canonical(assumptions ?? []),
            constraints: canonical(member(problem, "inputs", "constraints") ?? []),
            metadata: `{"created_at":${canonical(problem.get("created_at") ?? null)},"model_profile":${setting("model_profile")},`
                + `"policy_profile":${setting("policy_profile")},"trace_id":${canonical(header.get("trace_id") ?? null)},"updated_at":`,
            problem: canonical(problem),
        };
    }
    digest() {
        const { assumptions, constraints, metadata, problem } = this.fixed;
        const rest = `},"assumptions":${assumptions},"constraints":${constraints},"errors":${this.errorText},"metadata":${metadata}`
            + `${JSON.stringify(this.updatedAt)}},"problem":${problem},"status":"${this.status}","step_index":${this.stepIndex},"version":"1.0.0"}`;
        return this.artifacts.hash().updateText(rest).hex();
    }
    apply(key, record, outputText, value, blockedKeepsRunning) {
        const result = record.get("result");
        const at = String(result.get("finished_at"));
        const refusal = this.ended() ?? this.late(at) ?? refusedResult(result) ?? (key === ITERATIONS ? "the key iterations is reserved" : null);
        if (refusal !== null)
            return refusal;
        const failed = result.get("status") === "failed";
        if (outputText !== null && result.get("status") === "success") {
            this.artifacts.put(key, String(result.get("step")), record.get("step_index"), outputText, value);
        }
        if (failed)
            this.append(result.get("errors"));
        if (this.profile !== "compat" || !failed)
            this.stepIndex += 1n;
        this.status = failed && !blockedKeepsRunning ? "failed" : "running";
        this.updatedAt = at;
        return null;
    }
    complete(at) {
        if (this.status !== "running")
            return `the run is ${this.status}`;
        const late = this.late(at);
        if (late !== null)
            return late;
        this.status = "completed";
        this.updatedAt = at;
        return null;
    }
    /** Fails the run because its loop reached its limit. */
    exhaust(at) {
        const loop = member(this.problem, "settings", "loop");
        if (!isObject(loop))
            return "the problem has no loop";
        if (this.status === "completed" || this.status === "pending")
            return `the run is ${this.status}`;
        const late = this.status === "running" ? this.late(at) : null;
        if (late !== null && this.profile !== "compat")
            return late;
        const limit = loop.get("max_iterations");
        const spelled = limit === true ? "True" : limit === undefined ? "" : canonical(limit);
        const message = `Loop stop condition not met after ${spelled} iteration(s).`;
        this.append([new Map([
                ["code", "loop_max_iterations_reached"], ["message", message], ["step", loop.get("end_step") ?? null],
            ])]);
        this.status = "failed";
        this.updatedAt = at;
        return null;
    }
    rollBack(position, at) {
        const refusal = this.ended() ?? this.late(at);
        if (refusal !== null)
            return refusal;
        this.artifacts.returnTo(position);
        this.stepIndex += 1n;
        this.status = "running";
        this.updatedAt = at;
        return null;
    }
    ended() {
        const isOver = this.status === "failed" || this.status === "completed";
        return isOver ? `the run is ${this.status}, no record may follow` : null;
    }
    late(at) {
        const isLater = this.profile === "compat" || at > this.updatedAt;
        return isLater ? null : `time does not move on: ${at} is not after ${this.updatedAt}`;
    }
    append(errors) {
        for (const error of errors)
            this.errors.push(canonical(error));
        this.errorText = `[${this.errors.join(",")}]`;
    }
}
function refusedResult(result) {
    const errors = result.get("errors");
    if (Array.isArray(errors) && errors.some((error) => member(error, "code") === "" || member(error, "message") === "")) {
        return "an error with an empty code or message";
    }
    const output = result.get("output");
    if (output !== undefined && nesting(output) > OUTPUT_NESTING_MAX)
        return `an output nested over ${OUTPUT_NESTING_MAX} deep`;
    return null;
}
