"""The chat stream: one fixed contract for front ends, whatever the runtime. `frames` is what they get, `heard` what a
turn says, `telling` turns the one into the other (pure), `follow` brings both together."""
