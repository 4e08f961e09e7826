// Every operation through the Rust client of openapi-generator: the calls that compiled.py writes, one a line.
use std::io::BufRead;

use openapi::apis::{configuration::Configuration, Error, *};
use openapi::models;
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use serde_json::{json, Value};

type Fault = Box<dyn std::error::Error>;

#[derive(Deserialize)]
struct Step {
    operation: String,
    parameters: serde_json::Map<String, Value>,
    body: Value,
}

impl Step {
    /// A parameter, or the body where it has no name.
    fn may<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Fault> {
        match if name.is_empty() { Some(&self.body) } else { self.parameters.get(name) } {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(serde_json::from_value(value.clone())?)),
        }
    }

    fn must<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        Ok(self.may(name)?.ok_or(format!("{name} is missing"))?)
    }
}

/// An answer, as the program tells it.
fn told<T: Serialize, E>(answer: Result<T, Error<E>>) -> Result<Value, Fault> {
    match answer {
        Ok(typed) => Ok(json!({"typed": typed})),
        Err(Error::ResponseError(refused)) => {
            let problem: models::Problem = serde_json::from_str(&refused.content)?;
            Ok(json!({"typed": problem}))
        }
        Err(Error::Reqwest(fault)) => Err(fault.into()),
        Err(Error::Serde(fault)) => Err(fault.into()),
        Err(Error::Io(fault)) => Err(fault.into()),
    }
}

async fn call(step: &Step, to: &Configuration, pictures: &Configuration) -> Result<Value, Fault> {
    include!("operations.rs")
}

fn main() -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut to = Configuration::new();
    to.base_path = std::env::var("LADLE_URL")?;
    to.bearer_access_token = Some(std::env::var("LADLE_TOKEN")?);
    // The generated function sends a file without its type.
    let png = [(reqwest::header::CONTENT_TYPE, reqwest::header::HeaderValue::from_static("image/png"))];
    let client = reqwest::Client::builder().default_headers(png.into_iter().collect()).build()?;
    let pictures = Configuration { client, ..to.clone() };
    for line in std::io::stdin().lock().lines() {
        let said = match serde_json::from_str::<Step>(&line?) {
            Ok(step) => runtime.block_on(call(&step, &to, &pictures)).unwrap_or_else(|fault| json!({"fault": fault.to_string()})),
            Err(fault) => json!({"fault": fault.to_string()}),
        };
        println!("{said}");
    }
    Ok(())
}
