"""Looking: threads, show, read, where."""

from __future__ import annotations

import os
from typing import Any

import click

from clew.cli.out import Out, json_option, moment, table


@click.command("threads", short_help="List threads, newest first.")
@click.option("--history", is_flag=True, help="Those that are completed or cancelled.")
@click.option("--status", type=click.Choice(["idle", "suspended", "completed", "cancelled"]))
@click.option("--text", metavar="WORDS", help="In the title.")
@click.option("--workspace", metavar="FOLDER", type=click.Path(resolve_path=False))
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--before", metavar="THREAD", help="Older than this one: the next page.")
@json_option
@click.pass_obj
def threads_command(out: Out, /, workspace: str | None, **wanted: Any) -> None:
    """List threads, newest first."""
    folder = os.path.abspath(workspace) if workspace else None  # noqa: PTH100 (as `start` stores it)
    page = out.client().get("threads", workspace=folder, **wanted)
    if out.as_json:
        out.json(page["threads"])
        return
    for line in table([_row(thread) for thread in page["threads"]]) if page["threads"] else []:
        out.line(line)
    if not page["threads"]:
        out.hint("none; clew start PROMPT begins one" + ("" if wanted["history"] else ", clew threads --history"))
    elif page["next"]:
        out.hint(f"more: --before {page['next']}")


def _row(thread: Any) -> tuple[str, ...]:
    return thread["id"], thread["status"], moment(thread["created_at"]), thread["runtime"], thread["title"]


@click.command("show", short_help="One thread.")
@click.argument("thread")
@json_option
@click.pass_obj
def show_command(out: Out, thread: str) -> None:
    """One thread: how it stands, and where its answer went."""
    view = out.client().get("threads", thread)
    if out.as_json:
        out.json(view)
        return
    for line in table([(name, value) for name, value in _described(view) if value]):
        out.line(line)
    out.hint(_next(view))


def _described(view: Any) -> list[tuple[str, str]]:
    waits = f" ({view['suspended_by']})" if view["suspended_by"] else ""
    notified = f"{view['notify_target'] or 'nowhere'}: {view['notification_status']}"
    return [
        ("id", view["id"]),
        ("title", view["title"]),
        ("status", f"{view['status']}{waits}"),
        ("waits for", view["suspend_message"] or ""),
        ("kind", view["kind"]),
        ("runtime", " ".join(part for part in (view["runtime"], view["model"], view["effort"]) if part)),
        ("workspace", view["workspace"]),
        ("turn", view["turn"] or ""),
        ("queued", str(view["queued"] or "")),
        ("created", moment(view["created_at"])),
        ("completed", moment(view["completed_at"])),
        ("answer", notified if view["notification_status"] else ""),
        ("delivered", moment(view["notified_at"])),
        ("trouble", view["notification_error"] or ""),
        ("head", view["head"] or ""),
    ]


def _next(view: Any) -> str:
    name = view["id"]
    return {
        "running": f"clew watch {name} looks on; clew stop {name} stops it",
        "suspended": f"clew resume {name} --supplement '…' answers it",
        "completed": f"clew read {name} shows it; clew resume {name} --supplement '…' goes on",
        "cancelled": f"clew fork {name} begins a new one from it",
    }.get(view["status"], f"clew read {name} shows it; clew send {name} '…' goes on")


@click.command("read", short_help="What was said and done in a thread.")
@click.argument("thread")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="The newest so many.")
@json_option
@click.pass_obj
def read_command(out: Out, thread: str, limit: int) -> None:
    """What was said and done in a thread, as Markdown."""
    passages = out.client().get("threads", thread, "transcript", limit=limit)
    if out.as_json:
        out.json(passages)
        return
    for passage in passages:
        out.line(_markdown(passage))


def _markdown(passage: Any) -> str:
    state = f" ({passage['state']})" if passage["state"] not in (None, "completed") else ""
    lines = [f"## {passage['author'] or passage['role']}, {moment(passage['at'])}{state}", ""]
    if passage["items"]:
        lines += [*(_item(item) for item in passage["items"]), ""]
    return "\n".join([*lines, passage["text"], ""])


def _item(item: Any) -> str:
    if item["kind"] == "text":
        return f"{item['body']}\n"
    from clew.cli.follow import activity_line

    return activity_line({**item, "activity": item["kind"]}).replace("·", "-", 1)


@click.command("where", short_help="Where the answers of a thread went: the receipts.")
@click.argument("thread")
@json_option
@click.pass_obj
def where_command(out: Out, thread: str) -> None:
    """Where the answers of a thread went: the receipts."""
    rows = out.client().get("threads", thread, "deliveries")
    if out.as_json:
        out.json(rows)
        return
    for line in table([_receipt(row) for row in rows]) if rows else []:
        out.line(line)
    if not rows:
        out.hint("nothing is owed for it yet")


def _receipt(row: Any) -> tuple[str, ...]:
    told = f"message {row['message_id']}" if row["message_id"] else row["error"] or ""
    return (
        row["delivery"],
        row["conversation"] or "-",
        row["state"],
        f"{row['attempts']}x",
        moment(row["sent_at"]) or "-",
        told,
    )
