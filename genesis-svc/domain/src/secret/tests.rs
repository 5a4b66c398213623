use serde_json::json;

use super::*;

#[test]
fn keys_of_known_forms_are_found_wherever_they_stand() {
    let key = ["ghp", "_", &"a1B2".repeat(9)].concat();
    let cases = [
        (format!("use {key} to push"), Secret::ServiceKey),
        (
            format!("https://api.example/?key={key}"),
            Secret::ServiceKey,
        ),
        (["AK", "IA", &"Q".repeat(16)].concat(), Secret::ServiceKey),
        (
            ["s", "k-ant-", &"x".repeat(24)].concat(),
            Secret::ServiceKey,
        ),
        ("postgres://app:hush@db/app".to_owned(), Secret::Password),
        (
            ["ey", "JhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"].concat(),
            Secret::Token,
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nabc".to_owned(),
            Secret::PrivateKey,
        ),
    ];

    for (text, what) in cases {
        assert_eq!(find(&text), Some(what), "{text}");
    }
}

#[test]
fn what_only_speaks_of_secrets_is_none() {
    for text in [
        "ask for the token, never print it",
        "sk-ip this",
        "postgres://app@db/app",
        "postgres://app:${PASSWORD}@db/app",
        "eyJ is how tokens begin",
        "task-018efed1-9951-5512-a991-d2115e718547",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn a_secret_in_a_tree_is_named_by_its_path() {
    let config = json!({
        "model": "large",
        "tools": [{ "name": "search" }, { "name": "mail", "api_key": "hunter2" }],
    });

    let (path, what) = find_in("config", &config).unwrap();

    assert_eq!(path, "config.tools[1].api_key");
    assert_eq!(what, Secret::Named);
}

#[test]
fn a_reference_to_a_secret_is_no_secret() {
    let config = json!({ "password": "$MAIL_PASSWORD", "token": "", "tokens": 4096 });

    assert_eq!(find_in("config", &config), None);
}
