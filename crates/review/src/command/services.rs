//! Package managers, releases, deployments and services by the name of their program.

use super::Deed;
use super::program::{by_script_name, tests};
use super::unlisted::by_verbs;

/// Programs that run the statements they are given on a database.
#[rustfmt::skip]
pub(super) const DATABASES: &[&str] = &[
    "psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "redis-cli", "pgcli", "mycli", "usql", "sqlcmd", "cqlsh",
    "clickhouse-client", "clickhouse", "duckdb", "snowsql", "bq", "cockroach", "sqlplus", "valkey-cli",
];

/// Package managers, releases, deployments and services.
pub(super) fn packages_and_services(name: &str, operands: &[&str], arguments: &[&str]) -> Deed {
    let command = operands.first().copied().unwrap_or("");
    let second = operands.get(1).copied().unwrap_or("");
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match (name, command) {
        (
            "pip" | "pipx" | "gem" | "apt" | "apt-get" | "dnf" | "yum" | "apk" | "brew" | "choco" | "winget"
            | "conda" | "mamba" | "snap" | "port" | "zypper" | "rustup" | "nvm" | "pyenv" | "rbenv" | "asdf"
            | "mise" | "cpan" | "cpanm" | "luarocks" | "opam" | "pod" | "bundle" | "vcpkg" | "conan"
            | "pacman" | "nix-env" | "go-get" | "pdm" | "rye" | "poetry" | "pipenv" | "uv" | "pixi",
            _,
        ) if is_install(name, command, second, arguments) => Deed::Install,
        ("gem", "push")
        | ("pod", "trunk")
        | ("luarocks", "upload")
        | ("poetry" | "uv" | "pdm" | "flit" | "rye" | "maturin", "publish") => Deed::Release,
        ("twine", "upload") | ("gh", "release")
            if name == "twine" || matches!(second, "create" | "upload" | "edit") =>
        {
            Deed::Release
        }
        ("gh", "release") if second == "delete" => Deed::Destroy,
        ("gh", "repo") if second == "delete" => Deed::Destroy,
        ("gh", "pr") | ("glab", "mr") if second == "merge" => Deed::Commit,
        ("glab", "release") if second == "create" => Deed::Release,
        ("gh" | "glab", "workflow")
            if second == "run" && operands.iter().any(|word| word.contains("deploy")) =>
        {
            Deed::Deploy
        }
        ("docker" | "podman" | "nerdctl" | "helm" | "oras" | "crane" | "skopeo", "push" | "copy") => {
            Deed::Release
        }
        ("docker" | "podman", "image") if second == "push" => Deed::Release,
        ("docker" | "podman", "build" | "buildx") => {
            if has(&["--push"]) {
                Deed::Release
            } else {
                Deed::Build
            }
        }
        ("docker" | "podman", "stack") if second == "deploy" => Deed::Deploy,
        ("docker" | "podman", "rm" | "rmi") => Deed::Destroy,
        ("docker" | "podman", "system" | "volume" | "image" | "container" | "network")
            if matches!(second, "prune" | "rm") =>
        {
            Deed::Destroy
        }
        ("goreleaser", _) if has(&["--snapshot", "--skip=publish", "--skip-publish"]) => Deed::Build,
        ("jsr", "publish")
        | ("anaconda", "upload")
        | (
            "fastlane",
            "release"
            | "deliver"
            | "supply"
            | "pilot"
            | "upload"
            | "upload_to_app_store"
            | "upload_to_play_store"
            | "upload_to_testflight",
        )
        | ("eas", "submit") => Deed::Release,
        ("fastlane", "ios" | "android" | "mac")
            if matches!(second, "release" | "deliver" | "deploy" | "beta") =>
        {
            Deed::Release
        }
        ("fastlane", "deploy") | ("eas", "update") => Deed::Deploy,
        ("wrangler" | "supabase", "pages" | "functions" | "versions" | "containers")
            if second == "deploy" =>
        {
            Deed::Deploy
        }
        ("wrangler", "pages") if second == "publish" => Deed::Deploy,
        ("supabase", "db") if second == "push" => Deed::Deploy,
        ("supabase", "db") if second == "reset" => Deed::Destroy,
        ("prisma", "migrate") if second == "deploy" => Deed::Deploy,
        ("prisma", "migrate") if second == "reset" => Deed::Destroy,
        ("prisma", "db") if second == "push" && has(&["--force-reset", "--accept-data-loss"]) => {
            Deed::Destroy
        }
        ("gh-pages", _) if has(&["-d", "--dist"]) => Deed::Deploy,
        ("flyway", _) if operands.contains(&"clean") => Deed::Destroy,
        ("liquibase", "drop-all" | "dropAll")
        | ("typeorm", "schema:drop")
        | ("sequelize" | "sequelize-cli", "db:drop") => Deed::Destroy,
        ("zfs" | "zpool", "destroy") | ("btrfs", "subvolume") if second == "delete" || name != "btrfs" => {
            Deed::Destroy
        }
        ("lvremove" | "vgremove" | "pvremove" | "userdel" | "groupdel", _) => Deed::Destroy,
        ("vault", _) if operands.iter().take(3).any(|word| matches!(*word, "delete" | "destroy")) => {
            Deed::Destroy
        }
        (
            "consul" | "etcdctl" | "doctl" | "hcloud" | "linode-cli" | "oci" | "ibmcloud" | "scw"
            | "vultr-cli" | "eksctl" | "kops" | "minikube" | "k3d" | "kind" | "nomad",
            _,
        ) if operands
            .iter()
            .take(4)
            .any(|word| matches!(*word, "delete" | "del" | "destroy" | "rm" | "purge" | "terminate")) =>
        {
            Deed::Destroy
        }
        ("terraform" | "tofu" | "terragrunt", "apply") if has(&["-destroy", "--destroy"]) => Deed::Destroy,
        ("docker" | "podman" | "nerdctl", "compose") if second == "down" && has(&["-v", "--volumes"]) => {
            Deed::Destroy
        }
        ("docker-compose" | "podman-compose", "down") if has(&["-v", "--volumes"]) => Deed::Destroy,
        ("docker" | "podman" | "nerdctl", "compose") if second == "rm" && has(&["-v"]) => Deed::Destroy,
        ("goreleaser", "release") | ("semantic-release" | "release-it" | "standard-version" | "np", _) => {
            Deed::Release
        }
        ("changeset" | "vsce" | "ovsx", "publish") => Deed::Release,
        ("kubectl" | "oc" | "k", "delete" | "drain")
        | ("helm", "uninstall" | "delete")
        | ("terraform" | "tofu" | "pulumi" | "cdk" | "terragrunt", "destroy") => Deed::Destroy,
        ("kubectl" | "oc" | "k", "apply" | "create" | "replace" | "patch" | "rollout" | "scale" | "set") => {
            if command == "rollout" && matches!(second, "status" | "history") {
                Deed::Other
            } else {
                Deed::Deploy
            }
        }
        ("helm", "install" | "upgrade" | "rollback")
        | ("terraform" | "tofu" | "terragrunt", "apply")
        | ("pulumi", "up" | "update") => Deed::Deploy,
        ("terraform" | "tofu", "fmt") if has(&["-check", "--check"]) => Deed::Lint,
        ("terraform" | "tofu", "validate") => Deed::Lint,
        (
            "cdk" | "serverless" | "sls" | "sam" | "netlify" | "fly" | "flyctl" | "firebase" | "wrangler"
            | "eb" | "copilot" | "chalice" | "zappa" | "kamal" | "now" | "surge" | "dokku" | "cf" | "ampx"
            | "waypoint" | "mrsk" | "render" | "gigalixir" | "shuttle" | "spin" | "modal",
            "deploy" | "publish" | "push",
        ) => Deed::Deploy,
        ("vercel", "" | "deploy") => Deed::Deploy,
        ("vercel", "rm" | "remove") => Deed::Destroy,
        ("railway", "up")
        | ("skaffold", "run" | "deploy")
        | ("nomad", "job")
        | ("amplify", "push" | "publish")
        | ("heroku", "container:release") => Deed::Deploy,
        ("argocd", "app") if second == "sync" => Deed::Deploy,
        ("ansible-playbook", _) if !has(&["--check", "-C", "--syntax-check"]) => Deed::Deploy,
        ("cap", _) if operands.iter().any(|word| *word == "deploy" || word.starts_with("deploy:")) => {
            Deed::Deploy
        }
        ("gcloud", "app" | "run" | "functions" | "deploy" | "beta") if operands.contains(&"deploy") => {
            Deed::Deploy
        }
        ("gcloud" | "az", _) if operands.contains(&"delete") => Deed::Destroy,
        ("gcloud", "storage") if operands.contains(&"rm") => Deed::Destroy,
        ("az", _) if operands.contains(&"purge") || operands.contains(&"delete-batch") => Deed::Destroy,
        ("az", _)
            if operands.contains(&"deploy")
                || operands.contains(&"deployment") && operands.contains(&"create") =>
        {
            Deed::Deploy
        }
        ("aws", service) => aws(service, second),
        ("cmake", _) if has(&["--target=test", "test"]) && arguments.first() == Some(&"--build") => {
            Deed::Tests
        }
        ("cmake", _) if arguments.first() == Some(&"--build") => Deed::Build,
        (
            "gcc" | "g++" | "clang" | "clang++" | "cc" | "rustc" | "javac" | "webpack" | "rollup" | "esbuild"
            | "parcel",
            _,
        ) => Deed::Build,
        ("vite" | "next" | "nuxt" | "astro" | "hugo" | "mkdocs" | "wasm-pack", "build") => Deed::Build,
        ("next", "lint") | ("react-scripts", "lint") => Deed::Lint,
        (
            "react-scripts" | "vue-cli-service" | "wasm-pack" | "aegir" | "craco" | "meteor" | "ember"
            | "stencil" | "expo",
            "test" | "test:unit",
        ) => tests(arguments),
        ("dropdb", _) | ("mkfs", _) => Deed::Destroy,
        (name, _) if (name == "sql" || DATABASES.contains(&name)) && drops(arguments) => Deed::Destroy,
        ("mysqladmin" | "dropuser", _) if name == "dropuser" || operands.contains(&"drop") => Deed::Destroy,
        ("wipefs" | "sgdisk" | "blkdiscard" | "mkswap", _) => Deed::Destroy,
        (name, _) if name.starts_with("mkfs.") => Deed::Destroy,
        ("gsutil", _) if operands.contains(&"rm") || operands.contains(&"rb") => Deed::Destroy,
        ("rclone", "purge" | "delete" | "deletefile" | "rmdirs")
        | ("s3cmd" | "mc" | "s5cmd", "rm" | "del" | "rb") => Deed::Destroy,
        ("heroku", command) if command.ends_with(":destroy") || command.ends_with(":reset") => Deed::Destroy,
        ("fly" | "flyctl", "apps" | "app" | "volumes" | "machine" | "machines") if second == "destroy" => {
            Deed::Destroy
        }
        ("sls" | "serverless" | "copilot" | "sam" | "eb", "remove" | "delete" | "terminate") => Deed::Destroy,
        ("helmfile", "destroy" | "delete") | ("flux", "delete" | "uninstall") => Deed::Destroy,
        ("helmfile", "apply" | "sync")
        | ("flux", "reconcile" | "bootstrap")
        | ("argocd" | "werf", "converge") => Deed::Deploy,
        ("az", "webapp" | "functionapp" | "containerapp" | "aks")
            if matches!(second, "up" | "deploy" | "deployment") =>
        {
            Deed::Deploy
        }
        ("nuget", "push") | ("dotnet-nuget", "push") => Deed::Release,
        ("cz" | "git-cz", "commit" | "c" | "") | ("cz", "bump") | ("p4", "submit") => Deed::Commit,
        ("bump2version" | "bumpversion" | "bump-my-version", _) if !has(&["--no-commit"]) => Deed::Commit,
        ("jscodeshift" | "codemod" | "ts-migrate", _) => Deed::Format,
        ("protoc", _) | ("alembic", "revision") | ("prisma", "generate" | "format") => Deed::Format,
        ("bq" | "nerdctl", "rm" | "rmi") | ("virsh", "undefine") | ("railway", "down") => Deed::Destroy,
        ("gio", "trash") => Deed::Delete,
        ("tar", _) if has(&["--remove-files"]) => Deed::Delete,
        ("restic" | "borg", "forget" | "prune") | ("knex", "migrate:rollback") | ("alembic", "downgrade") => {
            Deed::Destroy
        }
        ("crontab", _) if has(&["-r"]) => Deed::Destroy,
        ("surge" | "deploy-rs", _)
        | ("zappa", "update")
        | ("ko" | "colmena", "apply")
        | ("clasp", "push")
        | ("waypoint", "up") => Deed::Deploy,
        ("terragrunt", "run-all" | "run" | "run-all-stack") if operands.contains(&"destroy") => Deed::Destroy,
        ("terragrunt", "run-all" | "run" | "run-all-stack") if operands.contains(&"apply") => Deed::Deploy,
        ("docker" | "podman", "service") if matches!(second, "update" | "create" | "scale" | "rollback") => {
            Deed::Deploy
        }
        ("docker" | "podman", "service") if second == "rm" => Deed::Destroy,
        ("gcloud", "builds") if second == "submit" => Deed::Deploy,
        ("now", _) if has(&["--prod"]) => Deed::Deploy,
        ("conan" | "cabal" | "stack" | "snapcraft" | "hf" | "huggingface-cli", "upload")
        | ("choco", "push")
        | ("winget", "submit") => Deed::Release,
        ("jf" | "jfrog", "rt") if matches!(second, "upload" | "u") => Deed::Release,
        ("xcrun", "altool") if has(&["--upload-app", "--upload-package"]) => Deed::Release,
        ("gt" | "graphite", "create" | "c" | "modify" | "m" | "merge" | "squash" | "absorb" | "fold")
        | ("arc", "land" | "amend")
        | ("stg", "refresh" | "new" | "commit")
        | ("darcs" | "pijul", "record" | "amend")
        | ("dvc" | "etckeeper" | "gix", "commit")
        | ("cvs", "commit" | "ci") => Deed::Commit,
        ("gt" | "graphite", "submit" | "s" | "ss") | ("darcs" | "pijul" | "dvc", "push") => Deed::Push,
        (name, _) => match by_script_name(name) {
            Deed::Other => by_verbs(name, operands),
            deed => deed,
        },
    }
}

fn is_install(name: &str, command: &str, second: &str, arguments: &[&str]) -> bool {
    let plain = matches!(
        command,
        "install"
            | "add"
            | "sync"
            | "update"
            | "upgrade"
            | "reinstall"
            | "in"
            | "uninstall"
            | "remove"
            | "purge"
            | "autoremove"
    );
    match name {
        "uv" if command == "pip" => matches!(second, "install" | "sync" | "uninstall"),
        "uv" | "rye" | "mise" if command == "tool" => second == "install",
        "poetry" | "pdm" if matches!(command, "update" | "lock") => true,
        "pacman" => arguments.iter().any(|argument| argument.starts_with("-S")),
        "rustup" if matches!(command, "component" | "target" | "toolchain") => {
            matches!(second, "add" | "install")
        }
        "nix-env" => arguments.iter().any(|argument| argument.starts_with("-i")),
        "cpan" | "cpanm" => true,
        _ => plain,
    }
}

fn aws(service: &str, command: &str) -> Deed {
    match (service, command) {
        ("s3", "rm" | "rb") => Deed::Destroy,
        ("cloudformation", "deploy" | "create-stack" | "update-stack")
        | ("lambda", "update-function-code" | "create-function")
        | ("ecs", "update-service")
        | (_, "create-deployment" | "start-deployment")
        | ("s3", "sync") => Deed::Deploy,
        (_, command) if command.starts_with("delete-") || command.starts_with("terminate-") => Deed::Destroy,
        _ => Deed::Other,
    }
}

/// Returns whether a statement given to a database removes tables or rows of all kinds.
pub(super) fn drops(arguments: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        let text = argument.to_lowercase();
        [
            "drop table",
            "drop database",
            "drop schema",
            "drop view",
            "drop materialized",
            "drop index",
            "drop user",
            "drop role",
            "drop column",
            "drop keyspace",
            "drop collection",
            "truncate ",
            "flushall",
            "flushdb",
            ".drop(",
            "deletemany(",
            "dropdatabase",
            "delete from",
        ]
        .iter()
        .any(|words| text.contains(words))
    })
}
