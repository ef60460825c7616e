//! The prompts that a user can choose in a client.

/// A prompt: what the user says by choosing it.
pub struct PromptSpec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// The one argument, and what it means; it can be left out.
    pub argument: (&'static str, &'static str),
    text: &'static str,
    /// Stands for an argument that is left out.
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
