//! `cambium call`: any method of any service, learnt from the server itself. Knows no contract of its own.

mod invoke;
mod reflect;

use anyhow::Context as _;
use prost_reflect::{DynamicMessage, MethodDescriptor, ServiceDescriptor};

use crate::context::{Context, emit};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::{file, json};

/// Call any method by reflection; without arguments, list services and methods
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium call\n  cambium call RunService\n  cambium call RunService/ListRuns '{\"workspaceId\":\"default\"}'\n  cambium call cambium.hypha.v1.RunService/GetRun '{\"workspaceId\":\"default\",\"requestKey\":\"nightly\"}' --json\n\nBytes are base64, as protobuf's JSON has it: {\"input\":\"e30=\"} sends {}."
)]
pub(crate) struct Args {
    /// A service, or a service and a method; the package may be left out where that is clear
    #[arg(value_name = "SERVICE/METHOD")]
    method: Option<String>,
    /// The request as JSON, or @FILE
    #[arg(value_name = "JSON", default_value = "{}")]
    request: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut reflection = reflect::open(&connection).await?;
    let names = reflection.services().await?;
    let Some(wanted) = &args.method else {
        let pool = reflection.describe(&names).await?;
        let services = names
            .iter()
            .filter_map(|name| pool.get_service_by_name(name));
        list(services.collect(), context)?;
        return Ok(Exit::Done);
    };
    let (service, method) = split(wanted);
    let service = choose(&names, service)?;
    let pool = reflection.describe(std::slice::from_ref(&service)).await?;
    let service = pool
        .get_service_by_name(&service)
        .context("the server does not describe that service")?;
    let Some(method) = method else {
        list(vec![service], context)?;
        return Ok(Exit::Done);
    };
    let method = find(&service, method)?;
    let request = read(&method, &file::json(&args.request)?)?;
    invoke::call(&connection, &method, &request, |reply| {
        print(reply, context)
    })
    .await?;
    Ok(Exit::Done)
}

/// `a.b.Service/Method`; the method may be left out.
fn split(wanted: &str) -> (&str, Option<&str>) {
    match wanted.trim_start_matches('/').split_once('/') {
        Some((service, method)) => (service, Some(method)),
        None => (wanted, None),
    }
}

/// The service of that full name, else the only one that ends so.
fn choose(names: &[String], wanted: &str) -> Result<String, Refusal> {
    if let Some(name) = names.iter().find(|name| *name == wanted) {
        return Ok(name.clone());
    }
    let ends = |name: &&String| name.ends_with(&format!(".{wanted}"));
    let found: Vec<&String> = names.iter().filter(ends).collect();
    match found.as_slice() {
        [name] => Ok((*name).clone()),
        [] => Err(Refusal::Usage(format!(
            "the server has no service `{wanted}`; it has {}",
            names.join(", ")
        ))),
        several => {
            let several: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(Refusal::Usage(format!(
                "`{wanted}` may be any of {}",
                several.join(", ")
            )))
        }
    }
}

fn find(service: &ServiceDescriptor, wanted: &str) -> Result<MethodDescriptor, Refusal> {
    let found = service.methods().find(|method| method.name() == wanted);
    found.ok_or_else(|| {
        let names: Vec<String> = service
            .methods()
            .map(|method| method.name().to_owned())
            .collect();
        Refusal::Usage(format!(
            "{} has no method `{wanted}`; it has {}",
            service.full_name(),
            names.join(", ")
        ))
    })
}

/// Reads the request by the method's own contract.
fn read(method: &MethodDescriptor, text: &[u8]) -> Result<DynamicMessage, Refusal> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let message = DynamicMessage::deserialize(method.input(), &mut parser);
    message
        .map_err(|error| Refusal::Usage(format!("this is no {}: {error}", method.input().name())))
}

fn print(reply: &DynamicMessage, context: &Context) -> anyhow::Result<()> {
    let line = json::dynamic(reply)?;
    if context.globals.json {
        emit(&line);
    } else {
        let value: serde_json::Value = serde_json::from_str(&line)?;
        emit(&serde_json::to_string_pretty(&value)?);
    }
    Ok(())
}

fn list(services: Vec<ServiceDescriptor>, context: &Context) -> anyhow::Result<()> {
    let described: serde_json::Map<String, serde_json::Value> = services
        .iter()
        .map(|service| {
            let methods: Vec<String> = service.methods().map(|method| signature(&method)).collect();
            (service.full_name().to_owned(), methods.into())
        })
        .collect();
    context.print_value(&described, |_| {
        let lines = services.iter().flat_map(|service| {
            let methods = service
                .methods()
                .map(|method| format!("  {}", signature(&method)));
            std::iter::once(service.full_name().to_owned())
                .chain(methods)
                .collect::<Vec<_>>()
        });
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// `Watch(WatchRequest) -> stream WatchResponse`
fn signature(method: &MethodDescriptor) -> String {
    let stream = |is_stream| if is_stream { "stream " } else { "" };
    format!(
        "{}({}{}) -> {}{}",
        method.name(),
        stream(method.is_client_streaming()),
        method.input().name(),
        stream(method.is_server_streaming()),
        method.output().name()
    )
}

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;

    use super::*;

    fn names() -> Vec<String> {
        ["a.v1.RunService", "b.v1.RunService", "a.v1.GraphService"]
            .map(str::to_owned)
            .to_vec()
    }

    fn contracts() -> DescriptorPool {
        DescriptorPool::decode(cambium_proto::DESCRIPTOR_SET).unwrap()
    }

    #[test]
    fn a_package_may_be_left_out_where_that_is_clear() {
        assert_eq!(
            choose(&names(), "GraphService").unwrap(),
            "a.v1.GraphService"
        );
        assert_eq!(
            choose(&names(), "b.v1.RunService").unwrap(),
            "b.v1.RunService"
        );
        assert!(
            choose(&names(), "RunService")
                .unwrap_err()
                .to_string()
                .starts_with("`RunService` may be any of")
        );
        assert!(
            choose(&names(), "Service")
                .unwrap_err()
                .to_string()
                .starts_with("the server has no service")
        );
    }

    #[test]
    fn bytes_are_read_and_written_as_base64() {
        let pool = contracts();
        let service = pool
            .get_service_by_name("cambium.hypha.v1.RunService")
            .unwrap();
        let method = find(&service, "StartRun").unwrap();

        let message = read(&method, br#"{"requestKey":"k","input":"e30="}"#).unwrap();

        let input = message.get_field_by_name("input").unwrap().into_owned();
        assert_eq!(input.as_bytes().unwrap().as_ref(), b"{}");
        assert!(
            json::dynamic(&message)
                .unwrap()
                .contains(r#""input":"e30=""#)
        );
    }

    #[test]
    fn a_field_the_contract_does_not_have_is_named() {
        let pool = contracts();
        let service = pool
            .get_service_by_name("cambium.hypha.v1.RunService")
            .unwrap();
        let method = find(&service, "GetRun").unwrap();

        let refusal = read(&method, br#"{"run":"r"}"#).unwrap_err().to_string();

        assert!(
            refusal.starts_with("this is no GetRunRequest") && refusal.contains("run"),
            "{refusal}"
        );
    }

    #[test]
    fn a_method_is_shown_with_its_streams() {
        let service = contracts()
            .get_service_by_name("cambium.hypha.v1.RunService")
            .unwrap();

        let shown = signature(&find(&service, "WatchRun").unwrap());

        assert_eq!(
            shown,
            "WatchRun(WatchRunRequest) -> stream WatchRunResponse"
        );
    }
}
