use std::net::SocketAddr;

use super::*;

fn env(pairs: &[(&str, &str)]) -> Env {
    Env::of(
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    )
}

#[test]
fn a_missing_variable_is_named_with_what_to_do() {
    let error = env(&[]).required("HYPHA_DATABASE_URL").unwrap_err();

    assert_eq!(
        error.to_string(),
        "HYPHA_DATABASE_URL is not set: set it and start again"
    );
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let env = env(&[("HYPHA_LEASE_MS", "")]);

    assert_eq!(env.text("HYPHA_LEASE_MS"), None);
    assert_eq!(env.parsed("HYPHA_LEASE_MS", 10_000_u32).unwrap(), 10_000);
}

#[test]
fn a_malformed_variable_is_named_with_what_it_should_hold_but_not_with_what_it_held() {
    let env = env(&[("HYPHA_LISTEN", "hunter2")]);
    let default: SocketAddr = "127.0.0.1:0".parse().unwrap();

    let error = env.parsed("HYPHA_LISTEN", default).unwrap_err().to_string();

    assert_eq!(
        error,
        "HYPHA_LISTEN does not hold a SocketAddr (invalid socket address syntax): \
         correct it, or unset it to use the default"
    );
}

#[test]
fn a_secret_comes_from_the_variable_or_the_file_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    std::fs::write(&path, "hunter2\n").unwrap();

    let direct = env(&[("KEY", "hunter1")]).secret("KEY").unwrap();
    let filed = env(&[("KEY_FILE", path.to_str().unwrap())])
        .secret("KEY")
        .unwrap();
    let neither = env(&[]).secret("KEY").unwrap_err().to_string();
    let gone = env(&[("KEY_FILE", "/nowhere")])
        .secret("KEY")
        .unwrap_err()
        .to_string();

    assert_eq!((direct.expose(), filed.expose()), ("hunter1", "hunter2"));
    assert_eq!(neither, "KEY is not set: set it and start again");
    assert_eq!(
        gone,
        "KEY_FILE names the file /nowhere, which cannot be read: correct the path or the file's rights"
    );
}

#[test]
fn nothing_that_prints_shows_a_secret() {
    let env = env(&[("KEY", "hunter2")]);
    let secret = env.secret("KEY").unwrap();

    assert_eq!(format!("{secret} {secret:?} {env:?}"), "*** *** {\"KEY\"}");
}
