//! The runner against a service on a real port, which answers by a script.

use bytes::Bytes;
use cambium_proto::hypha::v1::Attempt;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;
use crate::StaticToken;
use crate::worker::{Order, Orders, Why};

fn task() -> (watch::Sender<Order>, Task) {
    let (sender, orders) = Orders::channel();
    let attempt = Attempt {
        node: "draft".to_owned(),
        config: Bytes::from_static(b"{\"digits\": 1.10}"),
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
        ..Attempt::default()
    };
    (sender, Task::new(attempt, Vec::new(), orders))
}

async fn listen() -> (TcpListener, Http) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/tasks?v=1", listener.local_addr().unwrap());
    (listener, Http::new(&url).unwrap())
}

/// Reads one whole request.
async fn heard(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut chunk = [0; 1024];
    loop {
        let read = stream.read(&mut chunk).await.unwrap();
        text.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.unwrap_or("0").parse().unwrap() {
            return text;
        }
    }
}

/// Answers one request with this, and tells what was asked.
fn answering(listener: TcpListener, reply: &'static str) -> JoinHandle<String> {
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = heard(&mut stream).await;
        stream.write_all(reply.as_bytes()).await.unwrap();
        asked
    })
}

fn code(outcome: Outcome) -> (String, bool) {
    match outcome {
        Outcome::Failed(failure) => (failure.code, failure.retryable),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_task_is_posted_and_the_reply_is_the_output() {
    let (listener, http) = listen().await;
    let service = answering(
        listener,
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n[1,2]",
    );
    let (_sender, task) = task();
    let document = task.to_json().unwrap();

    let outcome = http.run(task).await;

    let output = Bytes::from_static(b"[1,2]");
    assert_eq!(
        outcome,
        Outcome::Completed {
            output,
            usage: None
        }
    );
    let asked = service.await.unwrap();
    assert!(asked.starts_with("POST /tasks?v=1 HTTP/1.1\r\n"), "{asked}");
    assert!(
        asked.contains("content-type: application/json\r\n"),
        "{asked}"
    );
    assert!(asked.contains("traceparent: 00-0af765"), "{asked}");
    assert!(!asked.contains("authorization"), "{asked}");
    assert!(asked.ends_with(&document), "{asked}");
}

#[tokio::test]
async fn the_attempts_token_is_shown_where_it_was_asked_for() {
    let (listener, http) = listen().await;
    let service = answering(listener, "HTTP/1.1 204 No Content\r\n\r\n");
    let (_sender, task) = task();
    let task = Task {
        token: Some(StaticToken::new("own")),
        ..task
    };

    let http = http.with_token(true);
    let wants = http.wants_token(&Attempt::default());
    http.run(task).await;

    assert!(wants);
    let asked = service.await.unwrap();
    assert!(asked.contains("authorization: Bearer own\r\n"), "{asked}");
}

#[tokio::test]
async fn a_price_per_task_is_measured_whatever_the_service_declares() {
    let (listener, http) = listen().await;
    let reply =
        "HTTP/1.1 200 OK\r\ncontent-length: 38\r\n\r\n{\"output\":1,\"usage\":{\"micro_usd\":5}}  ";
    let _service = answering(listener, reply);
    let (_sender, task) = task();

    let outcome = http.micro_usd_per_task(Some(9)).run(task).await;

    let usage = Some(Usage {
        micro_usd: 9,
        measured: true,
    });
    let output = Bytes::from_static(b"1");
    assert_eq!(outcome, Outcome::Completed { output, usage });
}

#[tokio::test]
async fn a_service_that_is_not_there_is_tried_again() {
    let (listener, http) = listen().await;
    drop(listener);
    let (_sender, task) = task();

    let outcome = http.run(task).await;

    assert_eq!(code(outcome), ("HTTP_UNREACHABLE".to_owned(), true));
}

#[tokio::test]
async fn a_reply_that_is_cut_off_is_tried_again() {
    let (listener, http) = listen().await;
    let _service = answering(listener, "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n[1,");
    let (_sender, task) = task();

    let outcome = http.run(task).await;

    assert_eq!(code(outcome), ("HTTP_CUT_OFF".to_owned(), true));
}

#[tokio::test]
async fn a_stop_hangs_up() {
    let (listener, http) = listen().await;
    let (sender, task) = task();
    let running = tokio::spawn(async move { http.run(task).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    heard(&mut stream).await;

    sender.send(Order::Stop(Why::LeaseLost)).unwrap();

    assert_eq!(running.await.unwrap(), Outcome::Stopped);
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn nothing_is_sent_before_effects_are_allowed() {
    let (_listener, http) = listen().await;
    let (sender, task) = task();
    sender.send(Order::Pause).unwrap();
    let running = tokio::spawn(async move { http.run(task).await });

    tokio::task::yield_now().await;
    sender.send(Order::Stop(Why::Cancelled)).unwrap();

    assert_eq!(running.await.unwrap(), Outcome::Stopped);
}

#[test]
fn only_a_whole_address_without_credentials_is_taken() {
    for good in ["http://127.0.0.1:8000", "https://tasks.example/run?v=1"] {
        assert!(Http::new(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "tasks.example",
        "/run",
        "ftp://tasks.example",
        "http://u:p@tasks.example",
    ] {
        assert!(Http::new(bad).is_err(), "{bad}");
    }
}
