"""Talking in a thread from a terminal.

lines     what a line means: a message, a command, files                       pure
talk      does what a line means, through the daemon; prints nothing
follower  tells what happens in the thread, from a thread of its own
prompt    the prompt on a terminal                                             prompt_toolkit
plain     one message per line of stdin, where there is no terminal
"""
