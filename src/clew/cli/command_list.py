"""The list of clew's commands, in groups by what a person wants to do. `clew --help` describes the first group."""

from __future__ import annotations

from collections.abc import Mapping

# Each command: its module and its help line. A test keeps the lines equal to the `short_help` of the commands.
SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("commands.demo", "See clew at work in a minute, without an account."),
        "run": ("commands.run", "Run one turn in the foreground and stream its answer."),
        "start": ("commands.run", "Start a task in the background and print its id."),
        "chat": ("commands.chat", "Chat in a thread, or start a new one."),
        "threads": ("commands.threads", "List threads, the last active first."),
        "gates": ("commands.gates", "List open gates of all threads."),
        "approve": ("commands.gates", "Approve a gate."),
        "web": ("commands.web", "Open the page in your browser."),
    },
    "Work in threads": {
        "send": ("commands.run", "Send a message to a thread."),
        "watch": ("commands.run", "Watch a thread, or all, live."),
        "wait": ("commands.wait", "Wait until threads end; the exit code says how."),
        "read": ("commands.threads", "Print the transcript of a thread."),
        "diff": ("commands.diff", "Show the changes that the agent of a thread made."),
        "show": ("commands.threads", "Show a thread."),
        "where": ("commands.threads", "Show where the answers of a thread were delivered."),
        "stop": ("commands.lifecycle", "Stop the running turn of a thread."),
        "resume": ("commands.lifecycle", "Resume a finished or suspended thread with new information."),
        "fork": ("commands.lifecycle", "Start a new thread from the history of another one."),
        "title": ("commands.lifecycle", "Change the title of a thread."),
        "set": ("commands.lifecycle", "Change the model, effort or policy of a thread."),
        "switch": ("commands.agents", "Let another agent work on a thread."),
        "ask": ("commands.agents", "Ask another agent about a thread."),
        "done": ("commands.lifecycle", "Mark threads as completed."),
        "cancel": ("commands.lifecycle", "Cancel a thread for good."),
    },
    "Answer and allow": {
        "deny": ("commands.gates", "Deny a gate."),
        "answer": ("commands.gates", "Answer a question of the agent."),
        "rules": ("commands.rules", "Manage what agents may do without asking."),
    },
    "Move to your phone": {
        "connect": ("commands.connect", "Set up a chat app, step by step."),
        "handoff": ("commands.handoff", "Hand a thread to another surface."),
        "handoffs": ("commands.handoff", "List handoffs to other surfaces."),
        "away": ("commands.handoff", "While you are away, send answers and questions to a chat."),
        "back": ("commands.handoff", "End away mode."),
        "surfaces": ("commands.connect", "List connected surfaces."),
        "pair": ("commands.people", "Let a person in by their code."),
        "people": ("commands.people", "List people who may use clew in chats."),
    },
    "Agents": {
        "limits": ("commands.limits", "Show the usage limits of agents' accounts."),
        "runtimes": ("commands.runtimes", "List agents and their health."),
        "ping": ("commands.maintenance", "Test a runtime with one tiny turn; shows the time of each step."),
        "codex": ("commands.codex", "Run the Codex that clew uses, with your arguments."),
        "adopt": ("commands.adopt", "Adopt a session started outside clew, or list them."),
        "usage": ("commands.usage", "Show tokens, turns and time that were used, and budgets."),
        "release": ("commands.adopt", "Give an adopted session back to its own program."),
    },
    "Set up and repair": {
        "init": ("commands.init", "Create a config.toml."),
        "config": ("commands.config", "Show, change and check settings."),
        "doctor": ("commands.doctor", "Check everything and say what to fix."),
        "status": ("commands.daemon", "Show the state of the daemon, its runtimes and surfaces."),
        "up": ("commands.daemon", "Start the daemon."),
        "down": ("commands.daemon", "Stop the daemon and everything it started."),
        "restart": ("commands.daemon", "Stop the daemon and start it again."),
        "update": ("commands.update", "Update clew, and go back if the new version does not start."),
        "logs": ("commands.daemon", "Show the daemon's log."),
        "ps": ("commands.ps", "List the processes of clew and their roles."),
        "service": ("commands.service", "Start the daemon at login, by systemd or launchd."),
        "repair": ("commands.repair", "Show rows of the database that cannot be read; set them aside."),
        "verify": ("commands.maintenance", "Verify the history of a thread, or of all."),
        "notify": ("commands.maintenance", "Try all pending deliveries once, now."),
        "token": ("commands.access_token", "Print the token of the HTTP API."),
        "completion": ("completion", "Print the completion script for your shell."),
    },
}
FAMILIAR = ("version", "help", "login")  # known from other programs, not listed
ALIASES = {"ls": "threads", "list": "threads"}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
