//! `hence hash`: digests and canonical bytes of any JSON.

use insta::assert_snapshot;

use hence_testkit::cli::World;

/// Documents, their canonical form, and its SHA-256 as any other tool computes it.
const VECTORS: &[(&str, &str, &str)] = &[
    ("{}", "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
    (
        "{\"b\": 1.0, \"a\": null}",
        "{\"a\":null,\"b\":1.0}",
        "81ad5ecd9738e91a3fc5d6521b74aaae2ddaa8139f60b5aa4fb20c6d8155f2a8",
    ),
    (
        "[1e16, 1E-5, -0.0, -0, 100]",
        "[1e+16,1e-05,-0.0,0,100]",
        "3f368c02b04822dded84af6766ad5f65e72fb53c951fee397a96086a4d1c71d3",
    ),
    (
        "\"\\u007f\\u009b[31m\\u001b\"",
        "\"\u{7f}\u{9b}[31m\\u001b\"",
        "f4afbc40e8848408d1bae11e8a04f0da1201999ad4860ed235079095d3d96638",
    ),
    (
        "123456789012345678901234567890",
        "123456789012345678901234567890",
        "f54e5c8f810648e7638d25eb7ed6d24b7e5999d588e88826f2aa837d2ee52ecd",
    ),
];

#[test]
fn digests_are_those_of_the_canonical_bytes() {
    let world = World::new();
    for (document, canonical, digest) in VECTORS {
        let bytes = world.ask_with_input(&["hash", "-", "--canonical"], document.as_bytes());
        assert_eq!(String::from_utf8_lossy(&bytes.stdout), *canonical);
        let hash = world.ask_with_input(&["hash", "-"], document.as_bytes());
        assert_eq!(String::from_utf8_lossy(&hash.stdout).trim_end(), *digest, "{document}");
    }
}

#[test]
fn a_file_is_hashed_and_json_names_the_canonical_form() {
    let world = World::new();
    world.write("a.json", "[1, 2.50]");
    assert_snapshot!(world.cli(&["hash", "a.json"]), @r"
    <digest>
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["hash", "a.json", "--json"]), @r#"
    {
      "sha256": "<digest>",
      "bytes": 7,
      "canonicalization": "json-c14n-v1"
    }
    [exit 0]
    "#);
    world.write("bad.json", "[1, 2,]");
    assert_snapshot!(world.refused(&["hash", "bad.json"]), @r"
    --- stderr
    error[E0101]: bad.json: expected a JSON value, found ']' at line 1, column 7 (`/2`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
}
