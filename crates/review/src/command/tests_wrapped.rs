use super::tests::check;

#[test]
fn commands_inside_of_other_programs_and_names_for_them_are_seen() {
    check(&[
        ("bash -s <<< 'git push -f'", "Push!~"),
        ("bash <<< \"git push -f\"", "Push!~"),
        ("cat > notes.txt <<< 'git push -f'", "Create(notes.txt)"),
        ("ssh host git push -f", "Push!~"),
        ("ssh -p 22 -i key ada@host 'cd /srv && git push -f'", "Push!~"),
        ("ssh host", "-"),
        ("watch -n 1 git push -f", "Push!~"),
        ("hyperfine 'pytest -q'", "Tests"),
        ("flock /tmp/l git push -f", "Push!~"),
        ("flock -w 5 /tmp/l -c 'git push -f'", "Push!~"),
        ("script -qc 'git push -f' /dev/null", "Push!~"),
        ("strace -f -o out git push -f", "Push!~"),
        ("busybox rm -rf data", "Delete(data)"),
        ("valgrind ./run_tests.sh", "Tests"),
        ("nix develop -c pytest", "Tests"),
        ("eval git push -f", "Push!~"),
        ("alias gp='git push -f'\ngp origin", "Push!~"),
        ("alias gp='git push -f'", "-"),
        ("alias git='git push -f'; git status", "Push!~"),
        ("git config alias.p 'push -f' && git p", "Push!~"),
        ("git config --global alias.yolo '!git add -A && git commit -m x' && git yolo", "Commit"),
        ("git config alias.p 'push -f'", "-"),
        ("git subtree push --prefix docs origin pages", "Push"),
        ("git svn dcommit", "Push"),
        ("hub push -f", "Push!~"),
        ("gh pr merge 5 --squash", "Commit"),
        ("gh pr view 5", "-"),
        ("python -c 'import shutil; shutil.rmtree(\"data\")'", "Delete"),
        ("python -c 'print(1)'", "-"),
        ("node -e 'require(\"fs\").rmSync(\"data\")'", "Delete"),
        ("node server.js -e prod", "-"),
    ]);
}

#[test]
fn commands_of_windows_are_read() {
    check(&[
        ("pwsh -NoProfile -Command 'git push -f'", "Push!~"),
        ("powershell.exe -Command git push --force", "Push!~"),
        ("pwsh -Command '& { git push --force }'", "Push!~"),
        ("CMD.EXE /C git push -f", "Push!~"),
        ("cmd /c 'del /s /q data'", "Delete(data)"),
        ("cmd /c rmdir /s /q data", "Delete(data)"),
        ("powershell -c 'Remove-Item -Recurse -Force data'", "Delete(data)"),
        (r"powershell -c 'remove-item -Path src\old, src\new'", "Delete(src/old,src/new)"),
        ("Remove-Item -LiteralPath a.txt -ErrorAction Ignore", "Delete(a.txt)"),
        ("Remove-Item data -WhatIf", "-"),
        ("Set-Content -Path a.py -Value x", "Create(a.py)"),
        ("Add-Content a.py x", "Edit(a.py)"),
        ("Move-Item a.py b.py", "Rename(a.py>b.py)"),
        ("Get-Content a.py", "Read(a.py)"),
        ("Invoke-Pester", "Tests"),
        ("pwsh -Command 'pytest; if ($?) { git commit -am x }'", "Tests Commit"),
    ]);
}
