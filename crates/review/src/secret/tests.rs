use hence_canon::parse;

use super::*;

fn clean(text: &str) -> String {
    redact(text, &mut Redactions::default()).into_owned()
}

#[test]
fn secrets_of_services_are_found_by_their_form() {
    for secret in [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdef0123456789abcdef0123",
        "gho_0123456789abcdef",
        "github_pat_11ABCDEFG0abcdefghij_abcdefghijklmnop",
        "glpat-abcdefghij0123456789",
        "sk-ant-api03-abcdefghijklmnop1234",
        "sk-proj-abcdefghijklmnop1234",
        "sk-abcdefghijklmnop1234",
        "sk_live_abcdefghij0123456789",
        "rk_test_abcdefghij0123456789",
        "xoxb-123456789012-abcdefghijkl",
        "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx",
        "https://discord.com/api/webhooks/123456789/abc-DEF_ghi",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
        "hf_abcdefghijklmnop1234",
        "SG.abcdefghijklmnop1234.abcdefghijklmnop1234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY----- MIIE",
    ] {
        for (before, after) in [("", ""), ("see ", " now"), ("'", "'"), ("x=\"", "\",")] {
            // A key without an end goes on to the end of the text.
            let rest = if secret.ends_with("MIIE") { "" } else { after };
            assert_eq!(clean(&format!("{before}{secret}{after}")), format!("{before}{REDACTED}{rest}"));
        }
    }
}

#[test]
fn secrets_are_found_at_the_places_where_they_are_written() {
    for (text, expected) in [
        (
            "AWS_SECRET_ACCESS_KEY=q8ZrT1xWabcdefghijklmnopqrstuvwxyz012345 aws s3 ls",
            "AWS_SECRET_ACCESS_KEY=[redacted] aws s3 ls",
        ),
        ("export AWS_SECRET_ACCESS_KEY='q8ZrT1xW/abc+def'", "export AWS_SECRET_ACCESS_KEY='[redacted]'"),
        ("psql postgres://admin:S3cretPassw0rd@db:5432/x", "psql postgres://admin:[redacted]@db:5432/x"),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        (
            "https://api.telegram.org/bot123456789:AAF-abcdefghijklmnopqrstuvwxyz012345/sendMessage",
            "https://api.telegram.org/bot[redacted]/sendMessage",
        ),
        ("curl -sb 'x' -b 'session=abcdef0123' y", "curl -sb 'x' -b 'session=[redacted]' y"),
        ("mongodb+srv://u:p%40ss@h/x", "mongodb+srv://u:[redacted]@h/x"),
        ("https://user:p@ss@host/x", "https://user:[redacted]@host/x"),
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer [redacted]' x"),
        ("curl -H \"Authorization: Basic dXNlcjpwYXNz\" x", "curl -H \"Authorization: Basic [redacted]\" x"),
        ("-H 'X-Api-Key: abc123def456'", "-H 'X-Api-Key: [redacted]'"),
        ("curl -u admin:hunter2 https://x", "curl -u admin:[redacted] https://x"),
        ("mysql --password=hunter22 db", "mysql --password=[redacted] db"),
        ("gh auth login --token abc123def456", "gh auth login --token [redacted]"),
        ("DB_PASSWORD='a(b)c1<d' make", "DB_PASSWORD='[redacted]' make"),
        ("(DB_PASSWORD=hunter2)", "(DB_PASSWORD=[redacted]"),
        ("mysql -u root -phunter2 db", "mysql -u root -p[redacted] db"),
        ("docker login -u me -p hunter2 reg", "docker login -u me -p [redacted] reg"),
        ("machine h login u password hunter2", "machine h login u password [redacted]"),
        (
            "curl -H 'Authorization: token ghp_0123456789abcdef' x",
            "curl -H 'Authorization: token [redacted]' x",
        ),
        ("export OPENAI_API_KEY=\"sk-abcdefghijklmnop1234\"", "export OPENAI_API_KEY=\"[redacted]\""),
        ("DB_PASSWORD=hunter make", "DB_PASSWORD=[redacted] make"),
        ("PGPASSWORD=x psql", "PGPASSWORD=[redacted] psql"),
        ("password: hunter2!", "password: [redacted]"),
        ("{\"password\": \"hunter2hunter2\"}", "{\"password\": \"[redacted]\"}"),
        ("client_secret=abc123", "client_secret=[redacted]"),
        ("Api-Key:x secret=", "Api-Key:[redacted] secret="),
        ("STRIPE_KEY=a8f3k2l9x0c7v6b5n4m3", "STRIPE_KEY=[redacted]"),
        ("session_token := 'a8f3k2l9x0c7v6b5n4m3'", "session_token := '[redacted]'"),
        ("bearer: ghp_0123456789abcde é=sk-abcdefghijklmnop1é", "bearer: [redacted] é=[redacted]é"),
        (
            "DefaultEndpointsProtocol=https;AccountKey=abc123DEF456ghi789==;X=1",
            "DefaultEndpointsProtocol=https;AccountKey=[redacted];X=1",
        ),
    ] {
        assert_eq!(clean(text), expected);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for text in [
        "commit 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
        "key: 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "api_key: 123e4567-e89b-12d3-a456-426614174000",
        "a task-list and sk-short",
        "use sk-learn-based-approaches-here",
        "the password: is unknown",
        "password = get_password()",
        "password=os.environ['DB_PASSWORD']",
        "token = request.headers.get",
        "SECRET_KEY=os.environ[\"SECRET_KEY\"]",
        "api_key=settings.api_key",
        "let secret = Secret::new",
        "def login(password: str, token: str)",
        "secret: ${{ secrets.TOKEN }}",
        "DB_PASSWORD=$PASS make",
        "DB_PASSWORD=${PASS:-x} make",
        "API_KEY=<your-key>",
        "API_KEY=your_key_here",
        "SECRET_KEY_PATH=/etc/keys/a.pem",
        "Authorization: Bearer $TOKEN",
        "the bearer of this letter",
        "bearer token required",
        "https://example.com:8080/@scope/pkg",
        "git@github.com:org/repo.git",
        "see -----BEGIN CERTIFICATE----- MII",
        "/usr/lib/x86_64-linux-gnu/libssl.so.3",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "monkey=banana-split-2024-edition",
        "primary_key=True",
        "key=lambda item: item.name",
        "sort_key: created_at_desc_2024",
        "password=password",
        "[redacted]",
        "API_KEY=[redacted]",
    ] {
        assert_eq!(clean(text), text);
        assert!(!contains(text), "{text}");
    }
}

#[test]
fn each_secret_counts_once_by_its_kind() {
    let mut removed = Redactions::default();
    redact("ghp_0123456789abcdef and ghp_0123456789abcdef and PGPASSWORD=x", &mut removed);
    redact("again ghp_0123456789abcdef, ghp_fedcba9876543210", &mut removed);
    assert_eq!(Value::from(removed.to_object()).to_string(), r#"{"assignment":1,"github_token":2}"#);
}

#[test]
fn a_word_is_a_secret_because_of_the_words_around_it() {
    for (line, secret) in [
        ("curl -u admin:hunter2hunter2 http://x", "hunter2hunter2"),
        ("mysql -pS3cretPassw0rd db", "S3cretPassw0rd"),
        ("docker login -p Sup3rS3cret! r", "Sup3rS3cret!"),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let clean = words_without_secrets(&words);
        assert_eq!(clean.len(), words.len());
        assert!(!clean.join(" ").contains(secret), "{clean:?}");
        let list: Value = words.into_iter().map(Value::from).collect();
        assert!(!redact_value(&list, &mut Redactions::default()).to_string().contains(secret), "{line}");
    }
    let plain: Vec<String> = ["git", "commit", "-m", "a message"].map(str::to_owned).to_vec();
    assert_eq!(words_without_secrets(&plain), plain);
}

#[test]
fn members_are_redacted_by_their_names() {
    let value = parse(br#"{"password": "hunter2", "user": {"api_key": "k"}, "list": ["ghp_0123456789abcdef"], "secret": "$X", "n": 1}"#).unwrap();
    let clean = redact_value(&value, &mut Redactions::default());
    assert_eq!(
        clean.to_string(),
        r#"{"list":["[redacted]"],"n":1,"password":"[redacted]","secret":"$X","user":{"api_key":"[redacted]"}}"#
    );
}

#[test]
fn secrets_are_found_in_the_spellings_of_tools_and_files() {
    for (text, secret) in [
        ("DB_PASS=Zx9kL2mQ", "Zx9kL2mQ"),
        ("export SMTP_PASS='tr0ub4dor&3'", "tr0ub4dor&3"),
        ("git clone https://7fa9c1d2e3b4a5968778695a4b3c2d1e@example.com/r.git", "7fa9c1d2e3b4a596"),
        ("gpg --batch --passphrase Hunter22 -c f", "Hunter22"),
        ("aws configure set aws_secret_access_key q8ZrT1xWb2", "q8ZrT1xWb2"),
        ("aws configure set profile.dev.aws_secret_access_key q8ZrT1xWb2", "q8ZrT1xWb2"),
        ("//registry.npmjs.org/:_authToken=0f8e1c2b-aaaa", "0f8e1c2b-aaaa"),
        ("redis-cli -h db -a s3cr3tpw ping", "s3cr3tpw"),
        ("mysql -u root -pS3cret9 shop", "S3cret9"),
        ("mysqldump --password=S3cret9 shop", "S3cret9"),
        ("curl -u admin:S3cret9 https://x", "S3cret9"),
        ("curl --user admin:S3cret9 https://x", "S3cret9"),
        ("kubectl create secret generic s --from-literal=key=Abc123xyz", "Abc123xyz"),
        ("docker login -u me -p Abc123xyz reg", "Abc123xyz"),
        ("sshpass -p Abc123xyz ssh host", "Abc123xyz"),
        ("openssl rsa -in k.pem -passin pass:Abc123xyz", "Abc123xyz"),
        ("curl -H 'X-Api-Key: 8f14e45fceea167a' https://x", "8f14e45fceea167a"),
        ("curl -H 'Authorization: Bearer abcdef123456' https://x", "abcdef123456"),
        ("Cookie: session=f00ba7f00ba7; theme=dark", "f00ba7f00ba7"),
        (r#"{"user": "a", "password": "Abc123xyz"}"#, "Abc123xyz"),
        ("user: a\npassword: Abc123xyz\n", "Abc123xyz"),
        ("GET https://x/y?token=8f14e45fceea&z=1", "8f14e45fceea"),
        ("https://b.blob.core.windows.net/c?sv=1&sig=pR4x%2Bq8ZrT1xW", "pR4x%2Bq8ZrT1xW"),
        ("mongodump --uri mongodb://u:Abc123xyz@h/db", "Abc123xyz"),
        ("java -storepass Abc123xyz -jar x", "Abc123xyz"),
        ("vault login -token=hvs1234567890abc", "hvs1234567890abc"),
    ] {
        assert!(!without_secrets(text).contains(secret), "{text} → {}", without_secrets(text));
        assert!(contains(text), "{text}");
    }
    for text in [
        "the tests pass=true and 3 were skipped",
        "git clone https://github.com/org/repo.git",
        "git clone git@github.com:org/repo.git",
        "https://me@example.com/path",
        "ssh://git@github.com/org/repo.git",
        "mkdir -p build/out && cp -a src dst",
        "docker run -p 8080:80 nginx",
        "zip -r archive.zip src",
        "mysql -u root -p",
        "curl -u admin https://x",
        "kubectl create secret generic s --from-file=key.pem",
        "https://x/y?page=2&sort=name",
        "https://x/search?key=value",
        "bypass: enabled",
        "compass=north",
        "passed=12 failed=0",
        "redis-cli -h localhost ping",
        "7z x archive.7z",
        "The Cookie: header is set by the server",
        "set a password: it must be long",
        "password: ''",
        "--pass-through args",
        "tokens=1200",
    ] {
        assert_eq!(without_secrets(text), text);
    }
}

#[test]
fn secrets_are_found_in_more_spellings() {
    for (text, secret) in [
        ("MYSQL_PWD=hunter mysql shop", "hunter"),
        ("Server=db;Uid=sa;Pwd=Abc123xyz;Database=x", "Abc123xyz"),
        (r#"{\"user\": \"a\", \"password\": \"Abc123xyz\"}"#, "Abc123xyz"),
        ("- name: DB_PASSWORD\n  value: Abc123xyz", "Abc123xyz"),
        ("- name: DB_PASSWORD value: Abc123xyz", "Abc123xyz"),
        (r#"{"key":"AWS_SECRET_ACCESS_KEY","value":"Abc123xyz"}"#, "Abc123xyz"),
        (r#"{"name": "API_TOKEN", "value": "Abc123xyz"}"#, "Abc123xyz"),
        ("<password>Abc123xyz</password>", "Abc123xyz"),
        (r#"<add key="ApiKey" value="Abc123xyz" />"#, "Abc123xyz"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "hf_abc"),
        ("dapi0123456789abcdef0123456789abcdef", "dapi0123"),
        ("secret_abcdefghijklmnop12345678", "secret_abc"),
        (r#"{"credentials": "Abc123xyz"}"#, "Abc123xyz"),
        ("setx API_KEY Abc123xyz", "Abc123xyz"),
        ("set -gx API_KEY Abc123xyz", "Abc123xyz"),
        ("curl -sSuadmin:Abc123xyz https://x", "Abc123xyz"),
        ("gh secret set NAME --body Abc123xyz", "Abc123xyz"),
        ("echo Abc123xyz | docker login -u me --password-stdin", "Abc123xyz"),
        ("echo 'Abc123xyz' | sudo -S rm x", "Abc123xyz"),
        ("echo root:Abc123xyz | chpasswd", "Abc123xyz"),
        ("smbclient //h/s -U me%Abc123xyz", "Abc123xyz"),
        ("openssl enc -aes-256-cbc -k Abc123xyz -in f", "Abc123xyz"),
        ("vault kv put secret/app value=Abc123xyz", "Abc123xyz"),
        ("vault kv put secret/x a=1 pin=Abc123xyz", "Abc123xyz"),
        ("vault kv put -mount=secret x a=1 b=two pin='Abc 123 xyz' c=3", "Abc 123 xyz"),
        ("vault write auth/x a=\"one; two\" pin=\"Abc123xyz\"", "Abc123xyz"),
        ("vault kv patch secret/x \"pin=Abc123xyz\"", "Abc123xyz"),
        ("fly secrets set A=1 PIN=Abc123xyz", "Abc123xyz"),
        ("heroku config:set A=1 B=2 PIN=Abc123xyz --app x", "Abc123xyz"),
        ("kubectl create secret generic s --from-literal=a=1 --from-literal=pin=Abc123xyz", "Abc123xyz"),
        ("db.example.com:5432:shop:me:Abc123xyz", "Abc123xyz"),
        ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\nAAABAQDabc\nxyz=\nPrivate-MAC: 1", "AAABAQDabc"),
        ("DB_PASSWORD=\"ab1\"\"cd2\" make", "cd2"),
        ("DB_PASSWORD=ab1\\\ncd2 make", "cd2"),
    ] {
        assert!(!without_secrets(text).contains(secret), "{text} → {}", without_secrets(text));
    }
    for text in [
        "OLD_PWD=/home/me",
        "- name: DB_PASSWORD\n  value: $PASS",
        "- name: PORT\n  value: 8080",
        "<password></password>",
        "set -x; make",
        "curl -sSu admin https://x",
        "echo hello | docker run -i x",
        "openssl enc -aes-256-cbc -in f",
        "src/main.rs:1234:5:error:x",
        "secret_santa_list",
    ] {
        assert_eq!(without_secrets(text), text);
    }
    let value =
        parse(br#"[{"name": "DB_PASSWORD", "value": "hunter"}, {"name": "PORT", "value": "8080"}]"#).unwrap();
    let clean = redact_value(&value, &mut Redactions::default()).to_string();
    assert_eq!(clean, r#"[{"name":"DB_PASSWORD","value":"[redacted]"},{"name":"PORT","value":"8080"}]"#);
}

#[test]
fn names_and_tokens_of_more_services_are_found() {
    let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
    let random = "q8ZrT1xWvB3nM5kL9pQ2sD4fG6hJ8zXc7vBn1mAs";
    let short = "kR7tQz2mWx4Lp9";
    for text in [
        format!("SECRET_KEY_BASE={hex}{hex}"),
        "HEROKU_API_KEY=9f86d081-884c-4d65-9a2f-eaa0c55ad015".to_owned(),
        format!("os.environ[\"OPENAI_KEY\"] = \"{random}\""),
        format!("os.Setenv(\"API_SECRET\", \"{random}\")"),
        format!("FROM x\nENV API_KEY {random}"),
        format!("const TOKEN: &str = \"{random}\";"),
        format!("private_key_passphrase={short}"),
        "private_key_passphrase=kTqzWbXpLmNaRe".to_owned(),
        format!("{{\"pwd\":\"{short}\"}}"),
        format!("auth:\n  user: x\n  pass: {short}"),
        format!("ldap_bind_pw: {short}"),
        format!("password: |\n  {short}\n"),
        format!("DSN=user:{short}@tcp(db:3306)/x"),
        format!("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJ{random}"),
        format!("tskey-auth-{}-{}", "kR7tQz2mWx4L", "kR7tQz2mWx4LkR7tQz2mWx4LkR7tQz2m"),
        format!("pcsk_{random}"),
        format!("lsv2_pt_{}_{}", "9f86d081884c7d659a2feaa0c55ad015", "9f86d08188"),
        format!("sntrys_{random}{random}"),
        format!("pscale_tkn_{random}"),
        format!("bkua_{hex}"),
        "nfp_q8ZrT1xWvB3nM5kL9pQ2sD4fG6hJ8zXc7vBn".to_owned(),
        format!("phx_{random}"),
        format!("pul-{hex}"),
        "HRKU-9f86d081-884c-4d65-9a2f-eaa0c55ad015".to_owned(),
        format!("SSWS 00{random}"),
        format!("CCIPAT_{}_{hex}", "kR7tQz2mWx4LkR7tQz2mWx"),
        format!("kR7tQz2mWx4Lp9.atlasv1.{random}{random}"),
        format!("MTA4NzUwNDgzNDcxOTI1MjQ4.Cl2FMQ.{}", "ZnCjm1XVW7vRze4b7Cq4se7kKWs8ab"),
    ] {
        assert!(contains(&text), "{text}");
    }
    for text in [
        "pass: 12",
        "pass: completed",
        "REQUEST_ID=9f86d081-884c-4d65-9a2f-eaa0c55ad015",
        "HEROKU_API_KEY=00000000-0000-0000-0000-000000000000",
        "const TOKEN: &str = \"authorization\";",
        "os.environ[\"API_KEY\"] = \"your_key_here\"",
        "os.Setenv(\"LOG_LEVEL\", \"debug2debug\")",
        "ENV NODE_ENV production",
        "password: |\n  ${PASSWORD}",
        "password=readPasswordFromVault",
        "pul-request and nfp_short",
        "private_key=loadPrivateKeyFromDisk",
        "name.version.atlasv1.json",
    ] {
        assert!(!contains(text), "{text}");
    }
}

#[test]
fn a_token_that_a_program_is_given_is_found_and_a_name_is_not() {
    let token = "q8ZrT1xWv93LmPa07KdY";
    for line in [
        "vault login TOKEN",
        "twine upload -p TOKEN dist/*",
        "ssh-keygen -N TOKEN -f k",
        "signtool sign /p TOKEN x",
        "bcp x out y -U u -PTOKEN",
        "gcloud auth activate-service-account --key TOKEN",
        "lftp -u u,TOKEN h",
        "curl --proxy-user u:TOKEN x",
        "curl -E cert.pem:TOKEN x",
        "gh auth login --with-token <<< TOKEN",
        "rsync --password-file=<(echo TOKEN) a b",
        "expect -c 'send \"TOKEN\\r\"'",
        "nmcli dev wifi connect x password TOKEN",
        "export X=shpat_TOKENTOKEN",
    ] {
        assert!(!clean(&line.replace("TOKEN", token)).contains(token), "{line}");
    }
    assert_eq!(clean("PASS='hunter2' ./x"), "PASS='[redacted]' ./x");
    assert!(!clean("export passphrase=\"correct horse battery\"").contains("horse"));
    for line in [
        "pytest -k TestUserLogin2FactorAuth3",
        "cargo test -p hence-review2Tests3Run",
        "echo HelloWorld2Everyone3Today",
        "git checkout -b feature/JIRA-1234-Add2FALogin",
        "git show -p 4be2f10a9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f",
        "mvn -Dtest=PaymentService2Test3Case test",
        "PASS=1 make",
        "passphrase=\"$X y\"",
    ] {
        assert_eq!(clean(line), line);
    }
}
