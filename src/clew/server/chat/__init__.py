"""The chat stream: one fixed contract for front ends, for every runtime. `frames` is what they receive, `inputs` is
what a turn reports, `reducer` turns inputs into frames (pure), `follow` connects both."""
