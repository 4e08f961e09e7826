// The Rust client of openapi-generator.
use openapi::apis::{access_api, configuration::Configuration, events_api, identity_api, messages_api, runs_api, Error};
use openapi::models::{Event, IdentityPatch, MessageInput, Scope, SendAnswer, TokenInput};

async fn work() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).ok_or("a name is needed")?;
    let mut configuration = Configuration::new();
    configuration.base_path = std::env::var("LADLE_URL")?;
    configuration.bearer_access_token = Some(std::env::var("LADLE_TOKEN")?);
    let to = &configuration;

    let start = events_api::stream_events(to, None, None, None, Some(0), None, None, None, None, None, None, None).await?;
    let mut message = MessageInput::new();
    message.text = Some(Some(format!("echo {name}")));
    message.session = Some(Some(name.clone()));
    let sent = messages_api::send_message(to, message, None, None, None, None, Some(30), None, None, None).await?;
    let SendAnswer::Reply(reply) = sent else { return Err("it was not waited for".into()) };
    let run = runs_api::get_run(to, &reply.entry.id, None).await?;
    let history = messages_api::list_messages(to, None, None, None, None, Some(&name), None).await?;
    let texts: Vec<_> = history.messages.into_iter().map(|one| one.text).collect();

    // Each event is of the type that it says.
    let page = events_api::stream_events(
        to, None, None, None, Some(0), None, Some(&name), Some(&start.cursor), None, None, Some("run.*"), None).await?;
    let ended = page.events.into_iter().find_map(|event| match event {
        Event::RunEndedEvent(ended) => ended.run.map(|run| run.text),
        _ => None,
    });

    let patch = |vibe: &str| {
        let mut patch = IdentityPatch::new();
        patch.vibe = Some(Some(vibe.to_string()));
        patch
    };
    let changed = identity_api::patch_identity(to, "*", patch(&name), None).await?;
    let refused = match identity_api::patch_identity(to, "\"old\"", patch("old"), None).await {
        Err(Error::ResponseError(answer)) => answer,
        _ => return Err("it was not refused".into()),
    };
    let problem: openapi::models::Problem = serde_json::from_str(&refused.content)?;

    let token = access_api::create_token(to, TokenInput::new(name.clone(), vec![Scope::Read])).await?;
    access_api::revoke_token(to, &token.id).await?;
    let tokens: Vec<_> = access_api::list_tokens(to).await?.tokens.into_iter().map(|one| one.name).collect();
    println!("{}", serde_json::json!({
        "session": reply.entry.session, "reply": reply.reply, "run": run.state, "history": texts, "ended": ended,
        "vibe": changed.fields.vibe, "refused": refused.status.as_u16(), "code": problem.code,
        "revoked": 204, "tokens": tokens,
    }));
    Ok(())
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work()).unwrap();
}
