//! The server: requests in both eras of the protocol, with the handshake and without; and the prompts
//! that a user can choose in a client.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientJsonRpcMessage,
    ClientNotification, ClientResult, ContentBlock, CustomRequest, CustomResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InitializeRequestParams, InitializeResult, InputRequest, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
    PromptMessage, ProtocolVersion, RequestId, Role, ServerCapabilities, ServerConfig,
    ServerJsonRpcMessage, ServerRequest, Tool, ToolAnnotations,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer, serve_directly};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Empty, Stdin, Stdout};
use tokio::sync::{Semaphore, watch};

use crate::base::Interrupt;
use crate::error::{Error, Result, exit_code};
use crate::mcp::front::{self, Front, RunningWork, ToolAnswer};
use crate::mcp::tools::{self, ToolEffect, ToolSpec};
use crate::shell::signals;
use crate::shell::terminal::progress;

/// Upper bound on the calls that are worked on at once.
const AT_ONCE: u32 = 4;
/// Time between two looks at how far the work is, and at signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Looks between two messages on the progress.
const LOOKS_PER_MESSAGE: u32 = 8;
/// Upper bound on the length of a message, in bytes.
const LONGEST_LINE: usize = 16 << 20;
/// Number of the signal that work is stopped by where its caller wants no answer: that of Ctrl-C.
const CANCELLED: usize = 2;

const VERSIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Methods whose parameters the SDK may fail to read.
const METHODS: &str = "initialize server/discover ping tools/list tools/call prompts/list \
    prompts/get";

const INSTRUCTIONS: &str = "When you are about to change, move or delete many files, run a generator or a migration, or start other agents: call checkpoint_create first, with what comes next as the reason. When the user wants to go back, to undo something or to know what changed: checkpoint_list, checkpoint_diff and checkpoint_find show it, checkpoint_read returns a file as it was. When a restore is wanted: checkpoint_plan_restore changes nothing and shows what would be written and deleted; show that to the user, and call checkpoint_restore with its plan after the user agreed. What a restore replaces is kept: plan `undo` takes it back. When a session begins and work was interrupted: workflow_resume. A checkpoint holds the whole directory, whatever wrote it, but for what .gitignore files and the rules on secrets leave out. No tool deletes checkpoints.";

/// Serves until the input ends; returns the exit code.
///
/// # Errors
/// The runtime cannot be started, or the protocol cannot go on.
pub fn serve(front: Front) -> Result<u8> {
    let signals = Interrupt::default();
    signals::install(&signals, false);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build();
    let runtime = runtime.map_err(|why| Error::unexpected(format!("no runtime: {why}")))?;
    let served = runtime.block_on(serve_on_stdio(front, signals.clone()));
    // A thread may wait for a line that never comes.
    runtime.shutdown_background();
    signals.check()?;
    served.map(|()| exit_code::DONE)
}

async fn serve_on_stdio(front: Front, signals: Interrupt) -> Result<()> {
    let ended = Arc::new(watch::Sender::new(false));
    let slots = Arc::new(Semaphore::new(AT_ONCE as usize));
    let transport = Stdio {
        input: BufReader::new(tokio::io::stdin()),
        line: Vec::new(),
        output: AsyncRwTransport::new(tokio::io::empty(), tokio::io::stdout()),
        unanswered: Arc::default(),
        ended: ended.clone(),
    };
    let server = Server {
        front: Arc::new(front),
        slots: slots.clone(),
        ended,
        signals: signals.clone(),
        tools: tools::TOOLS.iter().map(listed_tool).collect(),
    };
    // The handshake of the SDK ends the process at a notification that comes too early.
    let running = serve_directly::<RoleServer, _, _, _, _>(server, transport, None);
    let quit = running.waiting().await;
    // The transport does not wait for a call that was cancelled; its work goes on to its end.
    drop(slots.acquire_many(AT_ONCE).await);
    match quit {
        Ok(QuitReason::JoinError(why)) | Err(why) => Err(Error::unexpected(why)),
        Ok(_) => Ok(()),
    }
}

/// The standard streams, which end for the SDK when each request is answered. They are read here:
/// the SDK leaves a line unanswered that is no JSON.
struct Stdio {
    input: BufReader<Stdin>,
    /// What was read of a line when the SDK looked elsewhere.
    line: Vec<u8>,
    output: AsyncRwTransport<RoleServer, Empty, Stdout>,
    /// Requests that were read, whose answer is not written and that were not cancelled.
    unanswered: Arc<watch::Sender<HashSet<RequestId>>>,
    ended: Arc<watch::Sender<bool>>,
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let answered = match &message {
            ServerJsonRpcMessage::Response(answer) => Some(answer.id.clone()),
            ServerJsonRpcMessage::Error(refused) => refused.id.clone(),
            _ => None,
        };
        let (sent, unanswered) = (self.output.send(message), self.unanswered.clone());
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                unanswered.send_if_modified(|ids| ids.remove(&id));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut ended = self.ended.subscribe();
        let message = tokio::select! {
            biased;
            _ = ended.wait_for(|ended| *ended) => None,
            message = self.read() => message,
        };
        match &message {
            None => {
                self.ended.send_replace(true);
                let mut unanswered = self.unanswered.subscribe();
                drop(unanswered.wait_for(HashSet::is_empty).await);
            }
            Some(ClientJsonRpcMessage::Request(request)) => {
                let id = request.id.clone();
                self.unanswered.send_if_modified(|ids| ids.insert(id));
            }
            Some(ClientJsonRpcMessage::Notification(told)) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.send_if_modified(|ids| ids.remove(id));
                }
            }
            Some(_) => {}
        }
        message
    }

    async fn close(&mut self) -> std::io::Result<()> {
        self.output.close().await
    }
}

impl Stdio {
    /// Reads up to the next message, and answers what is none. Can be dropped and begun again.
    async fn read(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let mut part = (&mut self.input).take(LONGEST_LINE as u64);
            let read = part.read_until(b'\n', &mut self.line).await.ok()?;
            if read > 0 && !self.line.ends_with(b"\n") {
                self.line.truncate(LONGEST_LINE);
                continue;
            }
            let refused = match message(&std::mem::take(&mut self.line)) {
                Ok(Some(message)) => return Some(message),
                Ok(None) if read == 0 => return None,
                Ok(None) => continue,
                Err(refused) => ServerJsonRpcMessage::error(refused, None),
            };
            // By itself, since the SDK may drop this future.
            tokio::spawn(self.output.send(refused));
        }
    }
}

/// Returns the message in a line; `None` if it is blank.
fn message(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, ErrorData> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    if line.len() > LONGEST_LINE {
        let what = "a message has at most 16 MiB";
        return Err(ErrorData::invalid_request(what, None));
    }
    serde_json::from_slice(line).map(Some).map_err(|why| {
        if why.is_data() {
            ErrorData::invalid_request("the line is no request of JSON-RPC", None)
        } else {
            ErrorData::parse_error(format!("the line is no JSON: {why}"), None)
        }
    })
}

struct Server {
    front: Arc<Front>,
    slots: Arc<Semaphore>,
    /// Whether the input has ended, or a signal came.
    ended: Arc<watch::Sender<bool>>,
    signals: Interrupt,
    tools: Vec<Tool>,
}

type Request = RequestContext<RoleServer>;

impl Server {
    /// Does work on a thread of its own, tells its progress, and stops it when the request is
    /// cancelled; when the input ends, only if it `may_stop`.
    async fn work<T: Send + 'static>(
        &self,
        request: &Request,
        may_stop: bool,
        work: impl FnOnce(&Front, &RunningWork) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let slot = tokio::select! {
            slot = self.slots.clone().acquire_owned() => slot.map_err(|why| internal(&why))?,
            () = request.ct.cancelled() => return Err(internal("cancelled")),
        };
        // While work goes on, a signal asks it to stop; without any, it ends the process at once.
        let shield = self.signals.shield();
        let running = RunningWork::default();
        let (front, of_thread) = (self.front.clone(), running.clone());
        let mut worker = tokio::task::spawn_blocking(move || {
            let result = work(&front, &of_thread);
            drop((slot, shield));
            result
        });
        let stop_at_cancel = {
            let (token, interrupt) = (request.ct.clone(), running.interrupt.clone());
            async move {
                token.cancelled().await;
                interrupt.set(CANCELLED);
            }
        };
        // By itself, since the SDK drops this future when the request is cancelled. It also cancels
        // after the answer, which ends the task.
        tokio::spawn(stop_at_cancel);
        let mut looks = tokio::time::interval(BETWEEN_LOOKS);
        let (started, mut count) = (Instant::now(), 0);
        loop {
            tokio::select! {
                result = &mut worker => {
                    return result.map_err(|why| internal(&why));
                }
                _ = looks.tick() => {
                    if let Err(signal) = self.signals.check() {
                        self.ended.send_replace(true);
                        running.interrupt.set(usize::try_from(signal.0).unwrap_or(CANCELLED));
                    } else if may_stop && *self.ended.borrow() {
                        running.interrupt.set(CANCELLED);
                    }
                    count += 1;
                    if count % LOOKS_PER_MESSAGE == 0 {
                        tell_progress(request, &running, started).await;
                    }
                }
            }
        }
    }

    async fn restore(
        &self,
        tool: &'static ToolSpec,
        call: CallToolRequestParams,
        request: Request,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = call.arguments.clone().unwrap_or_default();
        let (digest, plan) = match self.front.plan(tool, given) {
            Ok(found) => found,
            Err(error) => return Ok(result_of(front::refused(tool, &error)).into()),
        };
        let asked = self.ask(tool, &call, &digest, &plan.stake, &request);
        if let Some(instead) = asked.await? {
            return Ok(instead);
        }
        let work =
            move |front: &Front, running: &RunningWork| front.restore(tool, &digest, running);
        let answer = self.work(&request, false, work).await?;
        Ok(result_of(answer).into())
    }

    /// Asks the user in the way of the era, if the client can; else the client asks by itself.
    /// Returns the answer to the call unless the user agrees.
    async fn ask(
        &self,
        tool: &ToolSpec,
        call: &CallToolRequestParams,
        digest: &str,
        stake: &str,
        request: &Request,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let client = request.client_capabilities();
        let asks = client.and_then(|client| client.elicitation);
        // A client that names no kind means forms.
        if !asks.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()) {
            return Ok(None);
        }
        let confirm = ElicitationSchema::builder().required_bool_property("confirm", |field| {
            field.title("Restore").with_default(false)
        });
        let form = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: stake.to_owned(),
            requested_schema: confirm.build().map_err(|why| internal(&why))?,
        };
        let era = request.protocol_version();
        let has_no_session = era.is_some_and(|era| era >= ProtocolVersion::V_2026_07_28);
        let answer = match &call.input_responses {
            None if has_no_session => {
                let question = InputRequest::Elicitation(ElicitRequest::new(form));
                let questions = BTreeMap::from([("confirm".to_owned(), question)]);
                let asked = InputRequiredResult::new(Some(questions), Some(digest.to_owned()));
                return Ok(Some(asked.into()));
            }
            Some(answers) if has_no_session => {
                // The client can have changed the state, so it is only compared.
                if call.request_state.as_deref() != Some(digest) {
                    let why = "requestState is not that of this plan";
                    return Err(ErrorData::invalid_params(why, None));
                }
                let answer = answers.get("confirm").cloned().unwrap_or_default();
                serde_json::from_value(answer)
                    .map_err(|why| ErrorData::invalid_params(why.to_string(), None))?
            }
            _ => {
                let mut ended = self.ended.subscribe();
                tokio::select! {
                    answer = request.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(form))) => {
                        match answer.map_err(|why| internal(&why))? {
                            ClientResult::ElicitResult(answer) => answer,
                            _ => return Err(internal("the client answered something else")),
                        }
                    }
                    () = request.ct.cancelled() => return Err(internal("cancelled")),
                    // The client is not there to answer.
                    _ = ended.wait_for(|ended| *ended) => ElicitResult::new(ElicitationAction::Cancel),
                }
            }
        };
        let content = answer.content.as_ref();
        let is_confirmed = content.and_then(|content| content.get("confirm")) == Some(&true.into());
        let agrees = answer.action == ElicitationAction::Accept && is_confirmed;
        Ok((!agrees).then(|| result_of(front::refused(tool, &Error::declined())).into()))
    }
}

fn internal<W: ToString + ?Sized>(why: &W) -> ErrorData {
    ErrorData::internal_error(why.to_string(), None)
}

fn no_resources() -> ErrorData {
    let what = "there are no resources; the tools checkpoint_list and checkpoint_read answer";
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None)
}

async fn tell_progress(request: &Request, running: &RunningWork, started: Instant) {
    let Some(token) = request.meta.get_progress_token() else {
        return;
    };
    let figures = running.progress.figures();
    let text = progress::line(figures);
    // The figures begin anew with each phase of the work, and progress must only grow.
    let note = ProgressNotificationParam::new(token, started.elapsed().as_secs_f64());
    let _ = request.peer.notify_progress(note.with_message(text)).await;
}

fn result_of(answer: ToolAnswer) -> CallToolResult {
    let text = answer.document.to_string();
    let mut result = if answer.has_failed {
        CallToolResult::structured_error(answer.document)
    } else {
        CallToolResult::structured(answer.document)
    };
    let texts = std::iter::once(text).chain(answer.texts);
    result.content = texts.map(ContentBlock::text).collect();
    if let Some(next) = answer.next {
        let mut meta = MetaObject::new();
        meta.insert("nextCursor".to_owned(), next.to_string().into());
        result.meta = Some(meta);
    }
    result
}

fn object(schema: Value) -> Arc<Map<String, Value>> {
    Arc::new(serde_json::from_value(schema).unwrap_or_default())
}

fn listed_tool(tool: &ToolSpec) -> Tool {
    let reads = matches!(tool.effect, ToolEffect::Reads | ToolEffect::Plans);
    let restores = tool.effect == ToolEffect::Restores;
    let is_repeatable = reads || tool.effect == ToolEffect::Records;
    let hints = ToolAnnotations::new()
        .read_only(reads)
        .destructive(restores)
        .idempotent(is_repeatable)
        .open_world(false);
    let listed = Tool::new(tool.name, tool.description, object(tool.input_schema()))
        .with_raw_output_schema(object(tool.output_schema()))
        .with_annotations(hints)
        .with_title(tool.title);
    if !restores {
        return listed;
    }
    let mut meta = MetaObject::new();
    meta.insert("anthropic/requiresUserInteraction".to_owned(), true.into());
    listed.with_meta(meta)
}

fn listed_prompt(prompt: &PromptSpec) -> Prompt {
    let (name, description) = prompt.argument;
    let argument = PromptArgument::new(name).with_description(description);
    let argument = argument.with_required(false);
    Prompt::new(prompt.name, Some(prompt.description), Some(vec![argument]))
        .with_title(prompt.title)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities = capabilities.enable_prompts().build();
        let program = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(program.with_title("Checkpoints of the working directory"))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn initialize(
        &self,
        mut asked: InitializeRequestParams,
        request: Request,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&asked)?;
        // Later requests are judged by the version that was agreed on.
        asked.protocol_version = result.protocol_version.clone();
        request.peer.set_peer_info(asked);
        Ok(result)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Request,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        request: Request,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find_tool(&call.name) else {
            let what = format!("there is no tool {}", call.name);
            return Err(ErrorData::invalid_params(what, None));
        };
        if tool.effect == ToolEffect::Restores {
            return self.restore(tool, call, request).await;
        }
        let given = call.arguments.unwrap_or_default();
        let work = move |front: &Front, running: &RunningWork| front.call(tool, given, running);
        let answer = self.work(&request, true, work).await?;
        Ok(result_of(answer).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Request,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = PROMPTS.iter().map(listed_prompt);
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        asked: GetPromptRequestParams,
        _: Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(prompt) = find_prompt(&asked.name) else {
            let what = format!("there is no prompt {}", asked.name);
            return Err(ErrorData::invalid_params(what, None));
        };
        let arguments = asked.arguments.unwrap_or_default();
        let argument = arguments.get(prompt.argument.0).and_then(Value::as_str);
        let message = PromptMessage::new_text(Role::User, prompt.text(argument));
        let result = GetPromptResult::new(vec![message]);
        Ok(result.with_description(prompt.description).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Request,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(no_resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Request,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_resources())
    }

    /// Answers what the SDK does not know, and known methods whose parameters do not fit.
    async fn on_custom_request(
        &self,
        asked: CustomRequest,
        _: Request,
    ) -> Result<CustomResult, ErrorData> {
        let method = asked.method;
        if METHODS.split(' ').any(|known| known == method) {
            let what = format!("the parameters of {method} do not fit");
            return Err(ErrorData::invalid_params(what, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

/// A prompt: what the user says by choosing it.
pub struct PromptSpec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// The one argument, and what it means; it can be left out.
    pub argument: (&'static str, &'static str),
    text: &'static str,
    /// Takes the place of an argument that is left out.
    otherwise: &'static str,
}

pub const PROMPTS: [PromptSpec; 2] = [
    PromptSpec {
        name: "rewind",
        title: "Go back to an earlier state",
        description: "Shows earlier states of the directory, and brings one back if I agree",
        argument: ("to", "A checkpoint, a time or a few words on it"),
        text: "Bring the working directory back to an earlier state: {}. List the checkpoints, choose the one that fits, and say which. Plan the restore with checkpoint_plan_restore, show me what it would write and delete, and carry it out with checkpoint_restore only after I agree. Then say what was restored, and that a plan for `undo` takes it back.",
        otherwise: "ask me which one, after showing me the last ten",
    },
    PromptSpec {
        name: "resume",
        title: "Go on with interrupted work",
        description: "Shows an interrupted workflow, and goes on with it as I say",
        argument: ("workflow", "The workflow; the newest open one if left out"),
        text: "Go on with interrupted work: {}. Call workflow_resume, tell me what is done, what is under way and how old it is, and let me choose among its answers. Do no finished phase again. Record each step with workflow_step when it happens.",
        otherwise: "the newest open workflow",
    },
];

pub fn find_prompt(name: &str) -> Option<&'static PromptSpec> {
    PROMPTS.iter().find(|prompt| prompt.name == name)
}

impl PromptSpec {
    pub fn text(&self, argument: Option<&str>) -> String {
        let argument = argument.filter(|argument| !argument.trim().is_empty());
        self.text.replace("{}", argument.unwrap_or(self.otherwise))
    }
}
