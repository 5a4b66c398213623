//! A client that knows nothing of us: `buf curl` learns the services by reflection and calls them. Fetches nothing: where
//! buf is not installed there is nothing to tell.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cambium_service_kit::config::Env;
use serde_json::json;
use tokio::process::Command;

use crate::stage::{Said, Stage, run};

const BOUND: Duration = Duration::from_secs(60);

/// On the path, else where `./dev check` puts it.
fn buf() -> Option<PathBuf> {
    let env = Env::process();
    let path = env.text("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("buf"));
    let found = on_path
        .chain(cached(&env))
        .find(|program| program.is_file());
    if found.is_none() {
        println!("skipped: buf is not installed");
    }
    found
}

fn cached(env: &Env) -> Vec<PathBuf> {
    let home = || Some(Path::new(&env.text("HOME")?).join(".cache"));
    let cache = env.text("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let folders = cache.and_then(|cache| cache.join("cambium").read_dir().ok());
    let folders = folders.into_iter().flatten().flatten();
    let installed =
        folders.filter(|folder| folder.file_name().to_string_lossy().starts_with("buf-"));
    installed
        .map(|folder| folder.path().join("node_modules/.bin/buf"))
        .collect()
}

async fn curl(buf: &Path, token: &str, words: &[&str]) -> Said {
    let mut command = Command::new(buf);
    command.args(["curl", "--protocol", "grpc", "--http2-prior-knowledge"]);
    command
        .args(["--header", &format!("authorization: Bearer {token}")])
        .args(["--reflect-header", "*"])
        .args(words);
    run(command, BOUND).await
}

#[tokio::test]
async fn buf_lists_and_calls_the_services_with_a_token_of_ours() {
    let Some(buf) = buf() else { return };
    let stage = Stage::open().await;
    let token = stage.ask(&["token"]).await.well().stdout;
    let token = token.trim();

    let listed = curl(&buf, token, &["--list-services", &stage.url])
        .await
        .well();
    let runs = format!("{}/cambium.hypha.v1.RunService/ListRuns", stage.url);
    let called = curl(
        &buf,
        token,
        &[
            "--emit-defaults",
            "--data",
            r#"{"workspace_id":"default"}"#,
            &runs,
        ],
    )
    .await;
    let agents = format!("{}/cambium.genesis.v1.AgentService/EnrollAgent", stage.url);
    let wish = json!({"workspace_id": "default", "request_id": "0197b1c2-7d3e-7a00-8000-000000000003", "name": "ada", "capabilities": ["skill:talk"]});
    let enrolled = curl(&buf, token, &["--data", &wish.to_string(), &agents]).await;
    let without = curl(&buf, "none", &["--list-services", &stage.url]).await;

    let services: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        services.contains(&"cambium.hypha.v1.RunService"),
        "{listed:?}"
    );
    assert!(
        services.contains(&"cambium.genesis.v1.AgentService"),
        "{listed:?}"
    );
    let called: serde_json::Value = serde_json::from_str(&called.well().stdout).unwrap();
    assert_eq!(called, json!({"runs": [], "nextPageToken": ""}));
    let enrolled: serde_json::Value = serde_json::from_str(&enrolled.well().stdout).unwrap();
    assert_eq!(enrolled["agent"]["name"], "ada");
    assert_ne!(without.code, 0, "nothing is told to strangers");
}
