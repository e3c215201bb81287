//! The decisions of a worker, without threads, without a clock and without a queue.
//!
//! Whoever runs a worker asks [`WorkerCore::poll`] what to do until it says nothing, and reports what happened. Time is an argument
//! and only ever compared with itself: the clock of a worker's machine may be wrong by hours. So one and the same code runs with threads
//! on a real queue and, step by step, in a simulation that loses messages, stops workers and kills them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hence_store::RunId;

use crate::error::{QueueError, Refusal};
use crate::job::{Job, Token, WorkerId};
use crate::names::Millis;
use crate::state::{Claim, ClaimReply, ClaimRequest, Heartbeat, NewWorker, Settlement};

/// The shortest pause before a request that failed is repeated; it doubles with each failure.
const RETRY_FIRST: Millis = Millis::new(100);

/// The shortest pause between two claims that found nothing.
const IDLE_MIN: Millis = Millis::new(10);

/// The time at which a worker ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When it is asked to.
    Forever,
    /// When it drives nothing and no job of its queues can be claimed.
    UntilIdle,
    /// After one run, or at once when there is none.
    Once,
}

/// The settings of a worker.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The registration.
    pub worker: NewWorker,
    /// The time at which it ends by itself.
    pub mode: Mode,
    /// The longest time between two looks for jobs, if no news comes.
    pub poll: Millis,
}

/// A request to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Register.
    Register(NewWorker),
    /// Claim jobs.
    Claim(ClaimRequest),
    /// Renew the worker and its claims.
    Heartbeat {
        /// The worker.
        id: WorkerId,
        /// The number of the request.
        request: u64,
        /// The claims that the worker knows.
        held: BTreeSet<Token>,
    },
    /// End a claim.
    Settle {
        /// The run.
        run: RunId,
        /// The claim.
        token: Token,
        /// The end.
        settlement: Settlement,
    },
    /// End the worker.
    Unregister(WorkerId),
}

impl Request {
    /// Returns the name of the request.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Claim(_) => "claim",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Settle { .. } => "settle",
            Self::Unregister(_) => "unregister",
        }
    }
}

/// The reply to the last request, or the reason for which there is none.
#[derive(Debug, Clone)]
pub enum Reply {
    /// To [`Request::Register`].
    Registered(Result<WorkerId, QueueError>),
    /// To [`Request::Claim`].
    Claimed(Result<ClaimReply, QueueError>),
    /// To [`Request::Heartbeat`].
    Renewed(Result<Heartbeat, QueueError>),
    /// To [`Request::Settle`].
    Settled(Result<Job, QueueError>),
    /// To [`Request::Unregister`].
    Unregistered(Result<(), QueueError>),
}

impl Reply {
    /// Returns the reason for which the request failed.
    pub fn error(&self) -> Option<&QueueError> {
        match self {
            Self::Registered(Err(error))
            | Self::Claimed(Err(error))
            | Self::Renewed(Err(error))
            | Self::Settled(Err(error))
            | Self::Unregistered(Err(error)) => Some(error),
            Self::Registered(Ok(_))
            | Self::Claimed(Ok(_))
            | Self::Renewed(Ok(_))
            | Self::Settled(Ok(_))
            | Self::Unregistered(Ok(())) => None,
        }
    }
}

/// The next thing to do.
#[derive(Debug, Clone)]
pub enum Action {
    /// Send a request and report its reply. No other request is asked for before that.
    Send(Request),
    /// Begin to drive a run and report its end.
    Drive(Claim),
    /// Ask a drive to stop at its next safe point; its end is still reported.
    Stop(Token),
    /// The worker is over.
    Exit(Result<(), QueueError>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Working,
    Draining,
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    Driving,
    /// The run is driven, but the claim is lost: its end is nobody's business.
    Lost,
    Settling(Settlement),
}

#[derive(Debug, Clone)]
struct Held {
    claim: Claim,
    stage: Stage,
    is_stopping: bool,
    /// The time at which the last request that renewed the claim was sent.
    renewed: Millis,
}

/// The decisions of a worker.
#[derive(Debug)]
pub struct WorkerCore {
    options: WorkerOptions,
    phase: Phase,
    id: Option<WorkerId>,
    /// The number of the last request.
    request: u64,
    /// The claim that the outstanding request settles.
    settling: Option<Token>,
    is_waiting: bool,
    sent_at: Millis,
    held: BTreeMap<Token, Held>,
    actions: VecDeque<Action>,
    next_heartbeat: Millis,
    next_claim: Millis,
    /// The time before which no request is repeated.
    retry_at: Millis,
    failures: u32,
    failure: Option<QueueError>,
}

impl WorkerCore {
    /// Returns a worker that has not registered yet.
    pub fn new(options: WorkerOptions) -> Self {
        Self {
            options,
            phase: Phase::Working,
            id: None,
            request: 0,
            settling: None,
            is_waiting: false,
            sent_at: Millis::default(),
            held: BTreeMap::new(),
            actions: VecDeque::new(),
            next_heartbeat: Millis::default(),
            next_claim: Millis::default(),
            retry_at: Millis::default(),
            failures: 0,
            failure: None,
        }
    }

    /// Returns the runs that are driven.
    pub fn driven(&self) -> impl Iterator<Item = &Claim> {
        self.held.values().filter(|held| !matches!(held.stage, Stage::Settling(_))).map(|held| &held.claim)
    }

    /// Returns the next thing to do; `None` when there is nothing before [`deadline`](Self::deadline) or the next report.
    pub fn poll(&mut self, now: Millis) -> Option<Action> {
        self.give_up_claims(now);
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        if self.is_waiting || self.phase == Phase::Over || now < self.retry_at {
            return None;
        }
        let Some(id) = self.id.clone() else { return self.poll_unregistered(now) };
        let settling = self.held.iter().find_map(|(token, held)| match &held.stage {
            Stage::Settling(settlement) => Some((*token, held.claim.run.clone(), settlement.clone())),
            Stage::Driving | Stage::Lost => None,
        });
        if now >= self.next_heartbeat {
            self.request = self.request.saturating_add(1);
            let is_ours = |(token, held): (&Token, &Held)| (held.stage != Stage::Lost).then_some(*token);
            let held = self.held.iter().filter_map(is_ours).collect();
            return Some(self.send(now, Request::Heartbeat { id, request: self.request, held }));
        }
        if let Some((token, run, settlement)) = settling {
            self.settling = Some(token);
            return Some(self.send(now, Request::Settle { run, token, settlement }));
        }
        if self.phase == Phase::Draining {
            return self.held.is_empty().then(|| self.send(now, Request::Unregister(id)));
        }
        let max = self.free_slots();
        if max > 0 && now >= self.next_claim {
            self.request = self.request.saturating_add(1);
            return Some(
                self.send(now, Request::Claim(ClaimRequest { worker: id, request: self.request, max })),
            );
        }
        None
    }

    fn poll_unregistered(&mut self, now: Millis) -> Option<Action> {
        match self.phase {
            Phase::Working => Some(self.send(now, Request::Register(self.options.worker.clone()))),
            Phase::Draining if self.held.is_empty() => {
                self.phase = Phase::Over;
                Some(Action::Exit(self.failure.take().map_or(Ok(()), Err)))
            }
            Phase::Draining | Phase::Over => None,
        }
    }

    fn send(&mut self, now: Millis, request: Request) -> Action {
        self.is_waiting = true;
        self.sent_at = now;
        Action::Send(request)
    }

    fn free_slots(&self) -> u32 {
        let most = match self.options.mode {
            Mode::Once => 1,
            Mode::Forever | Mode::UntilIdle => self.options.worker.concurrency,
        };
        most.saturating_sub(u32::try_from(self.held.len()).unwrap_or(u32::MAX))
    }

    /// Returns the time at which [`poll`](Self::poll) has something to do, if nothing is reported before.
    pub fn deadline(&self) -> Option<Millis> {
        let leases = self.held.values().filter(|held| held.stage == Stage::Driving);
        let give_up = leases.map(|held| plus(held.renewed, held.claim.lease)).min();
        if self.is_waiting || self.phase == Phase::Over {
            return give_up;
        }
        let is_settling = self.held.values().any(|held| matches!(held.stage, Stage::Settling(_)));
        let wants = match (&self.id, self.phase) {
            (None, Phase::Working) => Some(Millis::default()),
            (None, _) => self.held.is_empty().then(Millis::default),
            (Some(_), _) if is_settling => Some(Millis::default()),
            (Some(_), Phase::Draining) if self.held.is_empty() => Some(Millis::default()),
            (Some(_), Phase::Working) if self.free_slots() > 0 => Some(self.next_claim),
            (Some(_), _) => None,
        };
        let heartbeat = self.id.as_ref().map(|_| self.next_heartbeat);
        let request = wants.into_iter().chain(heartbeat).min().map(|at| at.max(self.retry_at));
        request.into_iter().chain(give_up).min()
    }

    /// Stops the drives whose claims were not renewed for their lease: another worker may have them.
    fn give_up_claims(&mut self, now: Millis) {
        for (token, held) in &mut self.held {
            if held.stage == Stage::Driving && now >= plus(held.renewed, held.claim.lease) {
                lose(*token, held, &mut self.actions);
            }
        }
    }

    /// Takes a reply.
    pub fn reply(&mut self, now: Millis, reply: Reply) {
        self.is_waiting = false;
        match reply {
            Reply::Registered(Ok(id)) => {
                self.id = Some(id);
                self.succeeded();
                self.next_heartbeat = plus(self.sent_at, self.heartbeat_every());
                self.next_claim = now;
            }
            // Nobody but a person can change that.
            Reply::Registered(Err(error @ (QueueError::Refused(_) | QueueError::Forbidden(_)))) => {
                self.failure = Some(error);
                self.phase = Phase::Draining;
            }
            // A worker that is to end by itself would never do so: trying again reads the same bytes.
            Reply::Registered(Err(error))
            | Reply::Claimed(Err(error))
            | Reply::Renewed(Err(error))
            | Reply::Settled(Err(error))
                if error.is_damage() && self.options.mode != Mode::Forever =>
            {
                if let Some(token) = self.settling.take() {
                    self.held.remove(&token);
                }
                self.failure = Some(error);
                self.drain();
            }
            Reply::Claimed(Ok(reply)) => self.claimed(now, reply),
            Reply::Renewed(Ok(answer)) => self.renewed(&answer),
            Reply::Settled(Ok(_) | Err(QueueError::Refused(_))) => {
                // A refusal means that the claim is over: it expired, or the report arrived and its reply did not.
                if let Some(token) = self.settling.take() {
                    self.held.remove(&token);
                }
                self.succeeded();
                self.slot_is_free(now);
            }
            // If it failed, the row of the worker expires.
            Reply::Unregistered(_) => {
                self.phase = Phase::Over;
                self.actions.push_back(Action::Exit(self.failure.take().map_or(Ok(()), Err)));
            }
            Reply::Claimed(Err(error)) | Reply::Renewed(Err(error)) if is_unknown_worker(&error) => {
                self.start_anew()
            }
            Reply::Registered(Err(_))
            | Reply::Claimed(Err(_))
            | Reply::Renewed(Err(_))
            | Reply::Settled(Err(_)) => {
                self.settling = None;
                self.failures = self.failures.saturating_add(1);
                let doubled = RETRY_FIRST.get().saturating_mul(1 << self.failures.saturating_sub(1).min(16));
                self.retry_at = plus(now, Millis::new(doubled.min(self.heartbeat_every().get())));
            }
        }
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.retry_at = Millis::default();
    }

    fn heartbeat_every(&self) -> Millis {
        Millis::new((self.options.worker.lease.get() / 3).max(1))
    }

    fn claimed(&mut self, now: Millis, reply: ClaimReply) {
        self.succeeded();
        let is_empty = reply.claims.is_empty();
        for claim in reply.claims {
            let (stage, renewed) = (Stage::Driving, self.sent_at);
            self.held.insert(claim.token, Held { claim: claim.clone(), stage, is_stopping: false, renewed });
            self.actions.push_back(Action::Drive(claim.clone()));
            if self.phase != Phase::Working {
                self.stop(claim.token);
            }
        }
        let pause = reply
            .next_in
            .map_or(self.options.poll, |next| next.clamp(IDLE_MIN, self.options.poll.max(IDLE_MIN)));
        self.next_claim = if is_empty { plus(now, pause) } else { now };
        if is_empty && self.held.is_empty() && self.options.mode != Mode::Forever {
            self.phase = Phase::Draining;
        }
    }

    fn renewed(&mut self, answer: &Heartbeat) {
        self.succeeded();
        self.next_heartbeat = plus(self.sent_at, self.heartbeat_every());
        for (token, held) in &mut self.held {
            match held.stage {
                Stage::Driving if answer.lost.contains(token) => lose(*token, held, &mut self.actions),
                Stage::Driving => held.renewed = self.sent_at,
                Stage::Lost | Stage::Settling(_) => {}
            }
        }
        self.held
            .retain(|token, held| !(answer.lost.contains(token) && matches!(held.stage, Stage::Settling(_))));
        for token in &answer.cancelled {
            self.stop(*token);
        }
        if answer.drain {
            self.drain();
        }
    }

    fn slot_is_free(&mut self, now: Millis) {
        self.next_claim = now;
        if self.options.mode == Mode::Once && self.held.is_empty() {
            self.phase = Phase::Draining;
        }
    }

    /// The queue does not know the worker any more: it was silent for too long, and its claims are lost.
    fn start_anew(&mut self) {
        self.id = None;
        self.request = 0;
        self.retry_at = Millis::default();
        self.held.retain(|_, held| !matches!(held.stage, Stage::Settling(_)));
        for (token, held) in &mut self.held {
            if held.stage == Stage::Driving {
                lose(*token, held, &mut self.actions);
            }
        }
    }

    /// Takes the end of a drive.
    pub fn driven_to(&mut self, now: Millis, token: Token, settlement: Settlement) {
        match self.held.get_mut(&token) {
            Some(held) if held.stage == Stage::Driving => held.stage = Stage::Settling(settlement),
            Some(_) => {
                self.held.remove(&token);
                self.slot_is_free(now);
            }
            None => {}
        }
    }

    /// Takes the news that something may have changed in the queue.
    pub fn news(&mut self, now: Millis) {
        self.next_claim = self.next_claim.min(now);
    }

    /// Ends the worker as soon as its runs are at a safe point. Returns whether that is new.
    pub fn drain(&mut self) -> bool {
        let is_new = self.phase == Phase::Working;
        if is_new {
            self.phase = Phase::Draining;
        }
        let tokens: Vec<Token> = self.held.keys().copied().collect();
        for token in tokens {
            self.stop(token);
        }
        is_new
    }

    fn stop(&mut self, token: Token) {
        if let Some(held) = self.held.get_mut(&token)
            && held.stage == Stage::Driving
            && !held.is_stopping
        {
            held.is_stopping = true;
            self.actions.push_back(Action::Stop(token));
        }
    }
}

fn lose(token: Token, held: &mut Held, actions: &mut VecDeque<Action>) {
    held.stage = Stage::Lost;
    if !held.is_stopping {
        held.is_stopping = true;
        actions.push_back(Action::Stop(token));
    }
}

fn is_unknown_worker(error: &QueueError) -> bool {
    matches!(error.refusal(), Some(Refusal::UnknownWorker(_)))
}

fn plus(time: Millis, later: Millis) -> Millis {
    Millis::new(time.get().saturating_add(later.get()))
}
