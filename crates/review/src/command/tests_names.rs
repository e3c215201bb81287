use super::tests::check;
use super::*;

#[test]
fn words_that_a_shell_fills_in_are_read_where_the_line_shows_them() {
    check(&[
        ("git $(echo push) -f", "Push!~"),
        ("git `echo push` --force", "Push!~"),
        ("git \"$(printf 'pu%s' sh)\" -f", "Push!~"),
        ("git $(printf '%s' push) $(echo -n --force)", "Push!~"),
        ("git $(echo hsup | rev) -f", "Push!~"),
        ("$(echo Z2l0IHB1c2ggLS1mb3JjZQ== | base64 -d)", "Push!~"),
        ("echo Z2l0IHB1c2ggLS1mb3JjZQ== | base64 -d | sh", "Push!~"),
        ("git $'\\x70ush' $'\\55f'", "Push!~"),
        ("{git,push,-f}", "Push!~"),
        ("F=--force; git push $F origin main", "Push!~"),
        ("F=--force && git push \"$F\"", "Push!~"),
        ("export F=--force\ngit push ${F}", "Push!~"),
        ("F=$(echo --force); git push $F", "Push!~"),
        ("A='push --force'; git $A", "Push!~"),
        ("A=pu; B=sh; git $A$B -f", "Push!~"),
        ("C='git push'; C+=' -f'; $C", "Push!~"),
        ("git push ${F:-'--force'}", "Push!~"),
        ("read F <<< --force; git push $F", "Push!~"),
        ("F=--force; [ -n \"$CI\" ] && F=; git push $F", "Push Push!~"),
        ("if x; then F=-f; fi; git push $F", "Push!~"),
        ("F=-f bash -c 'git push $F'", "Push!~"),
        ("bash -c 'git push \"$@\"' _ --force", "Push!~"),
        ("for c in commit push; do git $c -q; done", "Commit Push"),
        ("for f in --force; do git push $f; done", "Push!~"),
        ("echo push --force | xargs git", "Push!~"),
        ("p() { git push \"$@\"; }; p --force", "Push!~"),
        ("function p { git push -f; }; p", "Push!~"),
        ("p() { git push -f; }", "Push!~"),
        ("X='rm -rf data'; $X", "Delete(data)"),
        ("D=data; rm -rf $D", "Delete(data)"),
        ("T=pytest; $T -q", "Tests"),
        ("F=--force; F=; git push $F", "Push"),
        ("F=--force; unset F; git push \"$F\"", "Push"),
        ("(F=--force); git push $F", "Push"),
        ("F='*.py'; rm $F", "Delete"),
        ("git push origin $BRANCH", "Push"),
        ("echo '$(echo push)'", "-"),
        ("M='git push --force'; git commit -m \"$M\"", "Commit"),
    ]);
}

#[test]
fn settings_that_make_a_later_push_overwrite_are_seen() {
    check(&[
        ("git config remote.origin.push +main:main && git push", "Push!~"),
        ("git config --global remote.origin.mirror true; git push", "Push!~"),
        ("git remote add --mirror=push o url && git push o", "Push!~"),
        (
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.push GIT_CONFIG_VALUE_0=+main git push",
            "Push!~",
        ),
        ("git config remote.origin.url ssh://x && git push", "Push"),
        ("git -C x config alias.p 'push -f' && git p && git p", "Push!~ Push!~"),
    ]);
}

#[test]
fn a_name_of_an_earlier_line_is_used_and_what_it_means_is_uncertain() {
    let mut names = ShellNames::default();
    let read = |line: &str, names: &mut ShellNames| {
        let all = parts_after(line, "", LineEnd::Well, Signs::default(), names);
        let known = all.into_iter().filter(|part| part.deed.is_known());
        known.map(|part| (part.deed, part.force, part.ran)).collect::<Vec<_>>()
    };
    for line in
        ["F=--force", "alias gp='git push -f'", "p() { git push -f; }", "git config alias.fp 'push -f'"]
    {
        read(line, &mut names);
    }
    for line in ["git push $F", "gp", "p", "git fp", "git fp"] {
        assert_eq!(read(line, &mut names), [(Deed::Push, true, Ran::Maybe)], "{line}");
    }
    names.end_shell();
    for line in ["gp", "p"] {
        assert_eq!(read(line, &mut names), [], "{line}");
    }
    assert_eq!(read("git push $F", &mut names), [(Deed::Push, false, Ran::Yes)]);
    assert_eq!(read("git fp", &mut names), [(Deed::Push, true, Ran::Maybe)]);
}

#[test]
fn a_deed_after_any_number_of_commands_is_seen_and_expansions_end() {
    let many = format!("{}git push -f", "cat a.txt; ".repeat(1000));
    let last = parts(&many, "", LineEnd::Well, Signs::default()).pop().unwrap();
    assert!(last.force && last.deed == Deed::Push);
    let doubling: String = (1..60).map(|n| format!("A{n}=$A{}$A{}; ", n - 1, n - 1)).collect();
    parts(&format!("A0=xxxxxxxx; {doubling} git push $A59"), "", LineEnd::Well, Signs::default());
    let nested = "for a in 1 2 3 4 5 6 7 8; do ".repeat(30);
    parts(&format!("{nested} f $a; {}", "done; ".repeat(30)), "", LineEnd::Well, Signs::default());
    let recursive = "f() { f; g; f; }; g() { f; g; }; f";
    parts(recursive, "", LineEnd::Well, Signs::default());
    let deep = format!("{}echo push{}", "$(echo ".repeat(200), ")".repeat(200));
    parts(&format!("git {deep}"), "", LineEnd::Well, Signs::default());
}

#[test]
fn deeds_inside_of_scripts_and_code_are_seen() {
    check(&[
        ("cat > p.sh <<'EOF'\ngit push -f\nEOF\nbash p.sh", "Create(p.sh) Push!~"),
        ("echo 'git push -f' > p.sh && chmod +x p.sh && ./p.sh", "Create(p.sh) Push!~"),
        ("echo 'git push -f' > /tmp/p.sh; source /tmp/p.sh", "Push!~"),
        ("cat > t.sh <<'EOF'\npytest -q\nEOF\nbash t.sh", "Create(t.sh)"),
        ("python -c \"import subprocess; subprocess.run(['git', 'push', '-f'])\"", "Push!~"),
        ("python3 - <<'EOF'\nimport os\nos.system('git push --force')\nEOF", "Push!~"),
        ("node -e \"require('child_process').execSync('git push -f')\"", "Push!~"),
        ("python -c \"print('git push -f')\"", "-"),
        ("trap 'git push -f' EXIT", "Push!~"),
        ("echo 'git push -f' | at now", "Push!~"),
        ("coproc git push -f", "Push!~"),
        ("env -S 'git push -f'", "Push!~"),
        (". /dev/stdin <<< 'git push -f'", "Push!~"),
        ("bash <(echo git push -f)", "Push!~"),
        ("/usr/bin/g?t push -f", "Push!~"),
        ("X=F; F=--force; git push ${!X}", "Push!~"),
        ("gh repo sync o/r --force", "Push!~"),
        ("gh api -X PATCH repos/o/r/git/refs/heads/main -F force=true", "Push!~"),
        ("gh api repos/o/r/git/refs/heads/main", "-"),
    ]);
}
