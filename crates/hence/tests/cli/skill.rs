//! Skills from the command line: checked, run, resumed, replayed, verified, explained.

use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use hence_testkit::cli::World;

const NOW: [&str; 2] = ["--now", "2026-02-02T00:00:00Z"];

fn example(world: &World, name: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills").join(name);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        world.write(path.file_name().unwrap().to_str().unwrap(), std::fs::read(&path).unwrap());
    }
}

fn triage() -> World {
    let world = World::new();
    example(&world, "incident-triage");
    let answer = world.ask(&[&RUN_TRIAGE[..], &NOW[..]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    world
}

const RUN_TRIAGE: [&str; 6] = ["run", "skill.yaml", "--input", "log=@service.log", "--run-id", "triage"];

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

#[test]
fn the_triage_cites_every_error_line() {
    let world = triage();
    let report = json(&world, &["run", "skill.yaml", "--input", "log=@service.log", "--run-id", "triage"]);
    assert_eq!((&report["start"], &report["status"]), (&"already_ended".into(), &"completed".into()));
    assert_eq!(report["outputs"]["services"][0], serde_json::json!({"key": "billing", "count": 3}));
    let text = report["outputs"]["report"].as_str().unwrap();
    assert!(text.starts_with("5 error lines. First failure: database at 2026-02-02T10:07:58Z"), "{text}");
    assert!(text.contains("- [E5] service.log:9  2026-02-02T10:08:09Z FATAL [gateway]"), "{text}");
    assert_eq!(report["outputs"]["supported"].as_array().unwrap().len(), 2);
}

#[test]
fn vendors_are_ranked_and_exclusions_have_reasons() {
    let world = World::new();
    example(&world, "vendor-comparison");
    let report = json(&world, &["run", "skill.yaml", "--input", "table=@vendors.csv"]);
    assert_eq!(report["outputs"]["best"], "Ember");
    assert_eq!(report["outputs"]["excluded"][0]["vendor"], "Cairn");
    let anywhere = ["run", "skill.yaml", "--input", "table=@vendors.csv", "--input", "regions=[eu, us]"];
    assert_eq!(json(&world, &anywhere)["outputs"]["best"], "Delta");
}

#[test]
fn a_contract_is_reviewed_with_cited_clauses() {
    let world = World::new();
    example(&world, "contract-review");
    let arguments = ["run", "skill.yaml", "--input", "contract=@contract.txt", "--input", "rules=@rules.csv"];
    let report = json(&world, &[&arguments[..], &["--run-id", "review"]].concat());
    assert_eq!((&report["status"], &report["outputs"]["acceptable"]), (&"completed".into(), &false.into()));
    let findings = report["outputs"]["findings"].as_array().unwrap();
    let cited: Vec<&str> = findings.iter().map(|finding| finding["clause"].as_str().unwrap()).collect();
    assert_eq!(cited, ["3.2", "4.1", "2.2", "5.1", "2.3"]);
    assert_eq!(report["outputs"]["missing"][0]["topic"], "audit_days");
    assert_snapshot!(report["outputs"]["review"].as_str().unwrap(), @r#"
    REVIEW OF contract.txt
    Acceptable as it stands: false

    CLAUSES THAT BREAK A RULE
    critical: Hours until a data breach is reported
      clause 3.2 (line 15): "3.2 The Supplier reports a personal data breach to the Customer within 72 hours of becoming aware of it."
      found 72, the rule is at_most 48. The regulator gives us 72 hours ourselves; we need a day to act.

    critical: Months of fees that liability covers
      clause 4.1 (line 18): "4.1 The Supplier's total liability in a contract year is limited to the fees paid in the preceding 3 months."
      found 3, the rule is at_least 12. Ask for 12 months of fees.

    major: Days until an invoice is due
      clause 2.2 (line 10): "2.2 Each invoice is payable within 60 days of receipt."
      found 60, the rule is at_most 30. Ask for 30 days, as in the purchasing policy.

    major: Months of automatic renewal
      clause 5.1 (line 22): "5.1 This agreement begins on 1 February 2026 and renews automatically for further terms of 24 months."
      found 24, the rule is at_most 12. Ask for 12 months, or for no automatic renewal.

    major: Yearly increase of fees in percent
      clause 2.3 (line 11): "2.3 The Supplier may raise the fees by up to 8 percent per contract year on three months' notice."
      found 8, the rule is at_most 5. Ask for the consumer price index, at most 5 percent.

    WHAT THE CONTRACT DOES NOT REGULATE AND MUST
    - Days of notice before an audit. Add a right to audit the supplier once a year.

    CLAUSES WITHIN THE RULES
    - clause 5.2: Days of notice to terminate, 90
    "#);
    assert_eq!(world.ask(&["replay", "review"]).code, 0);
    // A policy that asks for nothing finds nothing.
    world.write("lax.csv", "topic,title,required,limit,direction,severity,advice\nnotice_days,Notice,true,365,at_most,minor,Fine\n");
    let lax = ["run", "skill.yaml", "--input", "contract=@contract.txt", "--input", "rules=@lax.csv"];
    assert_eq!(json(&world, &lax)["outputs"]["acceptable"], true);
}

#[test]
fn a_reconciliation_accounts_for_every_cent() {
    let world = World::new();
    example(&world, "reconciliation");
    let arguments =
        ["run", "skill.yaml", "--input", "ledger=@ledger.csv", "--input", "payments=@payments.csv"];
    let report = json(&world, &[&arguments[..], &["--run-id", "january"]].concat());
    let outputs = &report["outputs"];
    assert_eq!((&outputs["matched"], &outputs["explained"]), (&3.into(), &true.into()));
    assert_snapshot!(outputs["report"].as_str().unwrap(), @r#"
    RECONCILIATION (all amounts in cents)
    ledger     734740
    payments   913150
    difference 178410
    accounted for by the exceptions below: 178410 (complete: true)

    3 invoices are paid exactly. What needs a person:
    - INV-1042: other amount; ledger 48990, payment 48900 p-882 (EUR and EUR)
    - INV-1043: other currency; ledger 7350, payment 7350 p-883 (EUR and USD)
    - INV-1044: paid again; ledger 0, payment 310000 p-885 (2026-01-22)
    - INV-1045: not paid; ledger 22000, payment 0  (Ember Studio)
    - INV-1047: not paid; ledger 125000, payment 0  (Arbor Retail)
    - INV-1099: no such invoice; ledger 0, payment 15500 p-887 (2026-01-30)
    "#);
    assert_snapshot!(outputs["exceptions"].as_str().unwrap(), @r"
    reference,problem,ledger_cents,payment_cents,payment,note
    INV-1042,other amount,48990,48900,p-882,EUR and EUR
    INV-1043,other currency,7350,7350,p-883,EUR and USD
    INV-1044,paid again,0,310000,p-885,2026-01-22
    INV-1045,not paid,22000,0,,Ember Studio
    INV-1047,not paid,125000,0,,Arbor Retail
    INV-1099,no such invoice,0,15500,p-887,2026-01-30
    ");
    assert_eq!(world.ask(&["replay", "january"]).code, 0);
    // Two systems that agree have no exceptions and no difference.
    world.write(
        "same.csv",
        "payment_id,reference,booked_on,amount_cents,currency\np,INV-1,2026-01-01,5,EUR\n",
    );
    world.write("ours.csv", "reference,date,counterparty,amount_cents,currency\nINV-1,2026-01-01,A,5,EUR\n");
    let agree = ["run", "skill.yaml", "--input", "ledger=@ours.csv", "--input", "payments=@same.csv"];
    let agreed = json(&world, &agree);
    assert_eq!(
        (&agreed["outputs"]["matched"], &agreed["outputs"]["difference_cents"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn a_skill_run_verifies_replays_and_shows() {
    let world = triage();
    for arguments in [
        &["verify", "triage"][..],
        &["replay", "triage"],
        &["log", "triage"],
        &["show", "triage", "report"],
        &["state", "triage", "/artifacts/report/produced"],
    ] {
        assert_eq!(world.ask(arguments).code, 0, "{}", world.cli(arguments));
    }
    let levels = json(&world, &["verify", "triage"])["levels"].clone();
    let verdicts: Vec<&str> =
        levels.as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "holds", "holds", "holds", "holds", "not_checked"]);
    let outputs = json(&world, &["state", "triage", "/outputs/services/0/key", "--cognition"]);
    assert_eq!(outputs, "billing");
}

#[test]
fn lineage_leads_back_to_the_caller_and_on_to_the_report() {
    let world = triage();
    let steps = |arguments: &[&str]| -> Vec<String> {
        let report = json(&world, arguments);
        report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["step"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        steps(&["blame", "triage", "outputs.services"]),
        ["rank", "by-service", "errors", "shape", "read"]
    );
    assert_eq!(steps(&["blame", "triage", "/outputs/services"]).len(), 5);
    assert_eq!(steps(&["impact", "triage", "rank"]), ["list-services", "report"]);
    assert_eq!(steps(&["impact", "triage", "inputs.log"]).len(), 11);
    assert_eq!(world.ask(&["blame", "triage", "nowhere"]).code, 2);
    assert_eq!(world.ask(&["blame", "triage", "vars.nothing"]).code, 1);
}

#[test]
fn a_journal_cut_at_any_record_resumes_to_the_same_bytes() {
    let world = triage();
    let whole = world.journal("triage");
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
    for end in ends.into_iter().chain([whole.len() - 3]) {
        world.set_journal("triage", &whole[..end]);
        let answer = world.ask(&["resume", "triage"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(world.journal("triage") == whole, "cut at byte {end}");
    }
}

#[test]
fn check_shows_every_finding_in_its_line_and_nothing_runs() {
    let world = World::new();
    let skill = "id: x\nversion: 1.0.0\nname: X\ndescription: A skill with mistakes\ninputs: {}\noutputs: {}\nsteps:\n  - id: a\n    uses: text.spilt\n    input: {text: hello}\n    output: {parts: inputs.parts}\n    colour: red\n";
    world.write("bad.yaml", skill);
    assert_snapshot!(world.cli(&["check", "bad.yaml"]), @r"
    error[unknown-capability]: no capability `text.spilt`; did you mean `text.split`?
     --> bad.yaml:9:11
      |
    9 |     uses: text.spilt
      |           ^^^^^^^^^^

    error[target-namespace]: `inputs` is read-only
      --> bad.yaml:11:21
       |
    11 |     output: {parts: inputs.parts}
       |                     ^^^^^^^^^^^^

    error[unknown-key]: a step has no `colour`
      --> bad.yaml:12:5
       |
    12 |     colour: red
       |     ^^^^^^

    bad.yaml: cannot run; 3 errors, 0 warnings
    [exit 1]
    ");
    let answer = world.ask(&["run", "bad.yaml"]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("E0102"), "{}", answer.stderr);
    assert!(!world.path(".hence").exists());
}

#[test]
fn inputs_must_fit_the_skill() {
    let world = World::new();
    example(&world, "incident-triage");
    let missing = world.ask(&["run", "skill.yaml"]);
    assert!(missing.code == 1 && missing.stderr.contains("error[E0102]"), "{}", missing.stderr);
    for arguments in [
        &["run", "skill.yaml", "--input", "log"][..],
        &["run", "skill.yaml", "--input", "log=x", "--input", "colour=red"],
        &["run", "skill.yaml", "--input", "log=x", "--profile", "compat"],
    ] {
        let answer = world.ask(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("error[E0103]"), "{}", answer.stderr);
    }
    assert_eq!(world.ask(&["run", "skill.yaml", "--input", "log=@missing.log"]).code, 2);
}

#[test]
fn a_failing_step_fails_the_run_and_is_named() {
    let world = World::new();
    world.write("skill.yaml", "id: x\nversion: 1.0.0\nname: X\ndescription: Divides\ninputs: {by: {type: integer, required: true}}\noutputs: {}\nsteps:\n  - id: divide\n    uses: number.calculate\n    input: {left: 1, operator: divide, right: inputs.by}\n    output: {value: outputs.value}\n");
    let report = json(&world, &["run", "skill.yaml", "--input", "by=0"]);
    assert_eq!((&report["status"], &report["failure"]["step"]), (&"failed".into(), &"divide".into()));
    let run = report["run"].as_str().unwrap();
    assert_eq!(world.ask(&["verify", run]).code, 0, "{}", world.cli(&["verify", run]));
    assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
}

/// The number of times a run is killed.
const KILLS: usize = 20;

#[test]
fn a_killed_run_of_a_skill_resumes_to_the_bytes_of_an_uninterrupted_one() {
    let whole = triage().journal("triage");
    let arguments = [&RUN_TRIAGE[..], &NOW[..]].concat();
    for kill in 0..KILLS {
        let world = World::new();
        example(&world, "incident-triage");
        let mut child = world.command(&arguments).spawn().unwrap();
        let path = world.path(".hence/runs/triage/trace.ndjson");
        // Killed as soon as the journal is that long, at a place of its own each time.
        let bytes = (whole.len() * kill / KILLS) as u64;
        while std::fs::metadata(&path).map_or(0, |metadata| metadata.len()) <= bytes
            && child.try_wait().unwrap().is_none()
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(whole.starts_with(&world.journal("triage")), "kill {kill} left other bytes");
        let answer = world.ask(&["resume", "triage"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(world.journal("triage") == whole, "kill {kill}");
    }
}
