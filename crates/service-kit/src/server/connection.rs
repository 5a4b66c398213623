//! How many connections a process holds. One too many waits unanswered in the listener's queue until another closes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// How long a listener rests after a failed accept: mostly there are no more file descriptors, and trying spins.
const REST: Duration = Duration::from_millis(50);

/// A client's connection, counted until it is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

/// The listener's connections, without Nagle's delay, at most `limit` at once.
pub(super) fn accepted(
    listener: TcpListener,
    limit: usize,
) -> impl Stream<Item = io::Result<Connection>> + Send {
    let room = Arc::new(Semaphore::new(limit));
    unfold((listener, room), async |(listener, room)| {
        let permit = Arc::clone(&room).acquire_owned().await.ok()?;
        let connection = accept(&listener, permit).await;
        if connection.is_err() {
            tokio::time::sleep(REST).await;
        }
        Some((connection, (listener, room)))
    })
}

async fn accept(listener: &TcpListener, permit: OwnedSemaphorePermit) -> io::Result<Connection> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(Connection {
        stream,
        _permit: permit,
    })
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
