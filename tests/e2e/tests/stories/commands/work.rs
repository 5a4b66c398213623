//! Who does the work: a service that tasks are posted to, and a program that starts runs of its own.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::{Stage, program};

const POSTED: &str = "
name: posted
nodes:
  good: {requires: [skill:web]}
  bad: {requires: [skill:web], needs: good}
";

const CHILD: &str = "
name: child
nodes:
  only: {requires: [skill:sim]}
";

const PARENT: &str = "
name: parent
nodes:
  lead: {requires: [skill:lead]}
";

/// A service that answers every task; one called `bad` it refuses.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/tasks", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    url
}

async fn answer(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let task = posted(&mut stream).await;
    let (status, body) = if task["node"] == "bad" {
        ("422 Unprocessable Content", json!({"error": "no topic"}))
    } else {
        let output = json!({"did": task["node"]});
        (
            "200 OK",
            json!({"output": output, "usage": {"micro_usd": 7}}),
        )
    };
    let body = body.to_string();
    let length = body.len();
    let reply =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(reply.as_bytes()).await.unwrap();
}

/// The task that a request brings.
async fn posted(stream: &mut BufReader<TcpStream>) -> Value {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if let Some(told) = line.to_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn a_service_does_the_tasks_that_are_posted_to_it() {
    let stage = Stage::open().await;
    let graph = stage.file("posted.yaml", POSTED);
    let url = serve().await;
    let words = [
        "--agent",
        "web",
        "--capability",
        "skill:web",
        "--http",
        &url,
    ];
    let worker = stage.worker("w1", &words);

    let said = stage
        .ask(&["run", &graph, "--watch", "--json", "--key", "posted"])
        .await;
    let shown = stage.json(&["run-show", "posted"]).await;

    let document = said.json();
    let failed = json!([{"node": "bad", "code": "HTTP_422", "detail": r#"{"error":"no topic"}"#}]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(document["tasks"]["succeeded"], 1);
    assert_eq!(document["failed_tasks"], failed);
    assert_eq!(shown["run"]["cost"]["microUsd"], "7", "declared: {shown}");
    assert_eq!(worker.stop().await, 0);
}

#[tokio::test]
async fn a_program_that_starts_a_run_starts_a_child_of_its_tasks_run() {
    let stage = Stage::open().await;
    let (parent, child) = (
        stage.file("parent.yaml", PARENT),
        stage.file("child.yaml", CHILD),
    );
    let cambium = program("cambium");
    let line = format!(
        "{} run {child} --key child --watch --json",
        cambium.display()
    );
    let lead = stage.file("lead.sh", &line);
    let words = ["--agent", "lead", "--capability", "skill:lead"];
    let leads = stage.worker("leads", &[&words[..], &["--", "sh", &lead]].concat());
    let sims = stage.worker(
        "sims",
        &["--agent", "sim", "--capability", "skill:sim", "--simulate"],
    );

    let said = stage
        .ask(&["run", &parent, "--watch", "--json"])
        .await
        .well();
    let shown = stage.json(&["run-show", "child"]).await;

    let run = said.json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(shown["run"]["state"], "RUN_STATE_SUCCEEDED");
    assert_eq!(shown["run"]["parentRunId"], run.as_str());
    assert_eq!(shown["run"]["parentTaskId"], format!("{run}/lead"));
    assert_eq!((leads.stop().await, sims.stop().await), (0, 0));
}
