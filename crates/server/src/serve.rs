//! Connections: accepted up to a limit, served with timeouts, ended in order.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::access::{Access, Hosts};
use crate::connection::Connection;
use crate::guard::Guard;
use crate::limits::{
    ARRIVAL, CONNECTIONS_MAX, FAREWELL, HEAD_BYTES_MAX, READERS_MAX, STREAM_READERS_MAX, WRITE_PAUSE_MAX,
};
use crate::operation::Service;
use crate::router::{Shared, routes};

/// The pause between two looks at the request to stop.
const STOP_PAUSE: Duration = Duration::from_millis(100);

/// The pause after a connection could not be accepted: the limits of the system are met.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Threads that may block: those of requests, and some that look at topics.
const THREADS_MAX: usize = READERS_MAX + STREAM_READERS_MAX + 8;

/// A request to stop, as somebody outside gives it.
pub trait Stop: Sync {
    /// Returns whether the server should stop.
    fn is_wanted(&self) -> bool;
}

/// A server that is bound to an address and does not answer yet.
pub struct Server {
    listener: StdListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Binds an address; the port 0 stands for a free one. `names` are further names under which it is reached.
    ///
    /// # Errors
    /// [`io::Error`] when the address is not free.
    pub fn bind(
        address: SocketAddr,
        names: &[String],
        access: Access,
        service: Arc<dyn Service>,
    ) -> io::Result<Self> {
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let hosts = Hosts::new(address, names);
        let guard = Guard { access, hosts, cookie: format!("hence_session_{}", address.port()) };
        Ok(Self { listener, address, shared: Shared::new(service, guard) })
    }

    /// Returns the address with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it should stop. Open requests get a moment to end.
    ///
    /// # Errors
    /// [`io::Error`] when the system gives no event queue.
    pub fn run(self, stop: &dyn Stop) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS_MAX)
            .build()?;
        runtime.block_on(self.accept(stop))?;
        runtime.shutdown_timeout(FAREWELL);
        Ok(())
    }

    async fn accept(self, stop: &dyn Stop) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (farewell, ending) = watch::channel(false);
        let router = routes(self.shared);
        while !stop.is_wanted() {
            // A place is taken before a connection: what does not fit waits in the queue of the system.
            let Ok(Ok(place)) = timeout(STOP_PAUSE, places.clone().acquire_owned()).await else { continue };
            match timeout(STOP_PAUSE, listener.accept()).await {
                Err(_) => {}
                Ok(Ok((stream, _))) => {
                    tokio::spawn(serve(stream, router.clone(), ending.clone(), place));
                }
                Ok(Err(_)) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(listener);
        let _ = farewell.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let _ = timeout(FAREWELL, places.acquire_many(all)).await;
        Ok(())
    }
}

async fn serve(
    stream: TcpStream,
    router: axum::Router,
    mut ending: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    let connection = TokioIo::new(Connection::new(stream, WRITE_PAUSE_MAX));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ARRIVAL)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(connection, TowerToHyperService::new(router));
    let ended = std::pin::pin!(async move { ending.wait_for(|ending| *ending).await.is_ok() });
    let served = std::pin::pin!(served);
    // A connection that ends with an error is the peer's affair.
    if let Either::Right((_, mut served)) = select(served, ended).await {
        served.as_mut().graceful_shutdown();
        let _ = timeout(FAREWELL, served).await;
    }
}
