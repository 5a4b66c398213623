//! One call to a service, repeated while that can help.

/// `ask!(connection, rules.list_rules(request))` makes the call by the client of that name. Only for reads, and for calls
/// that carry a request id.
macro_rules! ask {
    ($connection:expr, $client:ident . $call:ident ( $request:expr )) => {{
        let request = $request;
        let call = || {
            let (mut client, request) = ($connection.$client(), request.clone());
            async move { client.$call(request).await }
        };
        $connection.retrying(call).await
    }};
}

pub(crate) use ask;
