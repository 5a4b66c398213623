//! What a port says in bytes, before any call: its limits, and how many connections it takes.

use std::collections::HashMap;
use std::pin::pin;

use futures::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::service::Routes;

use crate::server;
use crate::server::connection::accepted;
use crate::shutdown::Stop;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// The server's first frame, which must be its settings.
async fn settings(stream: &mut TcpStream) -> HashMap<u16, u32> {
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&EMPTY_SETTINGS).await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "the first frame is no SETTINGS frame");
    let mut body = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
    stream.read_exact(&mut body).await.unwrap();
    let entry = |entry: &[u8]| {
        let id = u16::from_be_bytes([entry[0], entry[1]]);
        (
            id,
            u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]),
        )
    };
    body.chunks_exact(6).map(entry).collect()
}

#[tokio::test]
async fn a_port_announces_its_limits() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let stop = Stop::new();
    let server = server::builder()
        .add_routes(Routes::default())
        .serve_with_incoming_shutdown(server::incoming(listener), stop.stopped());
    let server = tokio::spawn(server);

    let settings = settings(&mut stream).await;
    drop(stream);
    stop.stop();
    server.await.unwrap().unwrap();

    let (streams, frame, header_list) = (3, 5, 6);
    assert_eq!(settings.get(&streams), Some(&64));
    assert_eq!(settings.get(&frame), Some(&16_384));
    assert_eq!(settings.get(&header_list), Some(&8_192));
}

#[tokio::test]
async fn a_connection_too_many_waits_until_another_closes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut connections = pin!(accepted(listener, 1));
    let _clients = (
        TcpStream::connect(address).await,
        TcpStream::connect(address).await,
    );

    let first = connections.next().await.unwrap().unwrap();
    let second = futures::poll!(connections.next());
    drop(first);
    let third = connections.next().await.unwrap();

    assert!(second.is_pending());
    assert!(third.is_ok());
}
